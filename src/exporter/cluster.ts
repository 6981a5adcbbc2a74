import { once } from 'node:events';
import { type Api, type Build, type Clock, type Log, smallest } from '#base';
import { createRemedyFinder, type FindRemedy, type UrlState } from '#cockroach';
import {
  type ChosenPoll,
  type Collector,
  type CollectorResult,
  type CollectorWith,
  type PolledApi,
  Poller,
  type PollerOptions,
  runCollector,
  workBetweenPolls,
} from '#collectors';
import {
  type ClusterConfig,
  type CollectorConfig,
  collectorOptions,
  type Config,
  FILE_CHECK_MS,
  type LoadFailure,
} from '#config';
import type { ExporterMetrics, RenderedFamily } from '#metrics';
import { type Clients, createClients } from './clients.ts';
import type { Observation, WatchProblem } from './observation.ts';
import type { WatchHistory } from './watch-history.ts';

/** All clusters of an exporter share this. */
export interface ClusterContext {
  readonly collectors: readonly Collector[];
  readonly metrics: ExporterMetrics;
  readonly build: Pick<Build, 'version'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  /** How often certificates and keys for the cluster are checked for changes. */
  readonly fileCheckMs?: number | undefined;
  /** Called when a poll of a collector has ended or was skipped, but not of a cluster that was stopped. */
  readonly pollEnded?: ((cluster: Cluster, collector: Collector) => void) | undefined;
}

/** One configured cluster: its API clients and a poller for each of its collectors. */
export class Cluster implements Observation {
  readonly name: string;
  readonly config: ClusterConfig;
  readonly clients: Clients;
  readonly pollers: readonly Poller[];
  readonly shard: Config['shard'];
  /** Progress of the running (or last) range scan, in nodes. */
  readonly scan = { done: 0, planned: 0 };
  readonly #context: ClusterContext;
  readonly #watch: WatchHistory;
  #identity: symbol;
  /** All pollers share it: a poll that a circuit breaker skips gets the remedy of the failure that opened the breaker. */
  readonly #findRemedy: FindRemedy;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  /**
   * `watch` remembers the problems of clusters of this name, `previous` is the cluster under an older configuration. Rejects when a
   * TLS file cannot be read.
   */
  static async create(
    context: ClusterContext,
    config: ClusterConfig,
    shard: Config['shard'],
    watch: WatchHistory,
    previous?: Cluster,
  ): Promise<Cluster> {
    const { build, clock, random, collectors, fileCheckMs = FILE_CHECK_MS } = context;
    const log = context.log.child({ cluster: config.name });
    const perNode = collectors.filter(({ scope }) => scope === 'node');
    const duties = perNode.flatMap(({ name }) => config.collectors[name]?.max_duty ?? []);
    const clients = await createClients({
      config,
      metrics: context.metrics.cluster(config.name),
      build,
      clock,
      random,
      maxDuty: smallest(duties),
      follow: { everyMs: fileCheckMs, log },
      logoutFailed: (err) => log.warn({ err }, 'logout failed; the session expires on the server'),
    });
    return new Cluster({ ...context, log }, config, shard, clients, watch, previous);
  }

  private constructor(
    context: ClusterContext,
    config: ClusterConfig,
    shard: Config['shard'],
    clients: Clients,
    watch: WatchHistory,
    previous: Cluster | undefined,
  ) {
    this.name = config.name;
    this.config = config;
    this.#context = context;
    this.#watch = watch;
    this.#identity = previous?.identity ?? Symbol(config.name);
    this.#findRemedy = createRemedyFinder(config);
    this.shard = shard;
    this.clients = clients;
    this.pollers = this.#createPollers(previous?.pollers ?? []);
    clients.cluster?.session.onUsable(() => this.#retryRefused());
    const before = previous?.clients.cluster;
    if (before !== undefined) {
      clients.cluster?.session.follow(before.session);
      clients.cluster?.api.listings.follow(before.api.listings);
    }
    clients.cluster?.api.listings.onReplaced((names) => {
      context.log.warn(names, 'cluster replaced, or all its nodes restarted');
      this.#identity = Symbol(config.name);
      for (const poller of this.pollers) {
        if (poller.collector.api === 'cluster') poller.forget();
      }
    });
  }

  /** A new symbol once another cluster has taken over the addresses. */
  get identity(): symbol {
    return this.#identity;
  }

  /** The problems of watching this cluster now; `nowMs` is the wall clock. */
  problems(nowMs: number): readonly WatchProblem[] {
    return this.#watch.read(this, nowMs);
  }

  /** Why the current content of its TLS files is not loaded. */
  fileFailure(): LoadFailure | undefined {
    return this.clients.cluster?.tls.failure();
  }

  /** The state of each URL of an API. */
  readonly upstreams = (api: Api): readonly UrlState[] => this.clients[api]?.http.upstreams() ?? [];

  /** The last result of a collector, while it is young enough to be shown. */
  result<R extends CollectorResult>(collector: CollectorWith<Api, R>): R | undefined {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by the collector of that name
    return this.#poller(collector)?.result as R | undefined;
  }

  /** The last result of a collector, however old. */
  lastResult<R extends CollectorResult>(collector: CollectorWith<Api, R>): R | undefined {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by the collector of that name
    return this.#poller(collector)?.lastResult as R | undefined;
  }

  #poller({ name }: { readonly name: string }): Poller | undefined {
    return this.pollers.find(({ collector }) => collector.name === name);
  }

  /** Data of the chosen collectors that is young enough to be shown. */
  families(chosen: ReadonlySet<string>): readonly RenderedFamily[] {
    const snapshots = this.pollersOf(chosen).flatMap((poller) => poller.snapshot ?? []);
    return snapshots.flatMap(({ families: rendered }) => [...rendered.values()]);
  }

  /** Whether `pollNow` would begin a poll, and not only wait for running ones. */
  wouldPoll(chosen: ReadonlySet<string>): boolean {
    return this.pollersOf(chosen).some((poller) => poller.wouldPoll);
  }

  /** Polls the chosen collectors now if their interval has passed, and waits for them, `waitMs` at most. */
  async pollNow(chosen: ReadonlySet<string>, waitMs: number): Promise<void> {
    const { signal } = this.#stop;
    await Promise.all(this.pollersOf(chosen).map((poller) => poller.pollNow(signal, waitMs)));
  }

  /** Begins to poll, unless it has begun already. */
  start(): void {
    this.#running ??= this.#run(this.#stop.signal);
  }

  /** Logs in at once where that was refused, and polls what was refused: the configuration was read again. */
  retryLogin(): void {
    this.clients.cluster?.session.retry();
    this.#retryRefused();
  }

  #retryRefused(): void {
    for (const poller of this.pollers) poller.retryRefused();
  }

  /** Ends polling, logs out and closes its connections. */
  async stop(): Promise<void> {
    this.#stop.abort();
    // A cluster that never started must log out and close, too.
    this.start();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    if (this.config.poll) await Promise.all(this.pollers.map((poller) => poller.run(signal)));
    else if (!signal.aborted) await once(signal, 'abort');
    await Promise.all(this.pollers.map((poller) => poller.settled()));
    await this.clients[Symbol.asyncDispose]();
  }

  /** Whether the last poll of the most frequent collector of an API succeeded (on a tie, of the first); undefined before. */
  isUp(api: Api): boolean | undefined {
    const [poller] = this.pollers
      .filter(({ collector }) => collector.api === api)
      // If only /probe polls, some may never be polled.
      .filter(({ outcome }) => this.config.poll || outcome.state !== 'waiting')
      .toSorted((a, b) => a.configuredIntervalSeconds - b.configuredIntervalSeconds);
    const { state = 'waiting' } = poller?.outcome ?? {};
    return state === 'waiting' ? undefined : state === 'ok';
  }

  /** The pollers of the chosen collectors, by their names. */
  pollersOf(chosen: ReadonlySet<string>): readonly Poller[] {
    return this.pollers.filter(({ collector }) => chosen.has(collector.name));
  }

  /** A poller for each collector that is enabled and has something to poll here. */
  #createPollers(previous: readonly Poller[]): readonly Poller[] {
    return this.#context.collectors.flatMap((collector) => {
      const settings = this.config.collectors[collector.name];
      const runsInShard = collector.scope === 'node' || this.shard.index === 0;
      if (!settings?.enabled || !runsInShard) return [];
      const options = collectorOptions(this.config, collector);
      // Success without a request would prove nothing about the cluster.
      if (collector.isIdle?.(options) === true) return [];
      const before = previous.find((poller) => poller.collector.name === collector.name);
      return new Poller(this.#pollerOptions(collector, settings, options), before);
    });
  }

  /**
   * Binds a collector to its API client and its options. The functions that are made here live as long as the new poller and
   * keep all parameters in memory, so the previous poller must not be one of them.
   */
  #pollerOptions(collector: Collector, settings: CollectorConfig, options: unknown): PollerOptions {
    const { clock, log, metrics, random, pollEnded } = this.#context;
    const isLocal = collector.isLocal?.(options) === true;
    const shard = isLocal ? this.shard.name : String(this.shard.index);
    const chosen = {
      shards: this.shard,
      namedTables: () => new Set(this.pollers.flatMap(({ result }) => result?.tableIds ?? [])),
      scanProgress: (done: number, planned: number) => Object.assign(this.scan, { done, planned }),
    };
    return {
      ...this.#bind(collector, chosen),
      cluster: this.name,
      collector,
      settings,
      shard,
      options,
      metrics: metrics.cluster(this.name),
      log,
      findRemedy: this.#findRemedy,
      clock,
      random,
      pollEnded: () => {
        this.#watch.record(this, clock.wallMs());
        pollEnded?.(this, collector);
      },
    };
  }

  #bind(
    collector: Collector,
    chosen: ChosenPoll<unknown>,
  ): Pick<PollerOptions, 'http' | 'run' | 'work'> {
    const { cluster, cloud } = this.clients;
    const bind = <A extends Api>(
      bound: CollectorWith<A, CollectorResult>,
      { api, http }: { readonly api: PolledApi<A>; readonly http: PollerOptions['http'] },
    ): Pick<PollerOptions, 'http' | 'run' | 'work'> => {
      const { config } = this;
      const { clock } = this.#context;
      return {
        http,
        run: (stop, state) => runCollector(bound, api, { config, clock, stop, state, chosen }),
        work: (stop, state) => workBetweenPolls(bound, api, { config, clock, stop, state, chosen }),
      };
    };
    if (collector.api === 'cloud' && cloud !== undefined) return bind(collector, cloud);
    if (collector.api === 'cluster' && cluster !== undefined) return bind(collector, cluster);
    throw new Error(`${collector.name}: the API ${collector.api} is not configured`);
  }
}
