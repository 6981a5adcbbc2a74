// Resident memory of the exporter with one cluster of 9 nodes: built JavaScript, with the Node.js options of the image.
// Run: node bench/idle.bench.ts [samples]
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startSimulator } from '../simulator/index.ts';
import { describeSpread, residentMib, spreadOf } from './cost.ts';
import { optionsOfImage } from './image-options.ts';
import { report } from './rows.ts';

const SAMPLES = Number(process.argv[2] ?? 40);
const EVERY_MS = 3_000;
const MAX_MIB = 117;
const ROOT = path.join(import.meta.dirname, '..');

const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-built-'));
const dist = path.join(folder, 'dist');
execFileSync(path.join(ROOT, 'node_modules', '.bin', 'tsc'), [
  '-p',
  path.join(ROOT, 'tsconfig.build.json'),
  '--outDir',
  dist,
]);
const isNoModule = (file: string): boolean => !file.endsWith('.ts');
cpSync(path.join(ROOT, 'src'), path.join(dist, 'src'), { recursive: true, filter: isNoModule });
symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
copyFileSync(path.join(ROOT, 'package.json'), path.join(folder, 'package.json'));

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
const options = optionsOfImage();
const main = path.join(dist, 'src', 'main.js');
const child = spawn(process.execPath, [...options, main, `--config.file=${config}`], {
  stdio: ['ignore', 'inherit', 'inherit'],
});
const ended = once(child, 'exit');

/** Sampled during some polls of every collector. */
const resident: number[] = [];
for (let sample = 0; sample < SAMPLES; sample += 1) {
  await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  resident.push(residentMib(child.pid ?? 0).now);
}
const { peak } = residentMib(child.pid ?? 0);
child.kill('SIGTERM');
await ended;
rmSync(folder, { recursive: true });

report([
  {
    name: `Idle RSS of the exporter with one cluster of 9 nodes, built JavaScript, \`node ${options.join(' ')}\` as in the image`,
    target: `≤ ${MAX_MIB} MiB`,
    result: `**${describeSpread(resident)} MiB** over ${((SAMPLES * EVERY_MS) / 60_000).toFixed(1)} min; ${peak.toFixed(0)} MiB peak at the start`,
    baseline: '–',
    isMet: spreadOf(resident).median <= MAX_MIB,
  },
]);
