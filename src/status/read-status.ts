import { crc32 } from 'node:zlib';
import type { PollFailure } from '#collectors';
import { type Daemon, formatAdvice, type Observation } from '#exporter';
import { completeCommands } from './commands.ts';
import type { ClusterHistory } from './findings/history.ts';
import { bySeverity, linkFinding } from './findings/problem.ts';
import type { ClusterStatus, CommandForm, Finding, ShownError, Status } from './findings/status.ts';

/** The source of the status page and of /api/status. */
export interface StatusSource extends Omit<Daemon, 'problems'> {
  readonly historyOf: (cluster: Observation) => ClusterHistory;
  readonly commandForm: CommandForm;
  /** The problems of the exporter itself, for every cluster. */
  readonly problems: () => readonly Finding[];
}

/** `runbooks` is where the exporter serves the runbooks, as the reader of the status can find them. */
export function readStatus(source: StatusSource, runbooks: string): Status {
  const nowMs = source.wallMs();
  const clusters = source
    .clusters()
    .map((cluster) => readClusterStatus(cluster, source, nowMs, runbooks));
  const states = clusters.flatMap(({ collectors }) => collectors.map(({ state }) => state));
  const count = (state: string): number => states.filter((found) => found === state).length;
  return {
    at: new Date(nowMs).toISOString(),
    version: source.version,
    startedAt: new Date(source.startedMs).toISOString(),
    collectors: { ok: count('ok'), failing: count('failing'), waiting: count('waiting') },
    commands: source.commandForm,
    clusters,
  };
}

function readClusterStatus(
  cluster: Observation,
  { historyOf, startedMs, problems, clusters, config, commandForm }: StatusSource,
  nowMs: number,
  runbooks: string,
): ClusterStatus {
  const { name } = cluster;
  const consoleUrl = cluster.config.console_url;
  const complete = (text: string) => completeCommands(text, commandForm, clusters().length, name);
  const { links } = config();
  const history = historyOf(cluster);
  const { findings, collectors, queries, ...reading } = history.read(cluster, nowMs);
  return {
    ...reading,
    queries: queries?.map(({ failure, hasRows: _hasRows, ...query }) => ({
      ...query,
      error: writeError(failure, name, complete),
    })),
    collectors: collectors.map(({ failure, isOld: _isOld, ...collector }) => ({
      ...collector,
      error: writeError(failure, name, complete),
    })),
    consoleUrl,
    mayBeOlder: history.isFromFirstPolls(reading.since, startedMs),
    findings: [...problems(), ...findings]
      .toSorted(bySeverity)
      .map(({ rangeIds, affects: _affects, ...finding }) => ({
        ...finding,
        ...linkFinding({ ...finding, rangeIds }, links, { name, consoleUrl }, runbooks),
        mayBeOlder: history.isFromFirstPolls(finding.since, startedMs),
        next: complete(finding.next),
      })),
  };
}

function writeError(
  failure: PollFailure | undefined,
  cluster: string,
  complete: (text: string) => string,
): ShownError | undefined {
  if (failure === undefined) return undefined;
  const { error, remedy } = failure;
  const { reason, message } = error;
  return { reason, message, advice: complete(formatAdvice(remedy, cluster)) };
}

/** A text that changes when a poll begins or ends, data expires, the configuration changes or a reload fails. */
export function readVersion(source: StatusSource): string {
  const states = source
    .clusters()
    .map(({ name, pollers }) => [
      name,
      ...pollers.map((poller) => [
        poller.isPolling,
        poller.snapshot !== undefined,
        poller.outcome.state,
        poller.outcome.last?.atMs,
        poller.outcome.failure?.error.message,
      ]),
    ]);
  const { version, startedMs } = source;
  return crc32(
    JSON.stringify([version, startedMs, source.reloads(), source.problems(), states]),
  ).toString(16);
}

/** Pages of single clusters are large, and there may be hundreds of clusters. */
const MAX_CACHE_ENTRIES = 20;

/**
 * Renders a response once per key and state of the clusters; all requests share it. A state lasts until a poll begins or
 * ends, at most a second because pages show ages.
 */
export function createRenderCache(source: StatusSource) {
  const rendered = new Map<string, Buffer>();
  let shown = '';
  return (key: string, render: () => Buffer): Buffer => {
    const state = `${Math.floor(source.wallMs() / 1000)} ${readVersion(source)}`;
    if (state !== shown || rendered.size >= MAX_CACHE_ENTRIES) rendered.clear();
    shown = state;
    const response = rendered.get(key) ?? render();
    rendered.set(key, response);
    return response;
  };
}
