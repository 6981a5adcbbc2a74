import { type Apis, createApis } from './apis.ts';
import { createPollers, type WatchParts } from './cluster-pollers.ts';
import type { ClusterConfig, Config } from './config/schema.ts';
import { FILE_CHECK_MS } from './config/file-watch.ts';
import { BREAKER_STATES } from './http/breaker.ts';
import type { HttpClient } from './http/client.ts';
import type { Log } from './log.ts';
import type { Api } from './metrics/self-families.ts';
import * as families from './metrics/outcome-families.ts';
import type { Self } from './metrics/self.ts';
import { Sheet } from './metrics/sheet.ts';
import type { Snapshot } from './metrics/snapshot.ts';
import { limitsOf, writeOutcome } from './poll/outcome.ts';
import type { Poller } from './poll/poller.ts';

export interface WatchOptions extends WatchParts {
  readonly config: ClusterConfig;
  readonly shard: Config['shard'];
  readonly max_series: number;
  readonly self: Self;
  readonly userAgent: string;
  /** Called when a poll of a collector has ended, good or bad. */
  readonly pollEnded?: ((cluster: WatchedCluster, collector: string) => void) | undefined;
}

/** One configured cluster while it is watched: its APIs and a poller for each of its collectors. */
export interface WatchedCluster {
  readonly name: string;
  /** False: only /probe asks this cluster. */
  readonly isPolled: boolean;
  readonly pollers: readonly Poller[];
  /** Whether its TLS files as they are now are in force. */
  readonly areFilesInForce: () => boolean;
  /** Polls these collectors now where their interval has passed, and waits for them, `waitMs` at most. */
  pollNow(isChosen: (collector: string) => boolean, waitMs: number): Promise<void>;
  /** Asks again although a server asked to be left alone. */
  endPauses(): void;
  /** Polls until the signal aborts, then logs out and closes its connections. */
  run(signal: AbortSignal): Promise<void>;
  /** Data of the chosen collectors that is young enough to be shown. */
  snapshots(isChosen: (collector: string) => boolean): readonly Snapshot[];
  /** What became of the polls, written anew for each scrape. */
  outcomes(isChosen: (collector: string) => boolean): Sheet;
}

/** How long a logout may hold up the end of the process. */
const LOGOUT_MS = 2_000;

/**
 * Prepares the APIs and pollers of one cluster; predecessors are the pollers of the same cluster under
 * an older configuration. Rejects when a TLS file cannot be read.
 */
export async function watchCluster(
  options: WatchOptions,
  predecessors: readonly Poller[] = [],
): Promise<WatchedCluster> {
  const { config, self, clock } = options;
  const clusterSelf = self.cluster(config.name);
  const apis = await createApis({
    config,
    self: clusterSelf,
    userAgent: options.userAgent,
    monotonicMs: clock.monotonicMs,
    random: options.random,
    follow: {
      everyMs: options.fileCheckMs ?? FILE_CHECK_MS,
      log: options.log.child({ cluster: config.name }),
    },
  });
  const progress = { done: 0, planned: 0 };
  const ended = (collector: string): void => options.pollEnded?.(cluster, collector);
  const parts = { ...options, apis, self: clusterSelf, progress, ended };
  const pollers = createPollers(parts, predecessors);
  if (apis.cluster !== undefined) {
    clusterSelf.prepareLogins();
    clusterSelf.prepareEndpoints(['login', 'nodes', 'node_ranges', 'sessions', 'users', 'table']);
  }
  if (apis.cloud !== undefined) clusterSelf.prepareEndpoints(['assistant']);
  const stopping = new AbortController();
  const chosen = (isChosen: (collector: string) => boolean): readonly Poller[] =>
    pollers.filter(({ plan }) => isChosen(plan.collector));
  const cluster: WatchedCluster = {
    name: config.name,
    isPolled: config.poll,
    pollers,
    areFilesInForce: apis.areFilesInForce,
    async pollNow(isChosen, waitMs) {
      const order = { stop: stopping.signal, waitMs };
      await Promise.all(chosen(isChosen).map((poller) => poller.pollNow(order)));
    },
    endPauses() {
      apis.cluster?.http.endPause();
      apis.cloud?.http.endPause();
    },
    async run(signal) {
      signal.addEventListener('abort', () => stopping.abort(), { once: true });
      if (config.poll) await Promise.all(pollers.map((poller) => poller.run(signal)));
      else await aborted(signal);
      await Promise.all(pollers.map((poller) => poller.settled()));
      await close(apis, options.log.child({ cluster: config.name }));
    },
    snapshots: (isChosen) => chosen(isChosen).flatMap((poller) => poller.snapshot() ?? []),
    outcomes: (isChosen) => writeOutcomes({ ...options, pollers, apis, progress }, isChosen),
  };
  return cluster;
}

interface OutcomeParts extends WatchOptions {
  readonly pollers: readonly Poller[];
  readonly apis: Apis;
  readonly progress: { readonly done: number; readonly planned: number };
}

function writeOutcomes(parts: OutcomeParts, isChosen: (collector: string) => boolean): Sheet {
  const { pollers, apis, config, shard } = parts;
  const sheet = new Sheet({ crdb_cluster: config.name });
  // Where only /probe asks, some collectors may never be asked for.
  const asked = config.poll ? pollers : pollers.filter(({ outcome }) => outcome.hasEnded);
  for (const api of ['cluster', 'cloud'] as const) {
    const poller = mostFrequent(asked.filter(({ plan }) => plan.api === api));
    const isUp = poller?.outcome.isGood === true;
    if (poller?.outcome.hasEnded) sheet.set(families.UP, { api }, isUp ? 1 : 0);
    writeApi(sheet, api, apis[api]?.http);
  }
  sheet.set(families.SHARDS, {}, shard.count);
  if (config.cluster_api !== undefined) {
    const isOff = config.cluster_api.tls.insecure_skip_verify;
    sheet.set(families.TLS_VERIFICATION_DISABLED, {}, isOff ? 1 : 0);
  }
  const notAfterMs = apis.certificateNotAfterMs();
  if (notAfterMs !== undefined) {
    sheet.set(families.TLS_CERTIFICATE_NOT_AFTER, { use: 'client' }, notAfterMs / 1000);
  }
  for (const poller of pollers) {
    const { plan, outcome } = poller;
    if (!isChosen(plan.collector)) continue;
    const series = poller.snapshot()?.series ?? 0;
    writeOutcome(sheet, plan, { outcome, series, limits: limitsOf(poller) });
    if (plan.collector === 'ranges') {
      const labels = { shard: plan.shard };
      sheet.set(families.RANGE_SCAN_NODES_DONE, labels, parts.progress.done);
      sheet.set(families.RANGE_SCAN_NODES_PLANNED, labels, parts.progress.planned);
    }
  }
  return sheet;
}

function writeApi(sheet: Sheet, api: Api, http: HttpClient | undefined): void {
  if (http === undefined) return;
  for (const { target, state } of http.targets()) {
    sheet.states(families.BREAKER_STATE, { target }, 'state', BREAKER_STATES, state);
  }
  sheet.set(families.API_PAUSED, { api }, http.pausedMs() / 1000);
}

/** The collector that tells soonest whether its API is up; on a tie the first of the list (nodes). */
function mostFrequent(pollers: readonly Poller[]): Poller | undefined {
  return pollers.toSorted(
    (a, b) => a.plan.configuredIntervalSeconds - b.plan.configuredIntervalSeconds,
  )[0];
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function close(apis: Apis, log: Log): Promise<void> {
  try {
    await apis.logOut(AbortSignal.timeout(LOGOUT_MS));
  } catch (error) {
    log.warn({ err: error }, 'could not log out; the session ends by itself');
  }
  await apis[Symbol.asyncDispose]();
}
