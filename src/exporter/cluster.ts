import { once } from 'node:events';
import type { Collector, CollectorResult, PollContext, ResultOf } from '../collectors/collector.ts';
import { sessions } from '../collectors/sessions/collector.ts';
import { FILE_CHECK_MS } from '../config/files.ts';
import type { ClusterConfig, Config } from '../config/schema.ts';
import { createRemedyFinder } from '../diagnosis/diagnose.ts';
import { checkUrls, createSessionsCheck } from '../findings/checks.ts';
import type { Log } from '../log.ts';
import { clusterFamilies, collectorFamilies as families } from '../metrics/exporter-families.ts';
import type { Build, ExporterMetrics } from '../metrics/exporter-metrics.ts';
import { SampleSet } from '../metrics/sample-set.ts';
import type { RenderedFamily } from '../metrics/snapshot.ts';
import { Conditions } from '../polling/conditions.ts';
import { Poller, type PollerOptions } from '../polling/poller.ts';
import type { Clock } from '../polling/schedule.ts';
import { type Api, APIS, BREAKER_STATES } from '../vocabulary.ts';
import { type Clients, createClients } from './clients.ts';
import { writeCollector } from './collector-metrics.ts';
import { CollectorStates } from './collector-states.ts';

/** What all clusters of an exporter share. */
export interface ClusterContext {
  readonly collectors: readonly Collector[];
  readonly metrics: ExporterMetrics;
  readonly build: Pick<Build, 'version'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  /** How often certificates and keys for the cluster are checked for changes. */
  readonly fileCheckMs?: number | undefined;
  /** Called when a poll of a collector has ended or was skipped. */
  readonly pollEnded?: ((cluster: Cluster, collector: Collector) => void) | undefined;
}

type IsChosen = (collector: string) => boolean;

/** One configured cluster: its API clients and a poller for each of its collectors. */
export class Cluster {
  readonly name: string;
  readonly config: ClusterConfig;
  /** False: only /probe polls this cluster. */
  readonly isPolled: boolean;
  readonly pollers: readonly Poller[];
  readonly #context: ClusterContext;
  readonly #shard: Config['shard'];
  readonly #clients: Clients;
  readonly #conditions: Conditions;
  readonly #states = new CollectorStates();
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  /** Progress of the running (or last) range scan. */
  #scan = { done: 0, planned: 0 };

  /** `previous` are its pollers under an older configuration. Rejects when a TLS file cannot be read. */
  static async create(
    context: ClusterContext,
    config: ClusterConfig,
    shard: Config['shard'],
    previous: readonly Poller[] = [],
  ): Promise<Cluster> {
    const { build, clock, random, collectors, fileCheckMs = FILE_CHECK_MS } = context;
    const log = context.log.child({ cluster: config.name });
    const metrics = context.metrics.cluster(config.name);
    const perNode = collectors.find(({ scope }) => scope === 'node');
    const maxDuty = perNode && config.collectors[perNode.name]?.max_duty;
    const follow = { everyMs: fileCheckMs, log };
    const clients = await createClients({ config, metrics, build, clock, random, maxDuty, follow });
    return new Cluster({ ...context, log }, config, shard, clients, previous);
  }

  private constructor(
    context: ClusterContext,
    config: ClusterConfig,
    shard: Config['shard'],
    clients: Clients,
    previous: readonly Poller[],
  ) {
    this.name = config.name;
    this.config = config;
    this.isPolled = config.poll;
    this.#context = context;
    this.#shard = shard;
    this.#clients = clients;
    this.#conditions = new Conditions(context.log, context.clock);
    this.pollers = this.#createPollers(previous);
    clients.cluster?.listings.onReplaced((poll, names) => {
      context.log.warn(names, 'cluster replaced, or all its nodes restarted');
      this.#states.drop(poll);
    });
  }

  /** Whether the current content of its TLS files is loaded. */
  areFilesUpToDate(): boolean {
    return this.#clients.cluster?.tls.failure() === undefined;
  }

  /** What is wrong although polls succeed. */
  get warnings(): Conditions['warnings'] {
    return this.#conditions.warnings;
  }

  /** What a collector found, while it is young enough to be shown. */
  result<R extends CollectorResult>(collector: ResultOf<R>): R | undefined {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by the collector of that name
    return this.#poller(collector)?.result as R | undefined;
  }

  /** What a collector found last, however old. */
  lastResult<R extends CollectorResult>(collector: ResultOf<R>): R | undefined {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by the collector of that name
    return this.#poller(collector)?.lastResult as R | undefined;
  }

  #poller({ name }: { readonly name: string }): Poller | undefined {
    return this.pollers.find(({ collector }) => collector.name === name);
  }

  /** Data of the chosen collectors that is young enough to be shown. */
  families(isChosen: IsChosen): readonly RenderedFamily[] {
    const snapshots = this.#chosen(isChosen).flatMap((poller) => poller.snapshot ?? []);
    return snapshots.flatMap(({ families: rendered }) => [...rendered.values()]);
  }

  /** Polls these collectors now if their interval has passed, and waits for them, `waitMs` at most. */
  async pollNow(isChosen: IsChosen, waitMs: number): Promise<void> {
    const { signal } = this.#stop;
    await Promise.all(this.#chosen(isChosen).map((poller) => poller.pollNow(signal, waitMs)));
  }

  /** Begins to poll, unless it has begun already. */
  start(): void {
    this.#running ??= this.#run(this.#stop.signal);
  }

  /** Ends polling, logs out and closes its connections. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.start();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    if (this.isPolled) await Promise.all(this.pollers.map((poller) => poller.run(signal)));
    else if (!signal.aborted) await once(signal, 'abort');
    await Promise.all(this.pollers.map((poller) => poller.settled()));
    try {
      await this.#clients.logOut();
    } catch (error) {
      this.#context.log.warn({ err: error }, 'logout failed; the session expires on the server');
    }
    await this.#clients[Symbol.asyncDispose]();
  }

  /** Whether the last poll of the most frequent collector of an API succeeded (on a tie, of the first); undefined before. */
  isUp(api: Api): boolean | undefined {
    const [poller] = this.pollers
      .filter(({ collector }) => collector.api === api)
      // If only /probe polls, some may never be polled.
      .filter(({ outcome }) => this.isPolled || outcome.state !== 'waiting')
      .toSorted((a, b) => a.configuredIntervalSeconds - b.configuredIntervalSeconds);
    const { state = 'waiting' } = poller?.outcome ?? {};
    return state === 'waiting' ? undefined : state === 'ok';
  }

  /** Metrics of the APIs and of the chosen collectors, for one scrape; before the first poll crdb_up is absent or this. */
  metrics(
    isChosen: IsChosen,
    { upBeforeFirstPoll }: { readonly upBeforeFirstPoll?: number } = {},
  ): SampleSet {
    const set = new SampleSet({ crdb_cluster: this.name });
    for (const api of APIS) {
      const http = this.#clients[api]?.http;
      if (http === undefined) continue;
      const isUp = this.isUp(api);
      set.set(clusterFamilies.up, { api }, isUp === undefined ? upBeforeFirstPoll : Number(isUp));
      for (const { name, state } of http.upstreams()) {
        set.states(clusterFamilies.breakerState, { target: name }, 'state', BREAKER_STATES, state);
      }
      set.set(clusterFamilies.apiPaused, { api }, http.pausedMs() / 1000);
    }
    const { cluster_api, console_url = '' } = this.config;
    set.set(clusterFamilies.clusterInfo, { console_url }, 1);
    set.set(clusterFamilies.clusterConfigured, {}, 1);
    set.set(clusterFamilies.shards, {}, this.#shard.count);
    const isUnverified = cluster_api && Number(cluster_api.tls.insecure_skip_verify);
    set.set(clusterFamilies.verificationDisabled, {}, isUnverified);
    const expiryMs = this.#clients.cluster?.tls.current().notAfterMs;
    set.set(clusterFamilies.certificateExpiry, { use: 'client' }, expiryMs && expiryMs / 1000);
    for (const poller of this.#chosen(isChosen)) {
      writeCollector(set, poller);
      const { collector, shard } = poller;
      if (collector.scope !== 'node') continue;
      set.set(families.scanNodesDone, { shard }, this.#scan.done);
      set.set(families.scanNodesPlanned, { shard }, this.#scan.planned);
    }
    return set;
  }

  #chosen(isChosen: IsChosen): readonly Poller[] {
    return this.pollers.filter(({ collector }) => isChosen(collector.name));
  }

  #createPollers(previous: readonly Poller[]): readonly Poller[] {
    const { collectors, log, clock, random, pollEnded } = this.#context;
    const shard = this.#shard;
    const metrics = this.#context.metrics.cluster(this.name);
    const findRemedy = createRemedyFinder(this.config);
    const checkSessions = createSessionsCheck(this.#conditions, this.config);
    return collectors.flatMap((collector) => {
      const settings = this.config.collectors[collector.name];
      if (!settings?.enabled || (collector.scope === 'cluster' && shard.index !== 0)) return [];
      // Of the settings only its own: its state is valid while these stay the same.
      const keys = Object.keys(collector.options);
      const options = Object.fromEntries(keys.map((key) => [key, settings[key]]));
      // Success without a request would prove nothing about the cluster.
      if (collector.isIdle?.(options) === true) return [];
      const before = previous.find((poller) => poller.collector.name === collector.name);
      const state = before?.stateFor(options) ?? collector.createState();
      const isLocal = collector.isLocal?.(options) === true;
      const kept = { options, state, shard: isLocal ? shard.name : String(shard.index) };
      const client = this.#bind(collector, kept);
      return new Poller(
        {
          cluster: this.name,
          collector,
          settings,
          ...kept,
          ...client,
          metrics,
          log,
          conditions: this.#conditions,
          findRemedy,
          clock,
          random,
          pollEnded: () => {
            checkUrls(this.#conditions, collector, client.http, this.config);
            if (collector === sessions) checkSessions(this);
            pollEnded?.(this, collector);
          },
        },
        before,
      );
    });
  }

  /** The collector bound to its client, options and state. */
  #bind(collector: Collector, kept: Pick<PollerOptions, 'options' | 'state' | 'shard'>) {
    const { cluster, cloud } = this.#clients;
    const constant = {
      ...kept,
      shards: this.#shard,
      nowMs: this.#context.clock.wallMs,
      urls: this.config.cluster_api?.urls.length ?? 1,
      namedTables: () => new Set(this.pollers.flatMap(({ result }) => result?.tableIds ?? [])),
      scanProgress: (done: number, planned: number) => {
        this.#scan = { done, planned };
      },
    };
    const contextOf = (poll: PollContext) => Object.assign(poll, constant);
    if (collector.api === 'cluster' && cluster !== undefined) {
      const { api, http } = cluster;
      this.#states.add(collector, kept.state);
      const collect = (poll: PollContext) =>
        this.#states.poll(poll, () => collector.collect(api, contextOf(poll)));
      return { http, collect };
    }
    if (collector.api === 'cloud' && cloud !== undefined) {
      const { api, http } = cloud;
      return { http, collect: (poll: PollContext) => collector.collect(api, contextOf(poll)) };
    }
    throw new Error(`${collector.name}: the API ${collector.api} is not configured`);
  }
}
