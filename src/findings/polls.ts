import { formatDuration, formatList, quoteArgument } from '../format.ts';
import type { Outcome } from '../polling/outcome.ts';
import type { Poller } from '../polling/poller.ts';
import type { Api, FailureReason, Limit } from '../vocabulary.ts';
import { type Problem, toTime } from './problem.ts';
import type { WatchWarning } from './watch-problems.ts';

/** A collector of a cluster by its poller. */
export interface CollectorStatus {
  readonly name: string;
  readonly api: Api;
  readonly shard: string;
  readonly state: Outcome['state'];
  readonly isPolling: boolean;
  /** False when all data is too old to be shown. */
  readonly hasData: boolean;
  readonly lastPollAt: string | undefined;
  readonly lastSuccessAt: string | undefined;
  /** When the next poll begins; absent while one is running, and where only /probe polls. */
  readonly nextPollAt: string | undefined;
  /** Effective interval; longer than the configured one when polls take long. */
  readonly intervalSeconds: number;
  readonly configuredIntervalSeconds: number;
  readonly durationSeconds: number | undefined;
  readonly items: number | undefined;
  readonly bytes: number | undefined;
  readonly series: number;
  /** Limits that the last poll reached. */
  readonly limits: readonly Limit[];
  /** Why the last poll failed or was skipped, and what to do. */
  readonly error:
    | { readonly reason: FailureReason; readonly message: string; readonly advice: string }
    | undefined;
}

export function readCollector(cluster: string, poller: Poller): CollectorStatus {
  const { collector, outcome, isPolling } = poller;
  const { last, error } = outcome;
  return {
    name: collector.name,
    api: collector.api,
    shard: poller.shard,
    state: outcome.state,
    isPolling,
    hasData: poller.snapshot !== undefined,
    lastPollAt: toTime(last?.atMs),
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
      advice: formatAdvice(error.remedy, cluster),
    },
  };
}

/** The remedy as sentences. */
function formatAdvice(remedy: string | undefined, cluster: string): string {
  if (remedy === undefined) return 'Check the log of the exporter.';
  const sentence = `${remedy.charAt(0).toUpperCase()}${remedy.slice(1).replace(/;$/, '')}.`;
  return `${sentence} \`crdb-exporter diagnose --cluster ${quoteArgument(cluster)}\` checks every step.`;
}

const API_NAMES = {
  cluster: 'The exporter cannot see the cluster: its API',
  cloud: 'The Cloud API',
} as const;
const SQL_FIRST = 'First run a SQL query: the database may still work.';

/** Issues of the polls themselves: APIs that are down, collectors that fail, limits. */
export function pollProblems(
  collectors: readonly CollectorStatus[],
  down: ReadonlySet<Api>,
  lastSeen?: string,
): readonly Problem[] {
  const others = collectors.filter(({ api }) => !down.has(api));
  return [
    ...Array.from(down, (api) =>
      apiIssue(
        collectors.filter((one) => one.api === api),
        lastSeen,
      ),
    ).flat(),
    ...others.flatMap(failureIssue),
    ...collectors.flatMap(stretchProblem),
    ...collectors.flatMap(limitIssue),
  ];
}

/** One cause, however many collectors it stops. */
function apiIssue(
  collectors: readonly CollectorStatus[],
  lastSeen: string | undefined,
): readonly Problem[] {
  const failing = collectors.filter(({ error }) => error !== undefined);
  // An open circuit breaker is not the cause of the failures.
  const cause = failing.find(({ error }) => error?.reason !== 'breaker_open') ?? failing[0];
  if (cause?.error === undefined) return [];
  const { api, error } = cause;
  const isCluster = api === 'cluster';
  const seen = isCluster && lastSeen !== undefined ? ` ${lastSeen}` : '';
  const text = `${API_NAMES[api]} is failing: ${error.message}.${seen}`;
  const names = formatList(failing.map(({ name }) => name));
  const first = isCluster ? `${SQL_FIRST} ` : '';
  const next = `${first}${error.advice} Failing collectors: ${names}.`;
  const alert = api === 'cluster' && !isRejected(cause) ? 'CrdbClusterApiDown' : alertOf(cause);
  return [{ key: `api ${api}`, about: 'exporter', alert, text, next }];
}

function failureIssue(collector: CollectorStatus): readonly Problem[] {
  const { name, error, hasData } = collector;
  if (error === undefined) return [];
  const data = hasData ? 'older data is shown' : 'it has no current data';
  const text = `Collector ${name} is failing, ${data}: ${error.message}.`;
  const key = `collector ${name}`;
  return [{ key, about: 'exporter', alert: alertOf(collector), text, next: error.advice }];
}

function isRejected({ error }: CollectorStatus): boolean {
  return error?.reason === 'auth' || error?.reason === 'forbidden';
}

function alertOf(collector: CollectorStatus): Problem['alert'] {
  if (isRejected(collector)) return 'CrdbAccessRejected';
  return collector.hasData ? undefined : 'CrdbDataStale';
}

/** A problem that fails no poll, such as one of several URLs that is down. */
export function warningProblem(
  cluster: string,
  { key, message, remedy, sinceMs }: WatchWarning,
): Problem {
  const text = `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
  return {
    key,
    about: 'exporter',
    level: 'warning',
    text,
    next: formatAdvice(remedy, cluster),
    since: toTime(sinceMs),
  };
}

function limitIssue({ name, error, limits }: CollectorStatus): readonly Problem[] {
  // The error of a failed poll names its limit.
  if (error !== undefined || limits.length === 0) return [];
  const text = `The last poll of ${name} reached its limit of ${formatList(limits)}: its data is incomplete.`;
  const next = 'Raise the limit in the configuration, or reduce what the collector reads.';
  return [{ key: `limit ${name}`, about: 'exporter', alert: 'CrdbExporterLimitHit', text, next }];
}

/** CrdbExporterSaturated means that a poll takes most of its interval, or that max_duty has stretched it very far. */
const MAX_DUTY = 0.8;
const MAX_STRETCH = 3;

function stretchProblem(collector: CollectorStatus): readonly Problem[] {
  const { name, intervalSeconds, configuredIntervalSeconds, durationSeconds = 0 } = collector;
  const isStretched = intervalSeconds > MAX_STRETCH * configuredIntervalSeconds;
  if (!isStretched && durationSeconds <= MAX_DUTY * intervalSeconds) return [];
  const text = isStretched
    ? `${name} is polled every ${formatDuration(intervalSeconds)} instead of every ${formatDuration(configuredIntervalSeconds)}, because responses are slow.`
    : `A poll of ${name} takes ${formatDuration(durationSeconds)} of its interval of ${formatDuration(intervalSeconds)}.`;
  const next = 'The data is older. Configure a longer interval or shard the exporter.';
  const alert = 'CrdbExporterSaturated';
  return [{ key: `slow ${name}`, about: 'exporter', alert, text, next }];
}
