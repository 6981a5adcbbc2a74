import type { ClusterConfig } from '../config/keys-and-flags.ts';
import { diagnose } from '../diagnosis/diagnosis.ts';
import { capitalize, formatDuration, formatList, quoteArgument, toTime } from '../format.ts';
import type { UrlState } from '../http/client.ts';
import type { Poller } from '../polling/poller.ts';
import { type Api, APIS } from '../vocabulary.ts';
import type { ClusterView, CollectorStatus, Problem } from './status.ts';

export function readCollector(cluster: string, poller: Poller): CollectorStatus {
  const { collector, outcome, isPolling } = poller;
  const { last, error, remedy } = outcome;
  return {
    name: collector.name,
    api: collector.api,
    state: outcome.state,
    isPolling,
    hasData: poller.snapshot !== undefined,
    isPartial: poller.result?.failure && true,
    lastSuccessAt: toTime(outcome.lastSuccessMs),
    nextPollAt: isPolling ? undefined : toTime(poller.nextPollMs),
    intervalSeconds: poller.intervalSeconds,
    configuredIntervalSeconds: poller.configuredIntervalSeconds,
    durationSeconds: last?.durationSeconds,
    items: last?.items,
    bytes: last?.bytes,
    series: poller.snapshot?.series ?? 0,
    limits: [...(last?.limits ?? [])],
    error: error && {
      reason: error.reason,
      message: error.message,
      advice: formatAdvice(remedy, cluster),
    },
  };
}

const NO_REMEDY = 'Check the log of the exporter.';

/** The remedy as sentences. */
function formatAdvice(remedy: string | undefined, cluster: string): string {
  if (remedy === undefined) return NO_REMEDY;
  const sentence = `${capitalize(remedy.replace(/;$/, ''))}.`;
  return `${sentence} \`crdb-exporter diagnose --cluster ${quoteArgument(cluster)}\` checks every step.`;
}

/**
 * Problems of the polls of a cluster: failures, one for each cause, slow polls, and limits. `previous` are the problems
 * after the last poll, `lastSeen` sentences about the cluster before its API was down.
 */
export function pollProblems(
  { collectors, apis }: Pick<ClusterView, 'collectors' | 'apis'>,
  previous: readonly Problem[],
  lastSeen = '',
): readonly Problem[] {
  const down = apis.flatMap(({ api, isUp }) => (isUp === false ? [api] : []));
  const failures = groupByCause(collectors, previous, down);
  const main = down.map((api) => failures.find(([first]) => first?.api === api));
  return [
    ...failures.flatMap((failing) => describeFailure(failing, main.includes(failing), lastSeen)),
    ...collectors.filter(({ error }) => error === undefined).flatMap(describeLimits),
  ];
}

/**
 * Groups failing collectors by reason and remedy. A poll that an open circuit breaker has blocked gets the cause that it had
 * before. Example: connections of nodes and sessions are refused, which is one cause. Then the poll of sessions is blocked,
 * and the cause still affects both. The silence of an API that is down is one cause, whichever of its deadlines ends first.
 */
function groupByCause(
  collectors: readonly CollectorStatus[],
  previous: readonly Problem[],
  down: readonly Api[],
): readonly (readonly CollectorStatus[])[] {
  const before = previous.filter(({ cause }) => cause !== undefined);
  const failing = collectors.filter(({ error }) => error !== undefined);
  const withCauses = failing.map((collector) => {
    if (collector.error?.reason !== 'breaker_open') return collector;
    const sameApi = collectors.filter(({ api }) => api === collector.api);
    const cause =
      before.find(({ affects }) => affects?.includes(collector.name))?.cause ??
      sameApi.find(({ error }) => error !== undefined && error.reason !== 'breaker_open')?.error ??
      before.find(({ affects }) => sameApi.some(({ name }) => affects?.includes(name)))?.cause;
    return { ...collector, error: cause ?? collector.error };
  });
  const isSilent = ({ api, error }: CollectorStatus): boolean =>
    error?.reason === 'timeout' && down.includes(api);
  const groups = Map.groupBy(withCauses, (collector) =>
    isSilent(collector) ? `${collector.api} is silent` : keyOf(collector),
  );
  return [...groups.values()];
}

/** Causes that differ in numbers alone are one: `no response within 5 s` and `… 30 s`. */
function keyOf({ api, error }: CollectorStatus): string {
  const { reason, message, advice } = error ?? {};
  const text = advice === NO_REMEDY ? message : advice;
  return `${api} ${reason} ${text?.replaceAll(/\d+/g, 'N')}`;
}

const SQL_FIRST = 'First run a SQL query: the database may still work. ';
/** On a secure cluster each request looks up its session in a system table. */
const NO_QUORUM =
  'If it hangs, too, system ranges may have no quorum: start the nodes that are down. ';

/** One problem for all collectors that fail of one cause; `isApiDown` for the first cause of an API that is down. */
function describeFailure(
  failing: readonly CollectorStatus[],
  isApiDown: boolean,
  lastSeen: string,
): readonly Problem[] {
  const [first] = failing;
  if (first?.error === undefined) return [];
  const { api, error: cause } = first;
  const { reason, message, advice } = cause;
  const affects = failing.map(({ name }) => name);
  const names = formatList(affects);
  const hasData = failing.every((collector) => collector.hasData);
  const isRejected = reason === 'auth' || reason === 'forbidden';
  const isClusterDown = isApiDown && api === 'cluster';
  const isPartial = failing.some((collector) => collector.isPartial);
  const dataAlert = hasData && !isPartial ? undefined : 'CrdbDataStale';
  const usualAlert = isClusterDown ? 'CrdbClusterApiDown' : dataAlert;
  const who = failing.length === 1 ? `Collector ${names} is` : `Collectors ${names} are`;
  const shown = isPartial ? 'only part of the data is shown' : 'older data is shown';
  const data = hasData ? shown : 'there is no current data';
  const cloudDown = `The Cloud API is failing: ${message}.`;
  const clusterDown = `The exporter cannot see the cluster: its API is failing: ${message}.${lastSeen}`;
  const problem: Problem = {
    key: keyOf(first),
    about: 'exporter',
    alert: isRejected ? 'CrdbAccessRejected' : usualAlert,
    text: isApiDown
      ? isClusterDown
        ? clusterDown
        : cloudDown
      : `${who} failing, ${data}: ${message}.`,
    next: isApiDown
      ? `${isClusterDown ? SQL_FIRST : ''}${isClusterDown && reason === 'timeout' ? NO_QUORUM : ''}${advice} Failing collectors: ${names}.`
      : advice,
    cause,
    affects,
  };
  return [problem];
}

/** The warnings of the last polls, for the log: what they mean for users has problems of its own. */
export function pollWarnings(pollers: readonly Poller[]): readonly Problem[] {
  return pollers.flatMap(({ collector: { name }, outcome: { warnings = [] } }) =>
    [...warnings].map((message) => ({
      key: `${name}: ${message}`,
      about: 'exporter' as const,
      text: `${capitalize(message)}.`,
      next: '',
      affects: [name],
    })),
  );
}

/** A cluster with the state of its URLs. */
export interface PolledUrls {
  readonly config: ClusterConfig;
  readonly pollers: readonly Poller[];
  readonly upstreams: (api: Api) => readonly UrlState[];
}

/** The URLs that fail while others work, so that no poll does. When none works, the list stays as it was. */
export function urlProblems(
  { config, pollers, upstreams }: PolledUrls,
  previous: readonly Problem[],
): readonly Problem[] {
  return APIS.flatMap((api) => {
    const collectors = pollers.map(({ collector }) => collector).filter((it) => it.api === api);
    const [first] = collectors;
    const urls = upstreams(api);
    const isOneUsed = urls.some(({ state }) => state === 'closed');
    return urls.flatMap(({ name, state, lastFailure }) => {
      const key = `URL ${name}`;
      if (!isOneUsed) return previous.find((problem) => problem.key === key) ?? [];
      if (first === undefined || state === 'closed') return [];
      const failure = diagnose(lastFailure, first, config);
      if (failure === undefined) return [];
      return {
        key,
        about: 'exporter' as const,
        level: 'warning' as const,
        text: `One of ${urls.length} URLs fails, the others are used: ${failure.cause}.`,
        next: formatAdvice(failure.remedy, config.name),
        affects: collectors.map((collector) => collector.name),
      };
    });
  });
}

/** CrdbExporterSaturated means that a poll takes most of its interval, or that max_duty has stretched it very far. */
const MAX_DUTY = 0.8;
const MAX_STRETCH = 3;

/** Problems of a collector whose polls succeed: those that failed say why themselves. */
function describeLimits({ name, limits, ...poll }: CollectorStatus): readonly Problem[] {
  const { intervalSeconds, configuredIntervalSeconds, durationSeconds = 0 } = poll;
  const isStretched = intervalSeconds > MAX_STRETCH * configuredIntervalSeconds;
  const isSlow = isStretched || durationSeconds > MAX_DUTY * intervalSeconds;
  const interval = formatDuration(intervalSeconds);
  const slow: Problem = {
    key: `slow ${name}`,
    about: 'exporter',
    alert: 'CrdbExporterSaturated',
    text: isStretched
      ? `${name} is polled every ${interval} instead of every ${formatDuration(configuredIntervalSeconds)}, because responses are slow.`
      : `A poll of ${name} takes ${formatDuration(durationSeconds)} of its interval of ${interval}.`,
    next: 'The data is older. Configure a longer interval or shard the exporter.',
  };
  const limited: Problem = {
    key: `limit ${name}`,
    about: 'exporter',
    alert: 'CrdbExporterLimitHit',
    text: `The last poll of ${name} reached its limit of ${formatList(limits)}: its data is incomplete.`,
    next: limits.includes('duration')
      ? 'First look for nodes that are slow or do not respond; a longer timeout only waits longer for them.'
      : 'Raise the limit in the configuration, or reduce what the collector reads.',
  };
  return [...(isSlow ? [slow] : []), ...(limits.length > 0 ? [limited] : [])];
}
