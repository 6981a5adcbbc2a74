import { capitalize, formatDuration, formatList, quoteArgument, toTime } from '../format.ts';
import type { Poller } from '../polling/poller.ts';
import type { ClusterView, CollectorStatus, Problem } from './status.ts';
import type { StartedProblem } from './watch-problems.ts';

export function readCollector(cluster: string, poller: Poller): CollectorStatus {
  const { collector, outcome, isPolling } = poller;
  const { last, error } = outcome;
  return {
    name: collector.name,
    api: collector.api,
    state: outcome.state,
    isPolling,
    hasData: poller.snapshot !== undefined,
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
  const sentence = `${capitalize(remedy.replace(/;$/, ''))}.`;
  return `${sentence} \`crdb-exporter diagnose --cluster ${quoteArgument(cluster)}\` checks every step.`;
}

const SQL_FIRST = 'First run a SQL query: the database may still work. ';

/** The part of a failed poll that its cluster knows. */
interface FailureContext {
  readonly cluster: string;
  readonly isApiDown: boolean;
  /** The nodes before the cluster API was down, as a sentence after a space; empty while nothing was ever seen. */
  readonly lastSeen: string;
}

/** Problems of watching a cluster: causes of failed polls in the words of the log, slow polls, and limits. */
export function pollProblems(
  { name, collectors, apis }: Pick<ClusterView, 'name' | 'collectors' | 'apis'>,
  watchProblems: readonly StartedProblem[],
  lastSeen: FailureContext['lastSeen'] = '',
): readonly Problem[] {
  const failures = watchProblems.filter(({ reason }) => reason !== undefined);
  const down = apis.filter(({ isUp }) => isUp === false).map(({ api }) => api);
  const main = down.map((api) => failures.find((failure) => failure.api === api));
  // Warnings of single polls have findings about what they read. Polls that fail at all URLs have one finding.
  const warnings = watchProblems.filter(
    ({ reason, affects, key }) =>
      reason === undefined &&
      affects.length === 0 &&
      !(down.includes('cluster') && key.startsWith('URL ')),
  );
  return [
    ...failures.flatMap((failure) => {
      const failing = collectors.filter((collector) => failure.affects.includes(collector.name));
      const isApiDown = main.includes(failure);
      return failing.length === 0
        ? []
        : [describeFailure(failure, failing, { cluster: name, isApiDown, lastSeen })];
    }),
    ...collectors.filter(({ error }) => error === undefined).flatMap(describeLimits),
    ...warnings.map(({ key, message, remedy, alert, sinceMs }) => ({
      key,
      about: 'exporter' as const,
      alert,
      level: 'warning' as const,
      text: `${capitalize(message)}.`,
      next: formatAdvice(remedy, name),
      since: toTime(sinceMs),
    })),
  ];
}

/** One problem for all collectors that fail of one cause; `isApiDown` for the first cause of an API that is down. */
function describeFailure(
  { message, remedy, reason, api, sinceMs }: StartedProblem,
  failing: readonly CollectorStatus[],
  { cluster, isApiDown, lastSeen }: FailureContext,
): Problem {
  const names = formatList(failing.map(({ name }) => name));
  const hasData = failing.every((collector) => collector.hasData);
  const isRejected = reason === 'auth' || reason === 'forbidden';
  const isClusterDown = isApiDown && api === 'cluster';
  const dataAlert = hasData ? undefined : 'CrdbDataStale';
  const usualAlert = isClusterDown ? 'CrdbClusterApiDown' : dataAlert;
  const advice = formatAdvice(remedy, cluster);
  const subject = failing.length === 1 ? `Collector ${names} is` : `Collectors ${names} are`;
  const data = hasData ? 'older data is shown' : 'there is no current data';
  const cloudDown = `The Cloud API is failing: ${message}.`;
  const clusterDown = `The exporter cannot see the cluster: its API is failing: ${message}.${lastSeen}`;
  return {
    key: isApiDown ? `api ${api}` : `collector ${failing[0]?.name}`,
    about: 'exporter',
    alert: isRejected ? 'CrdbAccessRejected' : usualAlert,
    text: isApiDown
      ? isClusterDown
        ? clusterDown
        : cloudDown
      : `${subject} failing, ${data}: ${message}.`,
    next: isApiDown
      ? `${isClusterDown ? SQL_FIRST : ''}${advice} Failing collectors: ${names}.`
      : advice,
    since: toTime(sinceMs),
  };
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
