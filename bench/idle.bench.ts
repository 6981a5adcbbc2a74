// Resident memory of the exporter with one cluster of 9 nodes, as unpacked from the tarball, beside that of an empty server.
// Run: node bench/idle.bench.ts [samples]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startSimulator } from '../simulator/index.ts';
import { unpackWithNode } from '../tools/release/archives.ts';
import { run } from '../tools/release/programs.ts';
import { describeSpread, residentMib, spreadOf } from './cost.ts';
import { report } from './rows.ts';

const SAMPLES = Number(process.argv[2] ?? 40);
const EVERY_MS = 3_000;
const MAX_MIB = 80;
const EMPTY_SERVER = `require('node:http').createServer().listen(0, '127.0.0.1')`;

const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-built-'));
run('npm', ['pack', '--pack-destination', folder]);
const [packed = ''] = readdirSync(folder);
const file = path.join(folder, packed);
const unpacked = unpackWithNode({ file, version: 'idle' }, 'amd64', folder);
if (unpacked === undefined) throw new Error('Node.js cannot be downloaded');

await using simulator = await startSimulator({ nodes: 9, ranges: 2_000 });
const config = path.join(folder, 'exporter.yml');
writeFileSync(
  config,
  `web: { listen_address: ["127.0.0.1:0"] }
clusters:
  - name: bench
    cluster_api: { urls: ["${simulator.clusterUrls[0]}"], username: ${simulator.username}, password: ${simulator.password} }
`,
);
const program = path.join(unpacked.folder, 'bin', 'crdb-exporter');
const child = spawn(program, [`--config.file=${config}`], {
  stdio: ['ignore', 'inherit', 'inherit'],
});
const ended = once(child, 'exit');
const node = path.join(unpacked.folder, 'bin', 'node');
const empty = spawn(node, ['--eval', EMPTY_SERVER], { stdio: ['ignore', 'inherit', 'inherit'] });

/** Sampled during some polls of every collector. */
const resident: number[] = [];
const residentEmpty: number[] = [];
for (let sample = 0; sample < SAMPLES; sample += 1) {
  await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  resident.push(residentMib(child.pid ?? 0).now);
  residentEmpty.push(residentMib(empty.pid ?? 0).now);
}
const { peak } = residentMib(child.pid ?? 0);
empty.kill();
child.kill('SIGTERM');
await ended;
rmSync(folder, { recursive: true });

report([
  {
    name: `Idle RSS of the exporter with one cluster of 9 nodes, from the tarball`,
    target: `≤ ${MAX_MIB} MiB`,
    result: `**${describeSpread(resident)} MiB** over ${((SAMPLES * EVERY_MS) / 60_000).toFixed(1)} min; ${peak.toFixed(0)} MiB peak at the start`,
    baseline: `an empty HTTP server on the same Node.js: ${describeSpread(residentEmpty)} MiB`,
    isMet: spreadOf(resident).median <= MAX_MIB,
  },
]);
