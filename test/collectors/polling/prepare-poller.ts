import { createLog } from '../../../src/base/log.ts';
import { ClusterApi } from '../../../src/cockroach/cluster-api.ts';
import type { PollStats } from '../../../src/cockroach/http/poll-stats.ts';
import { defineCollector } from '../../../src/collectors/collector.ts';
import { Poller } from '../../../src/collectors/polling/poller.ts';
import { runCollector, workBetweenPolls } from '../../../src/collectors/polling/run-collector.ts';
import type { CollectorConfig } from '../../../src/config/collector-schema.ts';
import { ClusterMetrics } from '../../../src/metrics/exporter-metrics.ts';
import { gauge } from '../../../src/metrics/family.ts';
import type { SampleSet } from '../../../src/metrics/sample-set.ts';
import { orders } from '../../support/collectors.ts';

/** The wall clock when the other one is at 0. */
export const START_MS = Date.parse('2026-03-01T12:00:00Z');
/** Not of the whole cluster, so that a budget may drop it. */
const ORDERS = gauge({ name: 'crdb_orders', help: 'Orders.', labels: ['node_id'] });
function writeOrders(set: SampleSet): void {
  for (const id of ['1', '2']) set.set(ORDERS, { node_id: id }, 1);
}

/** The collector of a test reads nothing. */
const NO_SERVER = { send: () => Promise.reject(new Error('there is no server')) };

export interface PreparedPoller {
  readonly poller: Poller;
  /** Whose cluster it polls. */
  readonly listings: ClusterApi['listings'];
  /** `sleptMs`: how long the host was suspended; `wallStepMs`: how far the wall clock was set ahead. */
  readonly clock: { nowMs: number; sleptMs: number; wallStepMs: number };
  /** What the URLs are blocked for. */
  readonly http: { blocked: number };
  /** Polls on demand, and waits for the end. */
  readonly poll: () => Promise<void>;
  /** Lines above the level debug since the last look: `warn text`. */
  readonly logged: () => readonly string[];
  /** Counters that are not 0. */
  readonly counts: () => Promise<Readonly<Record<string, number>>>;
  readonly ended: { polls: number };
}

interface PollerExtras {
  /** Whether it works node by node. */
  readonly scope?: 'cluster' | 'node';
  readonly previous?: Poller;
  readonly options?: unknown;
  /** Of the collector. */
  readonly name?: string;
  /** Called with the samples that it has written. */
  readonly written?: (set: SampleSet) => void;
  /** Called when the end of a poll is reported. */
  readonly reported?: (polls: number) => void;
  /** The collector's work between two polls. */
  readonly work?: (context: PollStats) => Promise<void>;
}

/** A counter of the collector, as `counts` names it. */
export function keyOf(name: string, more: Readonly<Record<string, string>> = {}): string {
  return `crdb_exporter_${name} ${JSON.stringify({ collector: 'orders', shard: '0', ...more })}`;
}

/** A poller with an interval of a minute, whose collector does as the test says. */
export function preparePoller(
  collect: (
    context: PollStats,
    clock: { nowMs: number; sleptMs: number },
    state: unknown,
  ) => unknown,
  settings: Partial<CollectorConfig> = {},
  {
    previous,
    options,
    name = 'orders',
    scope = 'cluster',
    written,
    reported,
    work,
  }: PollerExtras = {},
): PreparedPoller {
  const api = new ClusterApi(NO_SERVER, () => undefined);
  const clock = { nowMs: 1_000, sleptMs: 0, wallStepMs: 0 };
  const http = { blocked: 0 };
  const ended = { polls: 0 };
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const log = createLog({ level: 'info', format: 'json', destination });
  const runningMs = (): number => clock.nowMs;
  const monotonicMs = (): number => clock.nowMs + clock.sleptMs;
  const clocks = {
    wallMs: () => START_MS + monotonicMs() + clock.wallStepMs,
    monotonicMs,
    runningMs,
  };
  const metrics = new ClusterMetrics();
  const collector = defineCollector({
    ...orders,
    name,
    scope,
    createState: (): unknown => ({ polls: 0 }),
    collect: async (_api, context) => Object(await collect(context, clock, context.state)),
    ...(work !== undefined && { workBetweenPolls: (_api, context) => work(context) }),
    samples(_result, set) {
      writeOrders(set);
      written?.(set);
    },
  });
  const merged = {
    enabled: true,
    interval: 60,
    timeout: 10,
    max_duty: 1,
    max_series: 250_000,
    max_age: undefined,
    ...settings,
  };
  const config = { collectors: { [name]: merged }, cluster_api: undefined };
  const poller: Poller = new Poller(
    {
      cluster: 'shop',
      collector,
      settings: merged,
      shard: '0',
      options,
      http: { failedMs: () => http.blocked },
      run: (stop, state) => runCollector(collector, api, { config, clock: clocks, stop, state }),
      work: (stop, state) =>
        workBetweenPolls(collector, api, { config, clock: clocks, stop, state }),
      metrics,
      log,
      clock: clocks,
      random: () => 0,
      pollEnded() {
        ended.polls += 1;
        reported?.(ended.polls);
      },
      findRemedy: (_collector, { message }) => ({ rule: 'odd', remedy: `fix ${message}` }),
    },
    previous,
  );
  return {
    poller,
    listings: api.listings,
    clock,
    http,
    ended,
    poll: () => poller.pollNow(new AbortController().signal, 10_000),
    logged: () =>
      lines.splice(0).map((line) => {
        const { level, msg } = JSON.parse(line);
        return `${level} ${msg}`;
      }),
    async counts() {
      const all = await metrics.registry.getMetricsAsJSON();
      const values = all.flatMap(({ name: family, values: some }) =>
        some.map(({ labels, value }) => [`${family} ${JSON.stringify(labels)}`, value] as const),
      );
      return Object.fromEntries(values.filter(([, value]) => value > 0));
    },
  };
}
