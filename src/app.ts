import type { Collector } from './collectors/collector.ts';
import type { Config } from './config/config.ts';
import type { Log } from './log.ts';
import { createSelf } from './metrics/self.ts';
import { renderFamilies } from './metrics/snapshot.ts';
import type { Clock } from './poll/poller.ts';
import { startWebServer } from './web/server.ts';
import type { ScrapeSource } from './web/metrics.ts';
import { watchCluster, type WatchedCluster } from './watched-cluster.ts';

/** `/-/ready` does not wait longer than this for first polls. */
const READY_AFTER_MS = 60_000;
/** A scrape that is still running after this long at the end is cut off. */
const CLOSE_MS = 3_000;

export interface AppOptions {
  readonly config: Config;
  readonly collectors: readonly Collector[];
  readonly build: {
    readonly version: string;
    readonly revision: string;
    readonly nodeVersion: string;
    readonly platform: string;
  };
  readonly log: Log;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** The running exporter. */
export interface App {
  /** What it listens on, as URLs or `unix:` paths. */
  readonly addresses: readonly string[];
  /** Stops polling, finishes scrapes in flight, logs out. May be called twice. */
  stop(): Promise<void>;
}

const SYSTEM_CLOCK: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/**
 * Config → APIs → pollers → server. Listens first and polls then, so that a cluster that is down at
 * start is something to report and not a reason to fail. Rejects when an address cannot be had.
 */
export async function startApp(options: AppOptions): Promise<App> {
  const { config, log, build, clock = SYSTEM_CLOCK, random = Math.random } = options;
  const self = createSelf(build);
  const clusters = await Promise.all(
    config.clusters
      .filter((cluster) => cluster.poll)
      .map((cluster) =>
        watchCluster({
          config: cluster,
          shard: config.shard,
          maxSeries: config.maxSeries,
          collectors: options.collectors,
          self,
          userAgent: `crdb-exporter/${build.version}`,
          clock,
          random,
          log,
        }),
      ),
  );
  const startedAt = clock.monotonicMs();
  const scrapeSource: ScrapeSource = {
    collectors: options.collectors.map((collector) => collector.name),
    scrape: async (isChosen) => ({
      parts: clusters.flatMap((cluster) => cluster.snapshots(isChosen)),
      rendered: [
        ...clusters.flatMap((cluster) => renderFamilies(cluster.outcomes(isChosen))),
        ...(await self.families(isChosen)),
      ],
    }),
  };
  const server = await startWebServer(config.web.listenAddresses, {
    telemetryPath: config.web.telemetryPath,
    version: build.version,
    scrapeSource,
    isReady: () => hasPolled(clusters) || clock.monotonicMs() - startedAt > READY_AFTER_MS,
    log,
  });
  const stopping = new AbortController();
  const running = Promise.all(clusters.map((cluster) => cluster.run(stopping.signal)));
  async function stop(): Promise<void> {
    stopping.abort();
    await Promise.all([running, server.close(CLOSE_MS)]);
  }

  let stopped: Promise<void> | undefined;
  return {
    addresses: server.addresses,
    stop: () => (stopped ??= stop()),
  };
}

function hasPolled(clusters: readonly WatchedCluster[]): boolean {
  return clusters.every(({ pollers }) => pollers.every((poller) => poller.outcome.hasEnded));
}
