import { type Browser, chromium } from 'playwright-core';
import { findProgram } from '../support/programs.ts';

const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The Chromium of the system; needs `hasProgram('chromium')`. */
export function openBrowser(): Promise<Browser> {
  const executablePath = findProgram('chromium');
  if (executablePath === undefined) throw new Error('chromium is not on the PATH');
  return chromium.launch({ executablePath, args: ARGUMENTS });
}
