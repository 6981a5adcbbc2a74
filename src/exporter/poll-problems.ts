import {
  type Api,
  APIS,
  capitalize,
  formatCount,
  formatDuration,
  formatList,
  formatTime,
  plural,
  quoteArgument,
  toTime,
} from '#base';
import { codeOf, diagnose, type RequestError, warningText } from '#cockroach';
import { type Poller, type PollFailure, ranges, sql } from '#collectors';
import type { CollectorState, Observation, WatchProblem } from './observation.ts';

/** A problem without its start. */
export type FoundProblem = Omit<WatchProblem, 'since'>;

/** An API that is polled; undefined before its first poll. */
export interface ApiState {
  readonly api: Api;
  readonly isUp: boolean | undefined;
}

/** What the problems of polls follow from. */
interface Polls {
  readonly name: string;
  readonly collectors: readonly CollectorState[];
  readonly apis: readonly ApiState[];
}

/** Which APIs are polled, and whether they are up. */
export function readApis(cluster: Observation): readonly ApiState[] {
  const apis = new Set(cluster.pollers.map(({ collector }) => collector.api));
  return Array.from(apis, (api) => ({ api, isUp: cluster.isUp(api) }));
}

/** The state of a collector by its poller. */
export function readCollector(poller: Poller): CollectorState {
  const { collector, outcome, isPolling } = poller;
  const { last, failure } = outcome;
  return {
    name: collector.name,
    api: collector.api,
    state: outcome.state,
    isPolling,
    hasData: poller.snapshot !== undefined,
    // A scan of ranges has read too few nodes. The collector sql keeps the rows of earlier polls where queries fail.
    isPartial:
      collector.scope === 'node' && poller.result?.failure !== undefined ? true : undefined,
    isOld: outcome.state === 'failing' && poller.result?.failure !== failure?.error,
    lastSuccessAt: toTime(outcome.lastSuccessMs),
    nextPollAt: isPolling ? undefined : toTime(poller.nextPollMs),
    intervalSeconds: poller.intervalSeconds,
    configuredIntervalSeconds: poller.configuredIntervalSeconds,
    durationSeconds: last?.durationSeconds,
    items: last?.items,
    bytes: last?.bytes,
    series: poller.snapshot?.series ?? 0,
    limits: [...(last?.limits ?? [])],
    failure,
  };
}

/** The remedy as sentences. */
export function formatAdvice(remedy: string | undefined, cluster: string): string {
  if (remedy === undefined) return 'Check the log of the exporter.';
  const sentence = `${capitalize(remedy.replace(/;$/, ''))}.`;
  return `${sentence} \`crdb-exporter diagnose --cluster ${quoteArgument(cluster)}\` checks every step.`;
}

/**
 * Problems of the polls of a cluster: failures, one for each cause, slow polls, and limits. `previous` are the problems
 * after the last poll.
 */
export function pollProblems(
  { name, collectors, apis }: Polls,
  previous: readonly FoundProblem[],
): readonly FoundProblem[] {
  const down = apis.flatMap(({ api, isUp }) => (isUp === false ? [api] : []));
  const failures = groupByCause(collectors, previous, down);
  const main = down.map((api) => failures.find(([first]) => first.api === api));
  return [
    ...failures.map((failing) => describeFailure(failing, name, main.includes(failing))),
    ...collectors.filter(({ failure }) => failure === undefined).flatMap(describeLimits),
  ];
}

/**
 * Groups failing collectors by their cause: API, reason and rule. Some failures differ and have one cause:
 *
 * - A poll that an open circuit breaker has blocked has the cause that it had before. Example: connections of nodes and sessions are
 *   refused. Then the poll of sessions is blocked, and the cause still affects both.
 * - Timeouts of an API that is down are one silence, whichever deadline ends first.
 * - A fault is the same at whichever URL a poll meets it.
 * - A refused session has the cause of the login that is refused then.
 */
function groupByCause(
  collectors: readonly CollectorState[],
  previous: readonly FoundProblem[],
  down: readonly Api[],
): readonly CauseGroup[] {
  const before = previous.flatMap(({ key, cause, failures = [], affects = [] }) =>
    cause === undefined ? [] : [{ key, failure: cause, failures, affects }],
  );
  const earlierOf = ({ name }: { readonly name: string }) =>
    before.find(({ affects }) => affects.includes(name));
  const nameCause = (collector: FailingCollector): FailingCollector => {
    const { api, failure } = collector;
    const login = failing.find((each) => each.api === api && isRefusedLogin(each.failure));
    if (login !== undefined && failure.error.reason === 'auth') {
      return { ...collector, failure: login.failure, key: login.key };
    }
    const earlier = earlierOf(collector);
    const silence = `${api} is silent`;
    // A response ends the silence for the collector that got it. For each other collector it lasts until its next poll.
    const isPartOfSilence = earlier?.key === silence && earlier.failures.includes(failure);
    const isSilent = down.includes(api) || isPartOfSilence;
    if (failure.error.reason === 'timeout' && isSilent) return { ...collector, key: silence };
    const isSame = earlier !== undefined && isAtOtherUrl(earlier.failure, failure);
    return isSame ? { ...collector, key: earlier.key } : collector;
  };
  const failing = collectors.flatMap(({ failure, ...collector }) =>
    failure === undefined ? [] : [{ ...collector, failure, key: keyOf(collector.api, failure) }],
  );
  const tried = failing.filter((collector) => !isBlocked(collector)).map(nameCause);
  const explained = failing.map((collector) => {
    if (!isBlocked(collector)) return nameCause(collector);
    const isSameApi = ({ api }: Pick<CollectorState, 'api'>): boolean => api === collector.api;
    const known =
      earlierOf(collector) ??
      tried.find(isSameApi) ??
      collectors.filter(isSameApi).map(earlierOf).find(Boolean);
    if (known === undefined) return collector;
    return nameCause({ ...collector, failure: known.failure, key: known.key });
  });
  const groups = [...Map.groupBy(explained, ({ key }) => key).values()];
  return groups.flatMap(([first, ...others]) => (first ? [[first, ...others]] : []));
}

interface FailingCollector extends CollectorState {
  readonly failure: PollFailure;
  /** What all failures of the same cause share, whatever their texts. */
  readonly key: string;
}

/** Whether an open circuit breaker kept the poll from being tried. */
function isBlocked({ failure }: FailingCollector): boolean {
  return failure.error.reason === 'breaker_open';
}

/** The collectors that fail of one cause. */
type CauseGroup = readonly [FailingCollector, ...FailingCollector[]];

/** Whether a login was refused. */
function isRefusedLogin(failure: PollFailure): boolean {
  const { reason, endpoint } = failure.error.request;
  return reason === 'auth' && endpoint === 'login';
}

/** Whether both are the same fault, met at two URLs. Example: A refuses the connection in one poll, and B is silent in the next. */
function isAtOtherUrl(before: PollFailure, now: PollFailure): boolean {
  const [first, second] = [before.error.request, now.error.request];
  if (first.url === undefined || second.url === undefined) return false;
  return first.url !== second.url && first.fault === second.fault;
}

/** `cluster network nothing listens`; without a rule by what is known of the error. */
function keyOf(api: Api, { error, rule }: PollFailure): string {
  const { reason, endpoint, cause } = error;
  if (rule !== undefined) return `${api} ${reason} ${rule}`;
  const kind = codeOf(error) || (cause instanceof Error ? cause.name : error.name);
  return [api, reason, endpoint, kind].filter((part) => part !== undefined).join(' ');
}

const SQL_FIRST = 'First run a SQL query: the database may still work. ';
/** On a secure cluster each request looks up its session in a system table. */
const NO_QUORUM =
  'If it hangs, too, system ranges may have no quorum: start the nodes that are down. ';

/** One problem for all collectors that fail of one cause; `isApiDown` for the first cause of an API that is down. */
function describeFailure(failing: CauseGroup, cluster: string, isApiDown: boolean): FoundProblem {
  const [{ key, api, failure: cause }] = failing;
  const { reason } = cause.error;
  const affects = failing.map(({ name }) => name);
  const describe = !isApiDown
    ? describePolls
    : api === 'cluster'
      ? describeClusterDown
      : describeCloudDown;
  // The alert does not count the collector sql, whose queries are refused one by one.
  const isCounted = affects.some((name) => name !== sql.name);
  const isRejected = isCounted && (reason === 'auth' || reason === 'forbidden');
  return {
    key,
    about: 'exporter',
    ...describe(failing, cluster),
    ...(isRejected && { alert: 'CrdbAccessRejected' as const }),
    cause,
    failures: failing.map(({ failure }) => failure),
    affects,
    downApi: isApiDown ? api : undefined,
  };
}

type Description = Pick<FoundProblem, 'alert' | 'text' | 'next'>;

function describeClusterDown(failing: CauseGroup, cluster: string): Description {
  const [{ failure }] = failing;
  const { reason, message } = failure.error;
  const advice = adviseDown(failing, cluster);
  // The advice for a login that hangs already names system ranges without a quorum.
  const quorum = reason === 'timeout' && !advice.includes('no quorum') ? NO_QUORUM : '';
  return {
    alert: 'CrdbClusterApiDown',
    text: `The exporter cannot see the cluster: its API is failing: ${message}.`,
    next: `${SQL_FIRST}${quorum}${advice}`,
  };
}

function describeCloudDown(failing: CauseGroup, cluster: string): Description {
  const [{ failure }] = failing;
  return {
    alert: alertOfData(failing),
    text: `The Cloud API is failing: ${failure.error.message}.`,
    next: adviseDown(failing, cluster),
  };
}

/** Some collectors of an API that is up. */
function describePolls(failing: CauseGroup, cluster: string): Description {
  const [{ failure }] = failing;
  const names = formatNames(failing);
  const who = plural(failing.length, `Collector ${names} is`, `Collectors ${names} are`);
  return {
    alert: alertOfData(failing),
    text: `${who} failing, ${describeData(failing)}: ${failure.error.message}.`,
    next: advise(failure, cluster),
  };
}

/** The alert of data that is missing or partial. */
function alertOfData(failing: CauseGroup): Description['alert'] {
  const isShown = failing.every(({ hasData, isPartial }) => hasData && !isPartial);
  return isShown ? undefined : 'CrdbDataStale';
}

/** What is shown of failing collectors, as a clause. */
function describeData(failing: CauseGroup): string {
  const shown = failing.filter(({ hasData }) => hasData);
  if (shown.length === 0) return 'there is no current data';
  if (shown.length < failing.length) return `there is no current data but of ${formatNames(shown)}`;
  const partial = failing.filter(({ isPartial }) => isPartial);
  return partial.length > 0
    ? `no counts of ${formatNames(partial)} are shown`
    : 'older data is shown';
}

function formatNames(collectors: readonly CollectorState[]): string {
  return formatList(collectors.map(({ name }) => name));
}

/** The next step for an API that is down. While nothing responds, a longer poll only waits longer. */
function adviseDown(failing: CauseGroup, cluster: string): string {
  const [{ failure }] = failing;
  const { error } = failure;
  const advice =
    error.late === 'poll'
      ? advise({ error, remedy: 'check the nodes for overload' }, cluster)
      : advise(failure, cluster);
  return `${advice} Failing collectors: ${formatNames(failing)}.`;
}

function advise({ error, remedy }: PollFailure, cluster: string): string {
  return `${formatAdvice(remedy, cluster)}${describeNextLogin(error.request)}`;
}

/** When a refused login is tried again; empty where none was refused. */
function describeNextLogin({ nextLoginMs }: RequestError): string {
  const at = toTime(nextLoginMs);
  if (at === undefined) return '';
  return ` The next login is at ${formatTime(at)}, later ones after up to 30 minutes; at once when the password file changes or after a reload (SIGHUP, POST /-/reload).`;
}

/** The warnings of the last polls, for the log: what they mean for users has problems of its own. */
export function pollWarnings(pollers: readonly Poller[]): readonly FoundProblem[] {
  return pollers.flatMap(({ collector: { name }, outcome: { warnings = [] } }) =>
    Array.from(warnings, ([key, warning]) => ({
      key: `${name}: ${key}`,
      about: 'exporter' as const,
      text: `${capitalize(warningText(warning))}.`,
      next: '',
      affects: [name],
    })),
  );
}

/**
 * The URLs that fail while others work, so that no poll does; and the keys of unknown URLs: no request has tried
 * them since the start or a reload, or no URL of their API works, which is the problem of the polls.
 */
export function findUrlProblems(cluster: Observation): {
  readonly found: readonly FoundProblem[];
  readonly unknown: ReadonlySet<string>;
} {
  const found: FoundProblem[] = [];
  const unknown = new Set<string>();
  for (const api of APIS) {
    const collectors = cluster.pollers
      .map(({ collector }) => collector)
      .filter((collector) => collector.api === api);
    const [first] = collectors;
    const urls = cluster.upstreams(api);
    const used = urls.filter(({ state }) => state === 'closed').length;
    const others =
      used === urls.length - 1
        ? 'the others are used'
        : `only ${formatCount(used)} of them ${plural(used, 'is', 'are')} used`;
    const works = used > 0 && cluster.isUp(api) !== false;
    for (const { name, state, lastFailure, isTried } of urls) {
      const key = `URL ${name}`;
      if (!works || !isTried) unknown.add(key);
      else if (state !== 'closed' && lastFailure !== undefined && first !== undefined) {
        const { cause, remedy } = diagnose(lastFailure, first, cluster.config);
        found.push({
          key,
          about: 'exporter',
          level: 'warning',
          text: `One of ${urls.length} URLs fails, ${others}: ${cause}.`,
          next: formatAdvice(remedy, cluster.name),
          affects: collectors.map((collector) => collector.name),
        });
      }
    }
  }
  return { found, unknown };
}

/** A collector is slow when a poll takes most of its interval, or when max_duty has stretched it very far. */
const MAX_POLL_SHARE = 0.8;
const MAX_STRETCH = 3;

/** Problems of a collector whose polls succeed: those that failed say why themselves. */
function describeLimits({ name, limits, ...poll }: CollectorState): readonly FoundProblem[] {
  const { intervalSeconds, configuredIntervalSeconds, durationSeconds = 0 } = poll;
  const isStretched = intervalSeconds > MAX_STRETCH * configuredIntervalSeconds;
  const isSlow = isStretched || durationSeconds > MAX_POLL_SHARE * intervalSeconds;
  const interval = formatDuration(intervalSeconds);
  const slow: FoundProblem = {
    key: `slow ${name}`,
    about: 'exporter',
    text: isStretched
      ? `${name} is polled every ${interval} instead of every ${formatDuration(configuredIntervalSeconds)}, because responses are slow.`
      : `A poll of ${name} takes ${formatDuration(durationSeconds)} of its interval of ${interval}.`,
    next: `The data is older. Configure a longer interval, ${name === ranges.name ? 'or divide the nodes among shards' : 'and check the nodes for overload'}.`,
  };
  const limited: FoundProblem = {
    key: `limit ${name}`,
    about: 'exporter',
    alert: 'CrdbExporterLimitHit',
    text: `The last poll of ${name} reached its limit of ${formatList(limits)}: its data is incomplete.`,
    next: adviseLimits(name, limits),
  };
  return [...(isSlow ? [slow] : []), ...(limits.length > 0 ? [limited] : [])];
}

/** The first limit that explains the most; those on pages, bytes and items of successful polls are no settings. */
function adviseLimits(name: string, limits: CollectorState['limits']): string {
  if (limits.includes('duration')) {
    return 'First look for nodes that are slow or do not respond; a longer timeout only waits longer for them.';
  }
  if (limits.includes('series')) {
    return `Raise collectors.${name}.max_series, or reduce what the collector reads.`;
  }
  return name === sql.name
    ? 'Select fewer rows, or fewer and shorter columns.'
    : 'The limit is fixed, and above what clusters have: the runbook says what reaches it.';
}
