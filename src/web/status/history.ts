import { createSampleReader } from '../../metrics/samples.ts';
import { type ClusterFacts, readFacts } from './facts.ts';
import { findFindings, judge } from './findings.ts';
import type { ClusterSource } from './source.ts';
import { Trend } from './trend.ts';

interface Figure {
  /** The collector whose polls give it. */
  readonly collector: string;
  readonly read: (facts: ClusterFacts) => number | undefined;
}

/** What the page draws as a line. */
const FIGURES: Readonly<Record<string, Figure>> = {
  liveNodes: { collector: 'nodes', read: ({ nodes }) => nodes?.byStatus['live'] },
  cpuRatio: { collector: 'nodes', read: readHighestCpu },
  queriesPerSecond: { collector: 'ranges', read: ({ ranges }) => ranges?.queriesPerSecond },
  problemRanges: { collector: 'ranges', read: countProblems },
  openSessions: { collector: 'sessions', read: countSessions },
  oldestTransactionSeconds: {
    collector: 'sessions',
    read: ({ sessions }) => sessions?.oldestTransactionSeconds,
  },
};

/** How one cluster has fared since the start, in bounded memory. */
export class ClusterHistory {
  /** What was read of a poll stays read until the next one. */
  readonly readSamples = createSampleReader();
  readonly #trends = new Map<string, Trend>();
  /** Since when each finding and the present state have been there without a break, ms. */
  #since: ReadonlyMap<string, number> = new Map();

  trends(): ReadonlyMap<string, Trend> {
    return this.#trends;
  }

  since(key: string): number | undefined {
    return this.#since.get(key);
  }

  /** Takes in what a poll of this collector left behind. */
  record(cluster: ClusterSource, collector: string, nowMs: number): void {
    const facts = readFacts(cluster, this.readSamples);
    const findings = findFindings(facts);
    const keys = [judge(facts, findings), ...findings.map(({ key }) => key)];
    this.#since = new Map(keys.map((key) => [key, this.#since.get(key) ?? nowMs]));
    const isGood = facts.collectors.some(
      ({ name, state }) => name === collector && state === 'good',
    );
    for (const [name, figure] of Object.entries(FIGURES)) {
      if (figure.collector !== collector) continue;
      const trend = this.#trends.get(name) ?? new Trend();
      this.#trends.set(name, trend);
      trend.add({ atMs: nowMs, value: isGood ? figure.read(facts) : undefined });
    }
  }
}

/** The histories of all clusters that are watched. */
export class History {
  readonly #clusters = new Map<string, ClusterHistory>();

  /** Takes in what a poll of this collector left behind. */
  record(cluster: ClusterSource, collector: string, nowMs: number): void {
    this.of(cluster.name).record(cluster, collector, nowMs);
  }

  of(name: string): ClusterHistory {
    const history = this.#clusters.get(name) ?? new ClusterHistory();
    this.#clusters.set(name, history);
    return history;
  }

  /** Forgets clusters that are no longer configured. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.#clusters.keys()) if (!names.has(name)) this.#clusters.delete(name);
  }
}

function readHighestCpu({ nodes }: ClusterFacts): number | undefined {
  const ratios = nodes?.list.flatMap(({ cpuRatio }) => cpuRatio ?? []) ?? [];
  return ratios.length === 0 ? undefined : Math.max(...ratios);
}

/** A range with two problems counts twice: which ranges they are is not known of all. */
function countProblems({ ranges }: ClusterFacts): number | undefined {
  return ranges && Object.values(ranges.problems).reduce((sum, count) => sum + count, 0);
}

function countSessions({ sessions }: ClusterFacts): number | undefined {
  return sessions && sessions.active + sessions.idleInTransaction + sessions.idle;
}
