// `npm run docs:commands`: docs/commands.md, with transcripts of the commands on a simulator.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { startSimulator } from '../../simulator/index.ts';
import { writeCommandsPage } from './commands-page.ts';
import { describeSimulator, PAGE_SIMULATOR } from './commands-simulator.ts';

const MAIN = path.join(import.meta.dirname, '../../src/main.ts');
const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-docs-'));
const simulator = await startSimulator(PAGE_SIMULATOR);
simulator.world.setAssistantDuration(1_000);
try {
  // Private, because it holds secrets: otherwise every command warns.
  writeFileSync(path.join(folder, 'exporter.yml'), describeSimulator(simulator), { mode: 0o600 });
  const page = await writeCommandsPage(run);
  writeFileSync(path.join(import.meta.dirname, '../../docs/commands.md'), page);
} finally {
  await simulator.close();
  rmSync(folder, { recursive: true });
}

async function run(args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [MAIN, ...args], { cwd: folder, stdio: 'pipe' });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return `${err}${out}`
    .replaceAll(simulator.clusterUrl, 'http://127.0.0.1:8080')
    .replaceAll(new URL(simulator.clusterUrl).host, '127.0.0.1:8080')
    .replaceAll(simulator.cloudUrl, 'https://cockroachlabs.cloud');
}
