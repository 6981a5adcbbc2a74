import { evaluateRules } from '../test/packaging/rule-results.ts';
import { addUp, ownersOf, runShards, type Shards } from '../test/packaging/shards.ts';
import { hasProgram } from '../test/support/programs.ts';
// One cluster of 402 nodes, scanned by one exporter, by four shards and by five in separate processes: their sums, the
// assignment of nodes, the recording rules in a real Prometheus (if installed), and the cost.
// Run: node bench/scale-out.bench.ts [replicas per node]
import { startScaleSimulator } from './scale/simulator.ts';

const NODES = 402;
const REPLICAS = Number(process.argv[2] ?? 300);
const MIB = 1024 * 1024;

/** All samples of this name. */
function total({ scrapes }: Shards, name: string, labels: Readonly<Record<string, string>> = {}) {
  return scrapes.flatMap((scrape) => scrape.all(name, labels)).map(({ value }) => value);
}

function describeShards(shards: Shards): string {
  const seconds = total(shards, 'crdb_exporter_collector_duration_seconds', {
    collector: 'ranges',
  });
  const cpu = total(shards, 'process_cpu_seconds_total').reduce((sum, value) => sum + value, 0);
  const state = total(shards, 'process_resident_memory_bytes').map((bytes) => bytes / MIB);
  const nodes = total(shards, 'crdb_range_scan_nodes', { state: 'scanned' });
  return [
    `${shards.scrapes.length} process(es): nodes ${nodes.join(', ')}`,
    `scan ${seconds.map((value) => value.toFixed(1)).join(', ')} s`,
    `CPU ${cpu.toFixed(1)} s in total, including the start`,
    `resident ${state.map((value) => value.toFixed(0)).join(', ')} MiB`,
  ].join('; ');
}

function isSame(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

function check(what: string, isTrue: boolean): void {
  console.log(`${isTrue ? 'true ' : 'FALSE'}  ${what}`);
  if (!isTrue) process.exitCode = 1;
}

await using simulator = await startScaleSimulator({
  nodes: NODES,
  replicasPerNode: REPLICAS,
  metricKeys: 'useful',
});
console.log(`${NODES} nodes, ${(NODES * REPLICAS).toLocaleString('en')} replicas`);
await using one = await runShards(simulator, 1);
console.log(describeShards(one));
await using four = await runShards(simulator, 4);
console.log(describeShards(four));
const before = ownersOf(four.scrapes);
const whole = addUp(one.scrapes);
check(
  `${whole.size} series of the ranges add up to the unsharded values`,
  isSame(addUp(four.scrapes), whole),
);
check(`each of ${NODES} nodes was scanned once`, before.size === NODES);

{
  await using five = await runShards(simulator, 5);
  console.log(describeShards(five));
  const moved = [...ownersOf(five.scrapes)].filter(([node, shard]) => before.get(node) !== shard);
  const share = moved.length / NODES;
  check(`a fifth shard moves ${moved.length} nodes, ${(share * 100).toFixed(1)} %`, share < 0.25);
  check(
    'and moves them only to itself',
    moved.every(([, shard]) => shard === 4),
  );
}

if (hasProgram('prometheus')) {
  await using other = await runShards(simulator, 1);
  const alone = await evaluateRules(one.addresses);
  const pair = await evaluateRules([...one.addresses, ...other.addresses]);
  const shards = await evaluateRules(four.addresses);
  check(`${alone.size} recorded series are the same for an HA pair`, isSame(pair, alone));
  check('and for four shards', isSame(shards, alone));
}
