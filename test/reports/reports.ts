import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { type SimulatorOptions, startSimulator } from '../../simulator/index.ts';
import { ServerReport } from '../../src/cli/report/server-report.ts';
import { listLosses, type Report } from '../../tools/report/losses.ts';
import { configFlag, runHere } from '../cli/run.ts';

/** The world stands still at this time, so that its sessions are always the same ones; its clock goes on. */
const NOW_MS = Date.UTC(2026, 2, 1, 12);

/** The report of a simulator as its text, which `diagnose --report` writes. */
export async function reportOf(
  options: Partial<SimulatorOptions>,
  ...flags: readonly string[]
): Promise<string> {
  const startedMs = Date.now();
  const simulator = await startSimulator({
    nodes: 3,
    ranges: 30,
    sessions: 60,
    frozen: true,
    now: () => NOW_MS,
    headerNow: () => NOW_MS + Date.now() - startedMs,
    ...options,
  });
  onTestFinished(() => simulator.close());
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-report-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'report.json');
  const { err } = await runHere([
    'diagnose',
    '--report',
    file,
    ...flags,
    await configFlag(simulator),
  ]);
  if (!err.includes('wrote the report')) throw new Error(err);
  return readFileSync(file, 'utf8');
}

/** The report of a document that a server sent for GET /nodes/. */
export function reportOfNodes(document: Buffer): string {
  const report = new ServerReport();
  report.add({
    method: 'GET',
    path: '/api/v2/nodes/?limit=200&offset=0',
    status: 200,
    headers: ['content-type'],
    seconds: 0.1,
    bytes: document.length,
    start: document,
  });
  return `${JSON.stringify(report.toJSON('0.1.0', 'one node'), undefined, 2)}\n`;
}

/** A report without what differs from run to run: times, sizes and counts. */
export function withoutFigures(text: string): string {
  return text
    .replaceAll(/"(milliseconds|bytes|readBytes|cutResponses)": \d+/g, '"$1": 0')
    .replaceAll(/(number|text|boolean|object|list|null) \d+/g, '$1')
    .replaceAll(/("[\w.-]+"): \d+/g, '$1: 1');
}

/** The losses of a report as a text, without how many objects were looked at. */
export function lossesOf(text: string): string {
  const lines = listLosses(parseReport(text)).map((line) =>
    line.replace(/ in \d[\d,]* (response|list|object)s?$/, ' in some $1s'),
  );
  return `${lines.join('\n')}\n`;
}

export function parseReport(text: string): Report {
  return JSON.parse(text);
}
