import { formatDuration, formatList, quoteArgument } from '../format.ts';
import type { Outcome } from '../polling/outcome.ts';
import type { Poller } from '../polling/poller.ts';
import type { Api, FailureReason, Limit } from '../vocabulary.ts';
import { type Problem, toTime } from './problem.ts';
import type { StartedProblem } from './watch-problems.ts';

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

/** A cluster by its polls. */
interface PolledCluster {
  readonly name: string;
  readonly collectors: readonly CollectorStatus[];
  /** The APIs that are down. */
  readonly down: ReadonlySet<Api>;
  /** The problems of watching it, as the log has them. */
  readonly watchProblems: readonly StartedProblem[];
  /** The nodes while the cluster API is down, as a sentence. */
  readonly lastSeen?: string | undefined;
}

/** Problems of watching a cluster: causes of failed polls in the words of the log, slow polls, and limits. */
export function pollProblems(cluster: PolledCluster): readonly Problem[] {
  const { collectors, watchProblems, down } = cluster;
  const failures = watchProblems.filter(({ reason }) => reason !== undefined);
  const main = Array.from(down, (downApi) => failures.find(({ api }) => api === downApi));
  // Warnings of single polls have findings about what they read.
  const warnings = watchProblems.filter(({ reason, affects }) => {
    return reason === undefined && affects.length === 0;
  });
  // Polls that fail at all URLs have one finding.
  const shown = warnings.filter(({ key }) => !down.has('cluster') || !key.startsWith('URL '));
  return [
    ...failures.flatMap((failure) => failureProblem(failure, main.includes(failure), cluster)),
    ...collectors.flatMap(stretchProblem),
    ...collectors.flatMap(limitProblem),
    ...shown.map((warning) => warningProblem(cluster.name, warning)),
  ];
}

/** One problem for all collectors that fail of one cause; `isApiDown` for the first cause of an API that is down. */
function failureProblem(
  { message, remedy, reason, affects, sinceMs }: StartedProblem,
  isApiDown: boolean,
  { name: cluster, collectors, lastSeen }: PolledCluster,
): readonly Problem[] {
  const failing = collectors.filter(({ name }) => affects.includes(name));
  const [first] = failing;
  // A reload has removed them.
  if (first === undefined) return [];
  const names = formatList(failing.map(({ name }) => name));
  const hasData = failing.every((one) => one.hasData);
  const isRejected = reason === 'auth' || reason === 'forbidden';
  const staleAlert = hasData ? undefined : ('CrdbDataStale' as const);
  const alert = isRejected ? 'CrdbAccessRejected' : staleAlert;
  const advice = formatAdvice(remedy, cluster);
  const since = toTime(sinceMs);
  if (!isApiDown) {
    const subject = failing.length === 1 ? `Collector ${names} is` : `Collectors ${names} are`;
    const data = hasData ? 'older data is shown' : 'there is no current data';
    const text = `${subject} failing, ${data}: ${message}.`;
    return [
      { key: `collector ${first.name}`, about: 'exporter', alert, text, next: advice, since },
    ];
  }
  const { api } = first;
  const isCluster = api === 'cluster';
  const seen = isCluster && lastSeen !== undefined ? ` ${lastSeen}` : '';
  return [
    {
      key: `api ${api}`,
      about: 'exporter',
      alert: isCluster && !isRejected ? 'CrdbClusterApiDown' : alert,
      text: `${API_NAMES[api]} is failing: ${message}.${seen}`,
      next: `${isCluster ? `${SQL_FIRST} ` : ''}${advice} Failing collectors: ${names}.`,
      since,
    },
  ];
}

/** A problem that fails no poll, such as one of several URLs that is down. */
function warningProblem(
  cluster: string,
  { key, message, remedy, alert, sinceMs }: StartedProblem,
): Problem {
  const text = `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
  const next = formatAdvice(remedy, cluster);
  return { key, about: 'exporter', alert, level: 'warning', text, next, since: toTime(sinceMs) };
}

function limitProblem({ name, error, limits }: CollectorStatus): readonly Problem[] {
  // The error of a failed poll names its limit.
  if (error !== undefined || limits.length === 0) return [];
  const text = `The last poll of ${name} reached its limit of ${formatList(limits)}: its data is incomplete.`;
  const next = limits.includes('duration')
    ? 'First look for nodes that are slow or do not respond; a longer timeout only waits longer for them.'
    : 'Raise the limit in the configuration, or reduce what the collector reads.';
  return [{ key: `limit ${name}`, about: 'exporter', alert: 'CrdbExporterLimitHit', text, next }];
}

/** CrdbExporterSaturated means that a poll takes most of its interval, or that max_duty has stretched it very far. */
const MAX_DUTY = 0.8;
const MAX_STRETCH = 3;

function stretchProblem(collector: CollectorStatus): readonly Problem[] {
  const { name, error, intervalSeconds, configuredIntervalSeconds } = collector;
  const { durationSeconds = 0 } = collector;
  // Failed polls say why themselves, and their duration is that of a failure.
  if (error !== undefined) return [];
  const isStretched = intervalSeconds > MAX_STRETCH * configuredIntervalSeconds;
  if (!isStretched && durationSeconds <= MAX_DUTY * intervalSeconds) return [];
  const text = isStretched
    ? `${name} is polled every ${formatDuration(intervalSeconds)} instead of every ${formatDuration(configuredIntervalSeconds)}, because responses are slow.`
    : `A poll of ${name} takes ${formatDuration(durationSeconds)} of its interval of ${formatDuration(intervalSeconds)}.`;
  const next = 'The data is older. Configure a longer interval or shard the exporter.';
  const alert = 'CrdbExporterSaturated';
  return [{ key: `slow ${name}`, about: 'exporter', alert, text, next }];
}
