// `node bench/rules.ts [NODES] [MINUTES]`: what all rules cost a real Prometheus that watches a simulated cluster of this
// size: CPU time of one evaluation, as the difference to the same Prometheus without rules, and the rules that take most of it.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  calmCluster,
  usedSeconds,
  watchCluster,
  type WatchingPrometheus,
} from '../test/dashboards/cluster-panels.ts';
import { RULES_FILE } from '../test/rules/rule-set.ts';

const INTERVAL_SECONDS = 30;
/** Simulator and exporter share the processors with Prometheus. */
const POLL_SECONDS = 300;
/** Two of the groups with the longest interval. */
const EVALUATIONS = 8;
const LISTED = 5;

interface Rules {
  readonly groups: readonly {
    readonly interval: number;
    readonly rules: readonly { readonly name: string; readonly evaluationTime: number }[];
  }[];
}

const [nodes = '1000', minutes = '10'] = process.argv.slice(2);
await using watching = await watchCluster({
  size: calmCluster(Number(nodes)),
  intervalSeconds: INTERVAL_SECONDS,
  pollSeconds: POLL_SECONDS,
  seconds: 60 * Number(minutes),
  rules: readFileSync(RULES_FILE, 'utf8'),
});
const times = new Map<string, number[]>();
const all = await cpuSeconds(watching, () => noteTimes(times));
await watching.stopRules();
const scrapes = await cpuSeconds(watching, () => Promise.resolve());
const each = (all - scrapes) / EVALUATIONS;
print(`${nodes} nodes: ${each.toFixed(2)} s of CPU for all rules, every ${INTERVAL_SECONDS} s`);
const medians = [...times].map(([name, list]) => ({ name, median: medianOf(list) }));
const sum = medians.reduce((total, { median }) => total + median, 0);
for (const { name, median } of medians.toSorted((a, b) => b.median - a.median).slice(0, LISTED)) {
  print(`${((100 * median) / sum).toFixed(0).padStart(3)} % ${name}`);
}

/** CPU time that Prometheus uses during some evaluations. */
async function cpuSeconds(
  { prometheus }: WatchingPrometheus,
  afterEach: () => Promise<void>,
): Promise<number> {
  const before = await usedSeconds(prometheus);
  for (let index = 0; index < EVALUATIONS; index += 1) {
    await sleep(INTERVAL_SECONDS * 1000);
    await afterEach();
  }
  return (await usedSeconds(prometheus)) - before;
}

/** Adds the time of each rule for one interval by its last evaluation; rules of one name together. */
async function noteTimes(list: Map<string, number[]>): Promise<void> {
  const { groups } = await watching.prometheus.api<Rules>('/api/v1/rules');
  const byName = Map.groupBy(
    groups.flatMap(({ interval, rules }) =>
      rules.map(({ name, evaluationTime }) => ({
        name,
        seconds: (evaluationTime * INTERVAL_SECONDS) / interval,
      })),
    ),
    ({ name }) => name,
  );
  for (const [name, rules] of byName) {
    const time = rules.reduce((total, { seconds }) => total + seconds, 0);
    list.set(name, [...(list.get(name) ?? []), time]);
  }
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
