import { isDeepStrictEqual } from 'node:util';
import type { Apis } from './apis.ts';
import type {
  CollectFailure,
  Collector,
  PollContext,
  PollReading,
} from './collectors/collector.ts';
import type { CollectorConfig } from './config/collector-schema.ts';
import type { ClusterConfig, Config } from './config/schema.ts';
import { BreakerOpenError } from './http/client.ts';
import { classifyThrown } from './http/errors.ts';
import type { Log } from './log.ts';
import { ClusterBudget } from './metrics/budget.ts';
import type { ClusterSelf } from './metrics/self.ts';
import type { Sheet } from './metrics/sheet.ts';
import type { Snapshot } from './metrics/snapshot.ts';
import type { CollectorPlan } from './poll/outcome.ts';
import { type Clock, Poller } from './poll/poller.ts';

/** What every cluster is watched with. */
export interface WatchParts {
  readonly collectors: readonly Collector[];
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  /** How often certificates and keys for the cluster are looked at. */
  readonly fileCheckMs?: number | undefined;
}

/** What the pollers of one cluster are made of. */
export interface PollersParts extends WatchParts {
  readonly config: ClusterConfig;
  readonly shard: Config['shard'];
  readonly max_series: number;
  readonly apis: Apis;
  readonly self: ClusterSelf;
  /** How far the running (or last) range scan has come. */
  readonly progress: { done: number; planned: number };
  /** Called when a poll of this collector has ended. */
  readonly ended: (collector: string) => void;
}

interface PollerParts extends PollersParts {
  readonly collector: Collector;
  readonly settings: CollectorConfig;
  /** The collector's own. */
  readonly options: OwnOptions;
  readonly clusterBudget: ClusterBudget;
  /** What the room remembers from poll to poll. */
  readonly memory: unknown;
}

/**
 * A poller for each collector that this process runs on the cluster. Each begins with what its
 * predecessor, of an older configuration, shows and remembers; predecessors are not kept.
 */
export function createPollers(
  parts: PollersParts,
  predecessors: readonly Poller[],
): readonly Poller[] {
  const pollers: Poller[] = [];
  const published = (): Snapshot[] => pollers.flatMap((poller) => poller.published() ?? []);
  const clusterBudget = new ClusterBudget(parts.max_series, published);
  for (const collector of parts.collectors) {
    const settings = parts.config.collectors[collector.name];
    if (!settings?.enabled || !isOurs(collector, parts.shard)) continue;
    // Success without a question would say nothing about the cluster.
    const options = ownOptions(collector, settings);
    if (collector.isIdle?.(options) === true) continue;
    const previous = predecessors.find(({ plan }) => plan.collector === collector.name);
    const memory = isDeepStrictEqual(previous?.room.options, options)
      ? previous?.room.memory
      : collector.createMemory();
    const shared = { collector, settings, options, clusterBudget, memory };
    pollers.push(createPoller({ ...parts, ...shared }, previous));
  }
  return pollers;
}

type OwnOptions = Readonly<Record<string, unknown>>;

/** The settings that only this collector has: what it remembers is valid while these stay the same. */
function ownOptions({ options }: Collector, settings: CollectorConfig): OwnOptions {
  return Object.fromEntries(Object.keys(options).map((key) => [key, settings[key]]));
}

/** Every shard scans its own nodes; what is asked of a whole cluster is asked by shard 0 alone. */
function isOurs(collector: Collector, shard: Config['shard']): boolean {
  return collector.name === 'ranges' || shard.index === 0;
}

function createPoller(parts: PollerParts, previous: Poller | undefined): Poller {
  const { collector, settings, apis, self, config, memory } = parts;
  const plan: CollectorPlan = {
    collector: collector.name,
    api: collector.api,
    shard: firstShard(parts),
    privilege: collector.privilege,
    configuredIntervalSeconds: settings.interval,
  };
  const labels = (): { collector: string; shard: string } => ({
    collector: plan.collector,
    shard: poller.plan.shard,
  });
  const collect = bindRoom(parts, (shard) => {
    if (shard === poller.plan.shard) return;
    self.forgetPolls(labels());
    poller.relabel(shard);
    self.preparePolls(labels());
  });
  const poller: Poller = new Poller(
    {
      cluster: config.name,
      plan,
      timeoutSeconds: settings.timeout,
      maxAgeSeconds: settings.max_age,
      maxDuty: settings.max_duty,
      maxSeries: settings.max_series,
      clusterBudget: parts.clusterBudget,
      collect: (sheet, reading) => collect(sheet, reading, poller.plan.shard),
      blockedMs: () => apis[collector.api]?.http.blockedMs() ?? 0,
      retryInMs: (error) => (error instanceof BreakerOpenError ? error.retryInMs : undefined),
      reasonOf: (error) => classifyThrown(error, collector.name).reason,
      clock: parts.clock,
      random: parts.random,
      room: { options: parts.options, memory },
      report: {
        finished: () => self.pollFinished(labels()),
        failed: (reason) => self.pollFailed({ ...labels(), reason }),
        skipped: (reason) => self.pollSkipped({ ...labels(), reason }),
        seriesDropped: self.seriesDropped,
      },
      log: parts.log,
      ended: () => parts.ended(collector.name),
    },
    previous,
  );
  self.preparePolls(labels());
  return poller;
}

/** With `route: local` the node has to name itself first; until then its exporter is just local. */
function firstShard({ collector, settings, shard }: PollerParts): string {
  if (collector.name !== 'ranges') return '0';
  return settings['route'] === 'local' ? 'local' : String(shard.index);
}

type Collect = (
  sheet: Sheet,
  reading: PollReading,
  shard: string,
) => Promise<CollectFailure | undefined>;

/** The room with its API, options and memory: what is left to the poller is the sheet and the reading. */
function bindRoom(parts: PollerParts, shardLearned: (shard: string) => void): Collect {
  const { collector, apis, options, config, progress, memory } = parts;
  const complete = (reading: PollReading, shard: string): PollContext<unknown, unknown> =>
    Object.assign(reading, {
      options,
      shard,
      shards: parts.shard,
      memory,
      nowMs: parts.clock.wallMs,
      urls: config.cluster_api?.urls.length ?? 1,
      scanProgress(done: number, planned: number) {
        Object.assign(progress, { done, planned });
      },
      reasonOf: (error: unknown) => classifyThrown(error, collector.name).reason,
      shardLearned,
    });
  if (collector.api === 'cloud') {
    const api = apis.cloud?.api;
    if (api === undefined) throw new Error(`${collector.name}: no Cloud API is configured`);
    return (sheet, reading, shard) => collector.collect(api, sheet, complete(reading, shard));
  }
  const api = apis.cluster?.api;
  if (api === undefined) throw new Error(`${collector.name}: no cluster API is configured`);
  return (sheet, reading, shard) => collector.collect(api, sheet, complete(reading, shard));
}
