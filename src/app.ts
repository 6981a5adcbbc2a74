import { isDeepStrictEqual } from 'node:util';
import type { Collector } from './collectors/collector.ts';
import type { Config } from './config/schema.ts';
import { describeConfig } from './config/describe.ts';
import { FILE_CHECK_MS } from './config/file-watch.ts';
import type { ConfigSources, LoadedConfig } from './config/load.ts';
import type { ServerTls } from './config/server-tls.ts';
import type { Log } from './log.ts';
import { TLS_CERTIFICATE_NOT_AFTER } from './metrics/outcome-families.ts';
import { createSelf, type Self } from './metrics/self.ts';
import { Sheet } from './metrics/sheet.ts';
import { renderFamilies } from './metrics/snapshot.ts';
import type { Clock } from './poll/poller.ts';
import { createReloader, type Reloader } from './reload.ts';
import { type Access, openAccess } from './web/access.ts';
import type { Patience } from './web/listener.ts';
import type { ScrapeSource } from './web/metrics.ts';
import type { Reloaded } from './web/reload.ts';
import { createRoutes } from './web/routes.ts';
import { startWebServer } from './web/server.ts';
import { loadAssets } from './web/status/assets.ts';
import { History } from './web/status/history.ts';
import type { WatchOptions } from './watched-cluster.ts';
import { WatchedClusters } from './watched-clusters.ts';

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
  /** Reads the configuration again for a reload; the one in force is kept when absent. */
  readonly load?: (followed: Pick<ConfigSources, 'followedWebConfig'>) => Promise<LoadedConfig>;
  /** Descriptors of sockets that listen already; taken instead of the configured addresses when there are any. */
  readonly sockets?: readonly number[];
  readonly clock?: Clock;
  /** How often certificates, secrets and the web config file are looked at. */
  readonly fileCheckMs?: number;
  /** How long scrapers may be slow. */
  readonly patience?: Patience;
  readonly random?: () => number;
}

/** The running exporter. */
export interface App {
  /** What it listens on, as URLs or `unix:` paths. */
  readonly addresses: readonly string[];
  /** Reads the configuration anew; a bad one leaves the running one in force. */
  reload(): Promise<Reloaded>;
  /** Stops polling, finishes scrapes in flight, logs out. May be called twice. */
  stop(): Promise<void>;
}

const SYSTEM_CLOCK: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/**
 * Config → APIs → pollers → server. Listens first and polls then, so that a cluster that is down at
 * start is something to report and not a reason to fail. Rejects when an address cannot be had or the
 * web config file cannot be used.
 */
export async function startApp(options: AppOptions): Promise<App> {
  const { config, collectors, log, build, clock = SYSTEM_CLOCK, random = Math.random } = options;
  const { config_file: file } = config.web;
  const access = await openAccess({ file, everyMs: options.fileCheckMs ?? FILE_CHECK_MS, log });
  const self = createSelf(build);
  const { monotonicMs, wallMs } = clock;
  const history = new History();
  const clusters = createClusters({ ...options, clock, random }, self, history);
  let running = config;
  const startedAt = monotonicMs();
  const reloader = createReloader({
    load: () => loadAgain(options),
    reloadWebConfig: () => access.reload(),
    async apply(changed) {
      warnOfRestart(config, changed, log);
      await clusters.apply(changed);
      history.keep(new Set(changed.clusters.map(({ name }) => name)));
      log.level = changed.log.level;
      running = { ...changed, web: config.web };
    },
    areFilesInForce: () =>
      access.isInForce() && clusters.list.every((cluster) => cluster.areFilesInForce()),
    wallMs,
    log,
  });
  const routes = createRoutes({
    telemetryPath: config.web.telemetry_path,
    maxRequests: config.web.max_requests,
    maxProbes: config.web.max_probes,
    version: build.version,
    scrapeSource: createScrapeSource({ collectors, clusters, reloader, access, self }),
    reload: config.web.enable_lifecycle ? () => reloader.reload() : undefined,
    isReady: () => clusters.hasPolled || monotonicMs() - startedAt > READY_AFTER_MS,
    describedConfig: () => describeOnce(running, collectors),
    clusters: () => clusters.list,
    history,
    assets: await loadAssets(),
    startedMs: wallMs(),
    wallMs,
  });
  const { web } = config;
  const { connectionDropped } = self;
  const parts = { web, routes, access, monotonicMs, connectionDropped };
  const server = await startWebServer({ ...options, ...parts });
  async function stop(): Promise<void> {
    await Promise.all([clusters.stop(), server.close(CLOSE_MS)]);
  }
  try {
    await clusters.apply(config);
  } catch (error) {
    await stop();
    throw error;
  }
  let stopped: Promise<void> | undefined;
  return {
    addresses: server.addresses,
    reload: () => reloader.reload(),
    stop: () => (stopped ??= stop()),
  };
}

async function loadAgain({ config, load }: AppOptions): Promise<LoadedConfig> {
  const followed = { followedWebConfig: config.web.config_file };
  return load === undefined ? { config, warnings: [] } : await load(followed);
}

function createClusters(
  options: AppOptions & Pick<WatchOptions, 'clock' | 'random'>,
  self: Self,
  history: History,
): WatchedClusters {
  const { collectors, build, clock, random, log, fileCheckMs } = options;
  return new WatchedClusters({
    collectors,
    fileCheckMs,
    self,
    userAgent: `crdb-exporter/${build.version}`,
    clock,
    random,
    log,
    pollEnded: (cluster, collector) => history.record(cluster, collector, clock.wallMs()),
  });
}

interface ScrapeParts {
  readonly collectors: readonly Collector[];
  readonly clusters: WatchedClusters;
  readonly reloader: Reloader;
  readonly access: Access;
  readonly self: Self;
}

function createScrapeSource(parts: ScrapeParts): ScrapeSource {
  const { collectors, clusters, reloader, access, self } = parts;
  return {
    collectors: collectors.map((collector) => collector.name),
    scrape: async (isChosen) => ({
      parts: clusters.polled.flatMap((cluster) => cluster.snapshots(isChosen)),
      rendered: [
        ...clusters.polled.flatMap((cluster) => renderFamilies(cluster.outcomes(isChosen))),
        ...renderFamilies(reloader.outcome()),
        ...renderFamilies(describeCertificate(access.config().tls)),
        ...(await self.families(isChosen)),
      ],
    }),
  };
}

const descriptions = new WeakMap<Config, unknown>();

/** The same object for the same configuration. */
function describeOnce(config: Config, collectors: readonly Collector[]): unknown {
  const described = descriptions.get(config) ?? describeConfig(config, collectors);
  descriptions.set(config, described);
  return described;
}

/** What is bound once cannot be changed by a reload; saying nothing would look as if it had been. */
function warnOfRestart(running: Config, changed: Config, log: Log): void {
  if (isDeepStrictEqual(running.web, changed.web)) return;
  log.warn('web settings have changed: they take effect at the next start');
}

function describeCertificate(tls: ServerTls | undefined): Sheet {
  const sheet = new Sheet({});
  if (tls !== undefined) {
    sheet.set(TLS_CERTIFICATE_NOT_AFTER, { use: 'server' }, tls.notAfterMs / 1000);
  }
  return sheet;
}
