import { crc32 } from 'node:zlib';
import { nodes as nodesCollector, type NodesResult } from '../../collectors/nodes/collector.ts';
import { ranges as rangesCollector } from '../../collectors/ranges/collector.ts';
import type { FindingSettings } from '../../config/alert-settings.ts';
import { readWriteStalls } from '../../findings/load-problems.ts';
import { type FindingLinks, linkFinding } from '../../findings/problem.ts';
import { bySeverity, type Finding, type Problem, toFindings } from '../../findings/problem.ts';
import { countsOf, scanOf, ScanHistory } from '../../findings/scan-history.ts';
import { readSqlLoad, type SqlLoad } from '../../findings/sql-load.ts';
import { messageOf, quoteArgument } from '../../format.ts';
import { type ClusterReading, type ClusterSource, readCluster, readUnreadable } from './cluster.ts';

/** The source of the status page and of /api/status. */
export interface StatusSource {
  readonly version: string;
  readonly clusters: () => readonly ClusterSource[];
  readonly history: History;
  /** The running configuration as it may be shown; the same object until it changes. */
  readonly describedConfig: () => unknown;
  /** Limits and links of the running configuration. */
  readonly findingSettings: () => FindingSettings;
  /** The problems of the exporter itself, for every cluster. */
  readonly problems: () => readonly Problem[];
  /** Wall clock, ms. */
  readonly startedMs: number;
  readonly wallMs: () => number;
}

/** The response of /api/status, which docs/api-status.schema.json describes. All times are RFC 3339. */
export interface Status {
  readonly at: string;
  readonly version: string;
  readonly startedAt: string;
  /** Collectors of all clusters by the outcome of their last poll. */
  readonly collectors: { readonly ok: number; readonly failing: number; readonly waiting: number };
  readonly clusters: readonly ClusterStatus[];
}

/** A cluster as page and JSON show it. */
export interface ClusterStatus extends Omit<ClusterReading, 'findings'> {
  /** Address of its DB Console, if one is configured. */
  readonly consoleUrl?: string | undefined;
  /** True when the first polls found the state: it may be older. */
  readonly mayBeOlder: boolean;
  /** The worst first. */
  readonly findings: readonly FindingStatus[];
}

/** A finding with its links and complete commands. */
export interface FindingStatus extends Omit<Finding, 'rangeIds'>, FindingLinks {
  /** True when the first polls found it: it may be older. */
  readonly mayBeOlder: boolean;
}

export function readStatus(source: StatusSource): Status {
  const nowMs = source.wallMs();
  const clusters = source.clusters().map((cluster) => readClusterStatus(cluster, source, nowMs));
  const states = clusters.flatMap(({ collectors }) => collectors.map(({ state }) => state));
  const count = (state: string): number => states.filter((one) => one === state).length;
  return {
    at: new Date(nowMs).toISOString(),
    version: source.version,
    startedAt: new Date(source.startedMs).toISOString(),
    collectors: { ok: count('ok'), failing: count('failing'), waiting: count('waiting') },
    clusters,
  };
}

/** Commands of this program in a text. */
const COMMANDS = /`(crdb-exporter [^`]+)`/g;

/** The flag that a command for one of several configured clusters needs. */
export function clusterFlag(clusters: readonly unknown[], name: string): string {
  return clusters.length > 1 ? ` --cluster ${quoteArgument(name)}` : '';
}

function completeCommands(text: string, flag: string): string {
  return text.replaceAll(COMMANDS, (command, words: string) =>
    words.includes('--cluster') ? command : `\`${words}${flag}\``,
  );
}

function readClusterStatus(
  cluster: ClusterSource,
  { history: histories, startedMs, problems, clusters, findingSettings }: StatusSource,
  nowMs: number,
): ClusterStatus {
  const { name } = cluster;
  const consoleUrl = cluster.config.console_url;
  const flag = clusterFlag(clusters(), name);
  const { links } = findingSettings();
  const history = histories.of(name);
  const { findings, ...reading } = history.readSafely(cluster, nowMs);
  const ofExporter = toFindings(problems(), () => nowMs, nowMs);
  return {
    ...reading,
    consoleUrl,
    mayBeOlder: history.isFromFirstPolls(reading.since, startedMs),
    findings: [...ofExporter, ...findings].toSorted(bySeverity).map(({ rangeIds, ...finding }) => ({
      ...finding,
      ...linkFinding({ ...finding, rangeIds }, links, { name, consoleUrl }),
      mayBeOlder: history.isFromFirstPolls(finding.since, startedMs),
      next: completeCommands(finding.next, flag),
    })),
  };
}

/** A text that changes when a poll begins or ends, data expires, limits change or a reload fails. */
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
        poller.outcome.error?.message,
      ]),
    ]);
  const { version, startedMs } = source;
  return crc32(
    JSON.stringify([version, startedMs, source.findingSettings(), source.problems(), states]),
  ).toString(16);
}

/** Pages of single clusters are large, and there may be hundreds of clusters. */
const MAX_CACHE_ENTRIES = 20;

/**
 * Renders a response once per key and state of the clusters; all requests share it. A state lasts until a poll begins or
 * ends or a cluster or the configuration is replaced, at most a second because pages show ages.
 */
export function createRenderCache<T = Buffer>(source: StatusSource) {
  const rendered = new Map<string, T>();
  let shown: readonly unknown[] = [];

  return (key: string, render: () => T): T => {
    const second = Math.floor(source.wallMs() / 1000);
    const state = [second, readVersion(source), source.describedConfig(), ...source.clusters()];
    const isSame = state.length === shown.length && state.every((one, at) => one === shown[at]);
    if (!isSame) rendered.clear();
    shown = state;
    const response = rendered.get(key) ?? render();
    rendered.set(key, response);
    const [oldest = key] = rendered.keys();
    if (rendered.size > MAX_CACHE_ENTRIES) rendered.delete(oldest);
    return response;
  };
}

/** The age of the issues of a cluster, and what is compared between its polls, in bounded memory. */
export class ClusterHistory {
  readonly #scans = new ScanHistory();
  /** The last nodes with new records. */
  #nodes: NodesResult | undefined;
  #writeStalls: ReadonlyMap<number, number> = new Map();
  #sqlLoad: SqlLoad | undefined;
  /** Start of the current state and of each current issue, ms. */
  #since: ReadonlyMap<string, number> = new Map();
  /** When each collector was polled for the first time, ms. */
  readonly #firstPolls = new Map<string, number>();
  readonly #settings: () => FindingSettings;

  /** `settings` are those of the running configuration. */
  constructor(settings: () => FindingSettings) {
    this.#settings = settings;
  }

  /** Reads the cluster, whose state and issues began when this exporter first saw them: new ones now. */
  read(cluster: ClusterSource, nowMs: number): ClusterReading {
    return readCluster(cluster, this.#settings(), this.#sinceOr(nowMs), nowMs, {
      scanCheck: this.#scans.read(),
      writeStalls: this.#writeStalls,
      sqlLoad: this.#sqlLoad,
    });
  }

  /** Reads the cluster for the status: one whose results cannot be read takes no other cluster away. */
  readSafely(cluster: ClusterSource, nowMs: number): ClusterReading {
    try {
      return this.read(cluster, nowMs);
    } catch (error) {
      const reason = messageOf(error);
      return readUnreadable(cluster, reason, this.#settings(), this.#sinceOr(nowMs), nowMs);
    }
  }

  #sinceOr(nowMs: number): (key: string) => number {
    return (key) => this.#since.get(key) ?? nowMs;
  }

  /** Whether the first polls after the start found it already: it may be older. */
  isFromFirstPolls(since: string, startedMs: number): boolean {
    const sinceMs = Date.parse(since);
    return sinceMs >= startedMs && sinceMs <= Math.max(...this.#firstPolls.values());
  }

  /** Records the state after a poll of this collector. */
  record(cluster: ClusterSource, collector: string, nowMs: number): void {
    this.#recordScan(cluster, collector);
    const { state, findings } = this.read(cluster, nowMs);
    if (!this.#firstPolls.has(collector)) this.#firstPolls.set(collector, nowMs);
    const keys = [state, ...findings.map(({ key }) => key)];
    this.#since = new Map(keys.map((key) => [key, this.#since.get(key) ?? nowMs]));
  }

  /** Reads the rates when a poll found newer records: a poll between two records finds the same ones. */
  #recordNodes(listed: NodesResult): void {
    if (newestRecord(listed) <= newestRecord(this.#nodes)) return;
    this.#writeStalls = readWriteStalls(this.#nodes, listed);
    this.#sqlLoad = readSqlLoad(this.#nodes, listed);
    this.#nodes = listed;
  }

  /** Remembers what is compared with each other: a scan, or the counts of the nodes. */
  #recordScan(cluster: ClusterSource, collector: string): void {
    const poller = cluster.pollers.find((one) => one.collector.name === collector);
    const { state, last } = poller?.outcome ?? {};
    if (state !== 'ok' || last === undefined) return;
    const counted = collector === nodesCollector.name ? cluster.result(nodesCollector) : undefined;
    if (counted !== undefined) {
      this.#recordNodes(counted);
      this.#scans.addCounts(last.atMs, countsOf(counted));
    }
    const scanned =
      collector === rangesCollector.name ? cluster.result(rangesCollector) : undefined;
    const scan = scanned && scanOf(scanned);
    if (scan === undefined) return;
    this.#scans.addScan({
      scan,
      startMs: last.atMs - last.durationSeconds * 1000,
      endMs: last.atMs,
    });
  }
}

/** Unix time in seconds; 0 without nodes. */
function newestRecord(result: NodesResult | undefined): number {
  return (result?.nodes ?? []).reduce(
    (last, { updatedSeconds }) => Math.max(last, updatedSeconds),
    0,
  );
}

/** The histories of all clusters. */
export class History {
  readonly #clusters = new Map<string, ClusterHistory>();
  readonly #settings: () => FindingSettings;

  /** `settings` are those of the running configuration. */
  constructor(settings: () => FindingSettings) {
    this.#settings = settings;
  }

  of(cluster: string): ClusterHistory {
    const history = this.#clusters.get(cluster) ?? new ClusterHistory(this.#settings);
    this.#clusters.set(cluster, history);
    return history;
  }

  /** Drops clusters that are no longer configured. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.#clusters.keys()) if (!names.has(name)) this.#clusters.delete(name);
  }
}
