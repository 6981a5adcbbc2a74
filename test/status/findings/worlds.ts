import type { Simulator } from '../../../simulator/index.ts';
import type { CollectorConfig } from '../../../src/config/collector-schema.ts';
import type { Config } from '../../../src/config/keys-and-flags.ts';
import { openScene, type Scene, type SceneOptions } from '../../browser/scenes.ts';
import type { ParsedSample } from '../../metrics/parse-exposition.ts';
import { testRules } from '../../rules/promtool.ts';
import { closureOf, readRules } from '../../rules/rule-set.ts';
import { withCollectors } from '../../support/exporter.ts';

const RANGES = 60;
/** For polls of what a page says: each costs milliseconds of CPU. */
export const LOOKS = { interval: 150 };
const RULES = readRules();

/** A cluster of this many nodes, after the first polls; it responds however its system ranges are placed. */
export function open(nodes: number, { adapt, ...more }: SceneOptions = {}): Promise<Scene> {
  const demo = {
    nodes,
    ranges: RANGES,
    frozen: true,
    faultyNodes: false,
    quirks: { systemRangesLost: 'works' as const },
  };
  return openScene({
    clusters: { demo },
    intervalSeconds: 0.3,
    ...more,
    adapt: (config) => (adapt ?? unchanged)(pollingLittle(config)),
  });
}

function unchanged(config: Config): Config {
  return config;
}

/** What the answers are made of, each poll of others would cost as much; and tables, once, for their names. */
const POLLED = ['nodes', 'ranges', 'network', 'tables'];

function pollingLittle(config: Config): Config {
  return {
    ...config,
    clusters: config.clusters.map((cluster) => {
      const collectors = Object.entries(cluster.collectors).map(([name, each]) => [
        name,
        { ...each, enabled: POLLED.includes(name), ...(name === 'tables' && { interval: 60 }) },
      ]);
      return { ...cluster, collectors: Object.fromEntries(collectors) };
    }),
  };
}

/** Where ranges are before a change. */
interface Placement {
  /** The nodes that hold all ranges. */
  readonly placed?: readonly number[];
  /** The only nodes of single ranges, by range id. */
  readonly alone?: Readonly<Record<number, readonly number[]>>;
}

/** The same after a change of the cluster. */
export async function openChanged(
  nodes: number,
  change: (simulator: Simulator) => void,
  { placed, alone = {}, ...more }: SceneOptions & Placement = {},
): Promise<Scene> {
  const scene = await open(nodes, more);
  const simulator = simulatorOf(scene);
  if (placed !== undefined) placeAll(simulator, placed);
  for (const [id, nodeIds] of Object.entries(alone))
    simulator.world.placeRange(Number(id), nodeIds);
  change(simulator);
  return scene;
}

function placeAll({ world }: Simulator, nodes: readonly number[]): void {
  for (let id = 1; id <= RANGES; id += 1) world.placeRange(id, nodes);
}

/** An exporter that starts only after the change. */
export async function openLate(...given: Parameters<typeof openChanged>): Promise<Scene> {
  const early = await openChanged(...given);
  const late = await open(given[0], { simulators: early.simulators });
  const disposeLate = late[Symbol.asyncDispose].bind(late);
  return Object.assign(late, {
    async [Symbol.asyncDispose]() {
      await disposeLate();
      await early[Symbol.asyncDispose]();
    },
  });
}

/** The range 12 is on node 4 alone, which goes down after it was read. */
export async function openWithLostRange(): Promise<Scene> {
  const scene = await open(5);
  placeAll(simulatorOf(scene), [1, 2, 3]);
  simulatorOf(scene).world.placeRange(12, [4]);
  await scene.exporter.until(
    (scrape) => scrape.value('crdb_range_replicas', { node_id: '4' }) === 1,
  );
  simulatorOf(scene).world.killNode(4);
  return scene;
}

function showingForAnHour(config: Config): Config {
  return withCollectors(config, (collector) => ({ ...collector, max_age: 3_600 }));
}

/** Polls every 10 minutes, the last one of which ended this long ago. */
export async function openAged(ageSeconds: number): Promise<Scene> {
  let offsetMs = 0;
  const clock = {
    wallMs: () => Date.now() + offsetMs,
    monotonicMs: () => performance.now() + offsetMs,
    runningMs: () => performance.now(),
  };
  const scene = await open(3, { intervalSeconds: 600, adapt: showingForAnHour, app: { clock } });
  offsetMs = ageSeconds * 1000;
  return scene;
}

export function simulatorOf({ simulators }: Scene): Simulator {
  const simulator = simulators.get('demo');
  if (simulator === undefined) throw new Error('no simulator');
  return simulator;
}

/** The configuration with changed settings of one collector. */
export function changing(collector: string, change: Partial<CollectorConfig>): SceneOptions {
  const adapt = (config: Config): Config => ({
    ...config,
    clusters: config.clusters.map((cluster) => {
      const { [collector]: settings, ...others } = cluster.collectors;
      if (settings === undefined) throw new Error(`no collector ${collector}`);
      return { ...cluster, collectors: { ...others, [collector]: { ...settings, ...change } } };
    }),
  });
  return { adapt };
}

/** What promtool finds when a rule is evaluated on what the exporter exposes, at the time 0 instead of `nowMs`. */
export async function checkRule(
  { exporter }: Scene,
  rule: string,
  nowMs: number,
  expected: readonly { readonly labels: string; readonly value: number }[],
): Promise<string> {
  const rules = closureOf(RULES, [rule]);
  const text = JSON.stringify(rules);
  const { samples } = await exporter.scrape();
  const used = samples.filter(({ name }) => text.includes(name));
  const world = {
    name: 'world',
    interval: '1m',
    input_series: used.map((sample) => toSeries(sample, nowMs)),
    promql_expr_test: [{ expr: rule, eval_time: '0m', exp_samples: expected }],
  };
  return (await testRules(rules, [world])).text;
}

function toSeries({ name, labels, value }: ParsedSample, nowMs: number) {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(text)}`);
  const shown = name.endsWith('_timestamp_seconds') ? value - nowMs / 1000 : value;
  return { series: `${name}{${pairs.join(',')}}`, values: String(shown) };
}
