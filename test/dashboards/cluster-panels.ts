import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type SimulatorOptions, startSimulator } from '../../simulator/index.ts';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import type { Config } from '../../src/config/keys-and-flags.ts';
import { rulesOfOneInterval } from '../rules/rule-set.ts';
import { everyCollector } from '../support/collectors.ts';
import { clusterYaml, startTestExporter, withCollectors } from '../support/exporter.ts';
import { eventually, type Prometheus, startPrometheus } from '../support/prometheus.ts';
import { ALL_VALUES, fillVariables, PANELS, type Placed } from './panels.ts';

/** Between two looks at thousands of series. */
const PAUSE_MS = 300;

/** What Prometheus returned for the queries of a panel. */
export interface FilledPanel extends Placed {
  /** Series with a value, by query. */
  readonly series: readonly number[];
  readonly milliseconds: readonly number[];
  /** CPU time of Prometheus for all of them. */
  readonly cpuSeconds: number;
}

export interface WatchedCluster {
  readonly size: Pick<SimulatorOptions, 'nodes' | 'ranges' | 'sessions' | 'scenario'> &
    Partial<Pick<SimulatorOptions, 'metricKeys' | 'timeScale'>>;
  /** Of scrapes and rules. */
  readonly intervalSeconds: number;
  /** Between the polls of a collector, where the exporter does not poll for each scrape. */
  readonly pollSeconds?: number;
  /** How long Prometheus has watched before the queries, which are over this time. */
  readonly seconds: number;
  /** The text of the rules; by default all are evaluated at this interval. */
  readonly rules?: string;
}

/**
 * A calm cluster with a usual number of ranges and sessions for each node. Its records have the metrics that are exported
 * alone: of a thousand nodes with all metrics they are 170 MB, which the simulator would not write in time.
 */
export function calmCluster(nodes: number): WatchedCluster['size'] {
  return {
    nodes,
    ranges: 20 * nodes,
    sessions: 3 * nodes,
    scenario: 'calm',
    metricKeys: 'useful',
  };
}

export interface WatchingPrometheus extends AsyncDisposable {
  readonly prometheus: Prometheus;
  /** Waits for a time at which every panel can have values, in Unix seconds: the last scrape before it did not fail. */
  untilFilled(): Promise<number>;
  /** Ends the cluster and its exporter; Prometheus goes on. */
  stopCluster(): Promise<void>;
  /** Prometheus goes on without rules. */
  stopRules(): Promise<void>;
}

/** A Prometheus with the shipped rules that watches the simulated cluster `sim`. */
export async function watchCluster(cluster: WatchedCluster): Promise<WatchingPrometheus> {
  const { size, intervalSeconds, pollSeconds = intervalSeconds, seconds } = cluster;
  const resources = new AsyncDisposableStack();
  try {
    const world = resources.use(new AsyncDisposableStack());
    const simulator = world.use(await startSimulator(size));
    const { cloudUrl, cloudClusterId, cloudToken } = simulator;
    const collectors = everyCollector({
      tables: { discover: true, tables: ['movr.public.rides', 'movr.public.users'] },
      nodes: { metrics: ['sys.uptime', 'capacity'] },
    });
    const yaml = `${collectors}clusters:
${clusterYaml(simulator)}    cloud_api: { url: "${cloudUrl}", cluster_id: ${cloudClusterId}, token: ${cloudToken} }
`;
    const exporter = world.use(
      await startTestExporter({
        yaml,
        intervalSeconds: pollSeconds,
        adapt: (config) => withTimeouts(config, pollSeconds),
      }),
    );
    // The first polls of a thousand nodes leave no time to send their metrics.
    await eventually(async () => (await exporter.get('/-/ready')).status === 200 || undefined);
    for (;;) {
      // Reading every sample of a thousand nodes would take longer than their polls.
      const { text } = await exporter.get();
      const polled = text.match(/^crdb_exporter_collector_success\{.*\} 1$/gm) ?? [];
      if (polled.length === COLLECTORS.length) break;
      await sleep(PAUSE_MS);
    }
    const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-watch-'));
    resources.defer(() => rm(folder, { recursive: true }));
    const rules = path.join(folder, 'rules.yml');
    await writeFile(rules, cluster.rules ?? rulesOfOneInterval());
    const prometheus = resources.use(
      await startPrometheus(`
global: { scrape_interval: ${intervalSeconds}s, scrape_timeout: ${intervalSeconds}s, evaluation_interval: ${intervalSeconds}s }
rule_files: ["${rules}"]
scrape_configs:
  - job_name: crdb-exporter
    static_configs: [{ targets: ["${new URL(exporter.url).host}"] }]
`),
    );
    const isReady = [
      'crdb_cluster_tier_value:crdb_range_leases:sum',
      // Of the cluster it stays unknown for two minutes after the first evaluation, in which recorded series are missing.
      'max(crdb_cluster_reason:crdb_health:code) < 3',
      // Counters have grown since the first poll.
      `rate(crdb_node_sql_queries_total[${4 * intervalSeconds}s]) > 0`,
    ].join(' and on () ');
    const untilFilled = (): Promise<number> =>
      eventually(async () => {
        const now = Date.now() / 1000;
        if ((await prometheus.query(isReady)).length > 0) return now;
        return sleep(PAUSE_MS, undefined);
      });
    await untilFilled();
    await sleep(seconds * 1000);
    return {
      prometheus,
      untilFilled,
      stopCluster: () => world.disposeAsync(),
      async stopRules() {
        await writeFile(rules, 'groups: []');
        prometheus.reload();
      },
      [Symbol.asyncDispose]: () => resources.disposeAsync(),
    };
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
}

/** Requests and polls that may take as long as this, at least: what is polled rarely is large. */
function withTimeouts(config: Config, seconds: number): Config {
  const lasting = withCollectors(config, (collector) => ({
    ...collector,
    timeout: Math.max(collector.timeout, seconds),
  }));
  const clusters = lasting.clusters.map(({ cluster_api, ...cluster }) => ({
    ...cluster,
    ...(cluster_api && {
      cluster_api: { ...cluster_api, timeout: Math.max(cluster_api.timeout, seconds) },
    }),
  }));
  return { ...lasting, clusters };
}

/** Runs every query of every panel as Grafana does, when nothing else is left to do. */
export async function queryPanels(cluster: WatchedCluster): Promise<readonly FilledPanel[]> {
  await using watching = await watchCluster(cluster);
  const end = await watching.untilFilled();
  await watching.stopCluster();
  const filled: FilledPanel[] = [];
  for (const placed of PANELS) {
    const series: number[] = [];
    const milliseconds: number[] = [];
    const before = await usedSeconds(watching.prometheus);
    for (const { expr, instant } of placed.queries) {
      const started = performance.now();
      series.push(await countSeries(watching.prometheus, expr, { ...cluster, instant, end }));
      milliseconds.push(performance.now() - started);
    }
    const cpuSeconds = (await usedSeconds(watching.prometheus)) - before;
    filled.push({ ...placed, series, milliseconds, cpuSeconds });
  }
  return filled;
}

/** The CPU time that Prometheus has used since its start, in seconds. */
export async function usedSeconds({ url }: Prometheus): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1]);
}

/** Panels without any data whose text says only that there is none, not why. */
export function emptyWithoutReason(panels: readonly FilledPanel[]): readonly string[] {
  return panels
    .filter(({ panel, series }) => panel.type !== 'text' && series.every((count) => count === 0))
    .filter(({ panel }) => panel.fieldConfig?.defaults.noValue === 'no data')
    .map(({ title }) => title);
}

interface Result {
  readonly result: readonly { readonly value?: Point; readonly values?: readonly Point[] }[];
}

type Point = readonly [at: number, value: string];

/** Series with a value other than NaN, which stands for "no data". */
async function countSeries(
  prometheus: Prometheus,
  expr: string,
  {
    seconds,
    intervalSeconds,
    instant,
    end,
  }: WatchedCluster & { readonly instant: boolean; readonly end: number },
): Promise<number> {
  const span = Math.max(seconds, 4 * intervalSeconds);
  const values = {
    ...ALL_VALUES,
    __rate_interval: `${4 * intervalSeconds}s`,
    __range: `${span}s`,
    __interval: `${intervalSeconds}s`,
    cluster: 'sim',
  };
  const query = encodeURIComponent(fillVariables(expr, values));
  const target = instant
    ? `query?query=${query}&time=${end}`
    : `query_range?query=${query}&start=${end - span}&end=${end}&step=${intervalSeconds}`;
  const { result } = await prometheus.api<Result>(`/api/v1/${target}`);
  const isFilled = ({ value, values: all = [] }: Result['result'][number]): boolean =>
    [...all, ...(value === undefined ? [] : [value])].some(([, text]) => text !== 'NaN');
  return result.filter(isFilled).length;
}
