import { isDeepStrictEqual } from 'node:util';
import { type Build, capitalize, type Clock, messageOf, SYSTEM_CLOCK, toTimestamp } from '#base';
import type { Collector } from '#collectors';
import {
  type Config,
  ConfigError,
  FILE_CHECK_MS,
  formatIssues,
  type LoadedConfig,
  type LoadFailure,
} from '#config';
import {
  clusterFamilies,
  ExporterMetrics,
  processFamilies,
  renderFamilies,
  SampleSet,
} from '#metrics';
import { Clusters } from './clusters.ts';
import type { Companion, Daemon } from './companion.ts';
import { measureCluster } from './measure-cluster.ts';
import type { WatchProblem } from './observation.ts';
import { createRoutes, type ReloadOutcome } from './routes/routes.ts';
import type { WebServerOptions } from './server/app.ts';
import { watchWebConfig, type WebConfigWatcher } from './server/web-config-watcher.ts';
import { startWebServer, type WebServer } from './server/web-server.ts';

/** `/-/ready` does not wait longer than this for first polls. */
const READY_AFTER_MS = 60_000;
/** When the exporter stops, scrapes that are still running after this time are cut off. */
const CLOSE_MS = 3_000;

export interface ExporterOptions extends Pick<WebServerOptions, 'log' | 'sockets' | 'timeouts'> {
  readonly config: Config;
  readonly collectors: readonly Collector[];
  readonly build: Build;
  /** Number of log lines that were not written. */
  readonly droppedLogLines?: (() => number) | undefined;
  /** Reads the configuration again for a reload; when absent, the running one is applied again. */
  readonly load?: () => Promise<LoadedConfig>;
  readonly clock?: Clock;
  /** Makes what runs beside the daemon: the status page. */
  readonly companion?: ((daemon: Daemon) => Companion) | undefined;
  /** How often certificates, secrets and the web config file are checked for changes. */
  readonly fileCheckMs?: number;
  readonly random?: () => number;
}

const CONFIG_KEPT = 'configuration not reloaded, keeping the previous one';
const WEB_CONFIG_KEPT = 'web config file not reloaded, keeping the previous one';

const STOPPING: ReloadOutcome = {
  isStopping: true,
  error: 'the exporter is stopping: nothing was reloaded',
};

/** The running exporter: configuration → clusters → web server. */
export class Exporter {
  readonly #options: ExporterOptions;
  readonly #clock: Clock;
  readonly #metrics: ExporterMetrics;
  readonly #webConfig: WebConfigWatcher;
  readonly #clusters: Clusters;
  readonly #companion: Companion | undefined;
  #server: WebServer | undefined;
  /** The running configuration; its web settings are those of the start. */
  #config: Config;
  #reloads = 0;
  /** The end of the last reload that was requested. */
  #reloading: Promise<unknown> = Promise.resolve();
  /** The last reload of the configuration failed; the web config file has a failure of its own. */
  #failure: LoadFailure | undefined;
  #lastReloadMs: number;
  #stopped: Promise<unknown> | undefined;

  /**
   * Listens first and polls then: a cluster that is down at the start is reported, and the exporter runs all the same. The first
   * response already lists every cluster. Rejects when an address cannot be bound or a web config or TLS file cannot be used.
   */
  static async start(options: ExporterOptions): Promise<Exporter> {
    const { config, log, fileCheckMs = FILE_CHECK_MS } = options;
    const webConfig = await watchWebConfig(config.web.config_file, fileCheckMs, log);
    const exporter = new Exporter(options, webConfig);
    try {
      await exporter.#clusters.apply(config, () => exporter.#listen());
    } catch (error) {
      await exporter.stop();
      throw error;
    }
    return exporter;
  }

  private constructor(options: ExporterOptions, webConfig: WebConfigWatcher) {
    const { build, clock = SYSTEM_CLOCK, random = Math.random } = options;
    this.#options = options;
    this.#clock = clock;
    this.#webConfig = webConfig;
    this.#metrics = new ExporterMetrics(build);
    this.#config = options.config;
    this.#lastReloadMs = clock.wallMs();
    this.#clusters = new Clusters({
      ...options,
      metrics: this.#metrics,
      clock,
      random,
      pollEnded: (cluster, { name }) => this.#companion?.polled(cluster, name),
    });
    this.#companion = options.companion?.({
      version: build.version,
      clusters: () => this.#clusters.list,
      config: () => this.#config,
      reloads: () => this.#reloads,
      problems: () => this.#problems(),
      startedMs: this.#lastReloadMs,
      wallMs: clock.wallMs,
      monotonicMs: clock.monotonicMs,
    });
  }

  /** The bound addresses, as URLs or `unix:` paths. */
  get addresses(): readonly string[] {
    return this.#server?.addresses ?? [];
  }

  /**
   * Reloads the configuration and the web config file. An error in one file does not keep the other from being reloaded;
   * the previous content is kept. Once the exporter stops, nothing is reloaded: a reload that has begun ends without effect.
   */
  reload(): Promise<ReloadOutcome> {
    const reloaded = this.#reloading.then(() => (this.#isStopping ? STOPPING : this.#reload()));
    this.#reloading = reloaded;
    return reloaded;
  }

  get #isStopping(): boolean {
    return this.#stopped !== undefined;
  }

  /** Stops polling, finishes scrapes in flight, logs out. May be called twice. */
  async stop(): Promise<void> {
    const closeServer = this.#server?.close ?? (() => this.#webConfig[Symbol.dispose]());
    this.#stopped ??= Promise.all([this.#clusters.stop(), closeServer(CLOSE_MS)]);
    await this.#stopped;
  }

  async #listen(): Promise<void> {
    const { config, collectors, log, sockets, timeouts } = this.#options;
    const { monotonicMs } = this.#clock;
    const { web } = config;
    const startedAt = monotonicMs();
    const routes = createRoutes({
      web,
      collectors: collectors.map(({ name }) => name),
      scrape: (chosen) => this.#scrape(chosen),
      reload: web.enable_lifecycle ? () => this.reload() : undefined,
      isReady: () => this.#clusters.hasPolled || monotonicMs() - startedAt > READY_AFTER_MS,
      clusters: () => this.#clusters.list,
    });
    this.#server = await startWebServer({
      web,
      routes: [...routes, ...(this.#companion?.routes ?? [])],
      webConfig: this.#webConfig,
      monotonicMs,
      connectionDropped: this.#metrics.connectionDropped,
      tlsRefused: this.#metrics.tlsRefused,
      log,
      timeouts,
      sockets,
    });
  }

  async #scrape(chosen: ReadonlySet<string>) {
    const { polled } = this.#clusters;
    return [
      ...polled.flatMap((cluster) => cluster.families(chosen)),
      ...polled.flatMap((cluster) => renderFamilies(measureCluster(cluster, chosen))),
      ...renderFamilies(this.#configMetrics()),
      ...(await this.#metrics.families(chosen)),
    ];
  }

  /** Whether the current content of all files is loaded, and when the certificate of the web server expires. */
  #configMetrics(): SampleSet {
    const set = new SampleSet({});
    const isUpToDate = this.#failures().length === 0;
    set.set(processFamilies.lastReloadSuccessful, {}, isUpToDate ? 1 : 0);
    set.set(processFamilies.lastReloadSuccess, {}, this.#lastReloadMs / 1000);
    set.set(processFamilies.logLinesDropped, {}, this.#options.droppedLogLines?.() ?? 0);
    const { tls } = this.#webConfig.current().config;
    set.set(clusterFamilies.certificateExpiry, { use: 'server' }, tls && tls.notAfterMs / 1000);
    return set;
  }

  /** The files that were not reloaded, also those that changed without a request to reload. */
  #failures(): readonly (readonly [what: string, failure: LoadFailure])[] {
    const failures = [
      [CONFIG_KEPT, this.#failure],
      [WEB_CONFIG_KEPT, this.#webConfig.failure()],
      ...this.#clusters.list.map(
        (cluster) =>
          [
            `TLS files of ${cluster.name} not reloaded, keeping the previous ones`,
            cluster.fileFailure(),
          ] as const,
      ),
    ] as const;
    return failures.flatMap(([what, failure]) => (failure ? [[what, failure] as const] : []));
  }

  #problems(): readonly WatchProblem[] {
    return this.#failures().map(([what, failure]) => toProblem(what, failure));
  }

  async #reload(): Promise<ReloadOutcome> {
    const errors: string[] = [];
    let note: string | undefined;
    try {
      note = await this.#reloadConfig();
      this.#failure = undefined;
    } catch (error) {
      if (this.#isStopping) return STOPPING;
      const problems = messageOf(error);
      const fields = error instanceof ConfigError ? { problems } : { err: error };
      this.#options.log.error(fields, CONFIG_KEPT);
      errors.push(`${CONFIG_KEPT}:\n${problems}`);
      this.#failure = { error, sinceMs: this.#failure?.sinceMs ?? this.#clock.wallMs() };
    }
    try {
      await this.#webConfig.reload();
    } catch (error) {
      const problems = messageOf(error);
      this.#options.log.error({ problems }, WEB_CONFIG_KEPT);
      errors.push(`${WEB_CONFIG_KEPT}:\n${problems}`);
    }
    if (errors.length > 0) return { error: errors.join('\n') };
    this.#lastReloadMs = this.#clock.wallMs();
    return { note };
  }

  /** Resolves to a note on the settings that take effect at the next start, if any. */
  async #reloadConfig(): Promise<string | undefined> {
    const { config, load, log } = this.#options;
    const loaded = load === undefined ? { config, warnings: [] } : await load();
    const changed = loaded.config;
    await this.#clusters.apply(changed);
    for (const cluster of this.#clusters.list) cluster.retryLogin();
    const { web, log: running } = config;
    const logging = { ...changed.log, format: running.format };
    this.#config = { ...changed, web, log: logging, config: config.config };
    this.#reloads += 1;
    log.level = changed.log.level;
    log.info({ clusters: changed.clusters.length }, 'configuration reloaded');
    if (loaded.warnings.length > 0) log.warn(formatIssues(loaded.warnings));
    const note = describePending(config, changed);
    if (note !== undefined) log.warn(note);
    return note;
  }
}

/** The settings that a reload cannot change, by their paths. */
function startSettings({ web, log, config }: Config): Readonly<Record<string, unknown>> {
  const webSettings = Object.entries(web).map(([key, value]) => [`web.${key}`, value] as const);
  return {
    ...Object.fromEntries(webSettings),
    'log.format': log.format,
    'config.auto_reload': config.auto_reload,
  };
}

/** Names the settings that the file has changed and a reload cannot change. */
function describePending(running: Config, loaded: Config): string | undefined {
  const before = startSettings(running);
  const changed = Object.entries(startSettings(loaded))
    .filter(([key, value]) => !isDeepStrictEqual(value, before[key]))
    .map(([key]) => key);
  return changed.length === 0
    ? undefined
    : `settings take effect at the next start: ${changed.join(', ')}`;
}

function toProblem(what: string, { error, sinceMs }: LoadFailure): WatchProblem {
  const [first = '', ...more] = messageOf(error).split('\n');
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
  return {
    key: what,
    about: 'exporter',
    alert: 'CrdbConfigReloadFailed',
    text: `${capitalize(what)}: ${first}${others}.`,
    next: 'Correct the file and reload, or restart where that is needed; `crdb-exporter check` prints every error.',
    since: toTimestamp(sinceMs) ?? '',
  };
}
