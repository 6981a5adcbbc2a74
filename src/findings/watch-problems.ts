import type {
  Collector,
  CollectorResult,
  CollectorWith,
  PollFailure,
} from '../collectors/collector.ts';
import { nodes, type NodesResult } from '../collectors/nodes/collector.ts';
import { sessions, type SessionsResult } from '../collectors/sessions/collector.ts';
import { SESSION_STATES } from '../collectors/sessions/session.ts';
import type { ClusterConfig } from '../config/keys-and-flags.ts';
import { diagnose } from '../diagnosis/diagnose.ts';
import { grantee } from '../diagnosis/rules.ts';
import { formatCount } from '../format.ts';
import type { HttpClient } from '../http/client.ts';
import type { Poller } from '../polling/poller.ts';
import { type AlertName, APIS, type Api, type FailureReason } from '../vocabulary.ts';

/** Something that is wrong with watching a cluster, as the log and the page say it once. */
export interface WatchProblem {
  /** The key stays the same for as long as the problem lasts. */
  readonly key: string;
  readonly message: string;
  readonly remedy?: string | undefined;
  /** Why polls fail; undefined while they succeed in spite of the problem. */
  readonly reason?: FailureReason | undefined;
  readonly api?: Api | undefined;
  /** The alert with the same condition. */
  readonly alert?: AlertName | undefined;
  /** The collectors whose polls it concerns. */
  readonly affects: readonly string[];
}

/** A problem of watching a cluster with its start. */
export interface StartedProblem extends WatchProblem {
  /** Wall clock, ms. */
  readonly sinceMs: number;
}

type PolledCollector = Pick<Poller, 'collector' | 'outcome'>;

/**
 * The problems because of which polls fail: one for all collectors that fail with the same reason and remedy. A poll that
 * an open circuit breaker has blocked gets the problem that it had before. Example: connections of nodes and sessions are
 * refused, which is one problem. Then the poll of sessions is blocked, and the problem still affects both.
 */
export function failedPolls(
  pollers: readonly PolledCollector[],
  previous: readonly WatchProblem[],
): readonly WatchProblem[] {
  const problems = new Map<string, WatchProblem>();
  const add = (problem: WatchProblem, collector: string): void => {
    const affects = [...(problems.get(problem.key)?.affects ?? []), collector];
    problems.set(problem.key, { ...(problems.get(problem.key) ?? problem), affects });
  };
  const failing = pollers.flatMap(({ collector: { name, api }, outcome: { error } }) =>
    error === undefined ? [] : { name, api, error },
  );
  const isBlocked = ({ error }: (typeof failing)[number]) => error.reason === 'breaker_open';
  for (const { name, api, error } of failing.filter((poll) => !isBlocked(poll))) {
    add(describeFailure(api, error), name);
  }
  for (const { name, api, error } of failing.filter(isBlocked)) {
    const causes = [...problems.values(), ...previous].filter(
      (problem) => problem.api === api && problem.reason !== undefined,
    );
    const cause = causes.find(({ affects }) => affects.includes(name)) ?? causes[0];
    add(cause ?? describeFailure(api, error), name);
  }
  return [...problems.values()];
}

/** Messages that differ in numbers alone have the same key: `no response within 5 s` and `… 30 s` are one problem. */
function describeFailure(api: Api, { message, remedy, reason }: PollFailure): WatchProblem {
  const cause = (remedy ?? message).replaceAll(/\d+/g, 'N');
  return { key: `${api} ${reason} ${cause}`, message, remedy, reason, api, affects: [] };
}

/** The warnings of the last polls. */
export function pollWarnings(pollers: readonly PolledCollector[]): readonly WatchProblem[] {
  return pollers.flatMap(({ collector: { name }, outcome: { warnings = [] } }) =>
    [...warnings].map((message) => ({ key: `${name}: ${message}`, message, affects: [name] })),
  );
}

/** The URLs that fail while others work, so that no poll does. When all fail, the polls do, and the list stays as it was. */
export function checkUrls(
  collector: Collector,
  http: Pick<HttpClient, 'upstreams'>,
  config: ClusterConfig,
  previous: readonly WatchProblem[],
): readonly WatchProblem[] {
  const upstreams = http.upstreams();
  const isOneUsed = upstreams.some(({ state }) => state === 'closed');
  return upstreams.flatMap(({ name, state, lastFailure }) => {
    const key = `URL ${name}`;
    if (!isOneUsed) return previous.find((problem) => problem.key === key) ?? [];
    const failure = state === 'closed' ? undefined : diagnose(lastFailure, collector, config);
    if (failure === undefined) return [];
    const message = `one of ${upstreams.length} URLs fails, the others are used: ${failure.cause}`;
    return { key, message, remedy: failure.remedy, affects: [] };
  });
}

/**
 * The problem that the user sees no sessions of others although clients are connected. Without the name of the user, only
 * an empty list shows it.
 */
export function findHiddenSessions(
  { cluster_api: login }: ClusterConfig,
  listed: SessionsResult,
  known: NodesResult,
): WatchProblem | undefined {
  const user = login?.username?.toLowerCase();
  const seen =
    user === undefined ? 'the list is empty' : `the user ${user} sees only its own sessions`;
  const fresh = known.nodes.filter(({ isFresh }) => isFresh);
  const connections = fresh.reduce((sum, { metrics }) => sum + (metrics.get('sql.conns') ?? 0), 0);
  const others = listed.applications.filter((application) => application.user !== user);
  const seesOthers = others.some((counts) => SESSION_STATES.some((state) => counts[state] > 0));
  if (seesOthers || connections === 0 || listed.failedNodes.size > 0) return undefined;
  return {
    key: 'own sessions',
    alert: 'CrdbSessionsHidden',
    affects: [],
    message: `sessions: ${seen}, although the nodes count ${formatCount(connections)} connections`,
    remedy: `run GRANT SYSTEM VIEWACTIVITYREDACTED TO ${grantee(login)};`,
  };
}

/** Clients connect and leave between the polls of nodes and sessions: one contradiction proves nothing. */
const MIN_CONTRADICTIONS = 3;

/** Finds the problem of hidden sessions once it lasts; to be called after each poll of them. */
export function createSessionsCheck(config: ClusterConfig) {
  let contradictions = 0;
  let found: readonly WatchProblem[] = [];
  return (cluster: Pick<WatchedCluster, 'result'>): readonly WatchProblem[] => {
    const listed = cluster.result(sessions);
    const known = cluster.result(nodes);
    if (listed === undefined || known === undefined) return found;
    const problem = findHiddenSessions(config, listed, known);
    contradictions = problem === undefined ? 0 : contradictions + 1;
    found = problem !== undefined && contradictions >= MIN_CONTRADICTIONS ? [problem] : [];
    return found;
  };
}

/** A cluster whose pollers are watched; a result is undefined while it is too old to be shown. */
interface WatchedCluster {
  readonly pollers: readonly PolledCollector[];
  result<R extends CollectorResult>(collector: CollectorWith<Api, R>): R | undefined;
}

/** Finds the problems of watching a cluster; to be called after each poll, with the collector that polled and the last list. */
export type ProblemFinder = (
  cluster: WatchedCluster,
  polled: Collector,
  previous: readonly WatchProblem[],
) => readonly WatchProblem[];

/** `http` gives the client of an API, where that is configured. */
export function createProblemFinder(
  config: ClusterConfig,
  http: (api: Api) => Pick<HttpClient, 'upstreams'> | undefined,
): ProblemFinder {
  const checkSessions = createSessionsCheck(config);
  let unseenSessions: readonly WatchProblem[] = [];
  return (cluster, polled, previous) => {
    const { pollers } = cluster;
    if (polled === sessions) unseenSessions = checkSessions(cluster);
    const urls = APIS.flatMap((api) => {
      const client = http(api);
      const poller = pollers.find(({ collector }) => collector.api === api);
      if (client === undefined || poller === undefined) return [];
      return checkUrls(poller.collector, client, config, previous);
    });
    return [
      ...failedPolls(pollers, previous),
      ...pollWarnings(pollers),
      ...urls,
      ...unseenSessions,
    ];
  };
}
