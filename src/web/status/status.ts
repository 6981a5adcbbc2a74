import { crc32 } from 'node:zlib';
import { type ClusterFacts, readFacts } from './facts.ts';
import { type Finding, findFindings, judge, type State } from './findings.ts';
import type { ClusterHistory, History } from './history.ts';
import type { ClusterSource } from './source.ts';

export interface ClusterStatus extends ClusterFacts {
  readonly state: State;
  /** Since when the state is that, as far as this exporter knows. */
  readonly since: string;
  /** The worst first. */
  readonly findings: readonly (Finding & { readonly since: string })[];
  readonly trends: readonly TrendStatus[];
}

interface TrendStatus {
  readonly name: string;
  readonly points: readonly { readonly at: string; readonly value: number | undefined }[];
}

/** The facts with what to think of them and how it came. */
function readCluster(
  cluster: ClusterSource,
  history: ClusterHistory,
  nowMs: number,
): ClusterStatus {
  const facts = readFacts(cluster, history.readSamples);
  const findings = findFindings(facts);
  const state = judge(facts, findings);
  const since = (key: string): string => new Date(history.since(key) ?? nowMs).toISOString();
  return {
    ...facts,
    state,
    since: since(state),
    findings: findings.map((finding) => ({
      ...finding,
      since: finding.since ?? since(finding.key),
    })),
    trends: Array.from(history.trends(), ([name, { points }]) => ({
      name,
      points: points.map(({ atMs, value }) => ({ at: new Date(atMs).toISOString(), value })),
    })),
  };
}

/** All that the exporter knows, as /api/status answers it. */
export interface Status {
  /** RFC 3339, as all times are. */
  readonly at: string;
  readonly version: string;
  readonly startedAt: string;
  /** Over all clusters: how many have polled well last, badly, or not yet. */
  readonly collectors: Readonly<Record<'good' | 'failing' | 'waiting', number>>;
  readonly clusters: readonly ClusterStatus[];
}

/** What a status is made of. */
export interface StatusSource {
  readonly version: string;
  readonly clusters: () => readonly ClusterSource[];
  readonly history: History;
  /** Wall clock, ms. */
  readonly startedMs: number;
  readonly wallMs: () => number;
}

export function readStatus(source: StatusSource): Status {
  const nowMs = source.wallMs();
  const clusters = source
    .clusters()
    .map((cluster) => readCluster(cluster, source.history.of(cluster.name), nowMs));
  const states = clusters.flatMap(({ collectors }) => collectors.map(({ state }) => state));
  const count = (state: string): number => states.filter((one) => one === state).length;
  return {
    at: new Date(nowMs).toISOString(),
    version: source.version,
    startedAt: new Date(source.startedMs).toISOString(),
    collectors: { good: count('good'), failing: count('failing'), waiting: count('waiting') },
    clusters,
  };
}

/** A text that is the same as long as no poll began or ended and no data grew too old. */
export function readVersion(source: StatusSource): string {
  const states = source
    .clusters()
    .map(({ name, pollers }) => [
      name,
      ...pollers.map((poller) => [
        poller.isPolling,
        poller.snapshot() !== undefined,
        poller.outcome.hasEnded,
        poller.outcome.last?.atMs,
        poller.outcome.error?.message,
      ]),
    ]);
  return crc32(JSON.stringify([source.version, source.startedMs, states])).toString(16);
}
