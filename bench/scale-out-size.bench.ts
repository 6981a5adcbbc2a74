// The cost of one exporter process for clusters of several sizes: the table of docs/scale.md.
// Run: node bench/scale-out-size.bench.ts
import { readFileSync } from 'node:fs';
import { runShards } from '../test/packaging/shards.ts';
import { startScaleSimulator } from './scale/simulator.ts';

const SIZES = [
  { nodes: 9, replicasPerNode: 1_000, sessionsPerNode: 20 },
  { nodes: 99, replicasPerNode: 2_000, sessionsPerNode: 20 },
  { nodes: 99, replicasPerNode: 20_000, sessionsPerNode: 20 },
  { nodes: 99, replicasPerNode: 100, sessionsPerNode: 500 },
  { nodes: 801, replicasPerNode: 1_000, sessionsPerNode: 20 },
];
const MIB = 1024 * 1024;

console.log(
  'nodes replicas sessions | CPU s | scan s | resident MiB | peak MiB | series | read MB',
);
for (const size of SIZES) {
  await using simulator = await startScaleSimulator({ ...size, metricKeys: 'full' });
  await using exporter = await runShards(simulator, 1);
  const [scrape] = exporter.scrapes;
  const [pid = 0] = exporter.pids;
  const read = scrape?.all('crdb_exporter_collector_response_bytes') ?? [];
  const bytes = read.reduce((sum, { value }) => sum + value, 0);
  const seconds = scrape?.value('crdb_exporter_collector_duration_seconds', {
    collector: 'ranges',
  });
  console.log(
    [
      `${size.nodes} ${simulator.truth.replicas} ${simulator.truth.sessions}`,
      scrape?.value('process_cpu_seconds_total')?.toFixed(1),
      seconds?.toFixed(1),
      ((scrape?.value('process_resident_memory_bytes') ?? 0) / MIB).toFixed(0),
      peakMib(pid).toFixed(0),
      scrape?.samples.length,
      (bytes / 1e6).toFixed(0),
    ].join(' | '),
  );
}

function peakMib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? NaN) / 1024;
}
