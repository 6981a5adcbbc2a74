import type { NodesResult } from '../collectors/nodes/collector.ts';
import type { RangesResult } from '../collectors/ranges/collector.ts';
import type { RangeProblem } from '../vocabulary.ts';
import {
  compareScan,
  type OwnCounts,
  type ScanCheck,
  type ScanComparison,
  type ScanCounts,
  storeKey,
} from './scan-check.ts';

/** Counts from this long before a scan, and until this long after it, are compared with it. */
const AROUND_MS = 60_000;
/** Nodes write their records every ten seconds: counts that were read this long after a scan are not from before its end. */
const AFTER_MS = 10_000;
/** Scans of this time are remembered, or the last three. */
const REMEMBERED_MS = 900_000;
const MIN_REMEMBERED = 3;
/** Lists of counts kept for the next scan: those of ten minutes, since two are at least ten seconds apart. */
const MAX_COUNTS = 60;

interface TimedCounts {
  readonly atMs: number;
  readonly counts: OwnCounts;
}

interface TimedScan {
  readonly startMs: number;
  readonly endMs: number;
  readonly scan: ScanCounts;
}

/** Compares the scans of a cluster with the counts around them, in bounded memory. */
export class ScanHistory {
  #counts: readonly TimedCounts[] = [];
  #last: TimedScan | undefined;
  /** The comparison of the last scan. */
  #comparison: ScanComparison | undefined;
  /** The scan that waits for the counts after its end; scans that end before are not judged. */
  #pending: TimedScan | undefined;
  #verdicts: readonly { readonly endMs: number; readonly disagrees: boolean }[] = [];

  addScan(scan: TimedScan): void {
    this.#last = scan;
    this.#comparison = this.#compare(scan);
    this.#pending ??= scan;
  }

  addCounts(atMs: number, counts: OwnCounts): void {
    // A scan that is pending began before the last one, or is it.
    const oldestMs = (this.#pending ?? this.#last)?.startMs ?? 0;
    const wanted = this.#counts.filter((one) => one.atMs >= oldestMs - AROUND_MS);
    // A record that was read again within ten seconds is mostly the same.
    const before = wanted.at(-2);
    if (before !== undefined && atMs - before.atMs < AFTER_MS) wanted.pop();
    this.#counts = [...wanted, { atMs, counts }].slice(-MAX_COUNTS);
    if (this.#last !== undefined && atMs <= this.#last.endMs + AROUND_MS) {
      this.#comparison = this.#compare(this.#last);
    }
    if (this.#pending !== undefined && atMs >= this.#pending.endMs + AFTER_MS) {
      this.#judge(this.#pending, atMs);
    }
  }

  /** The last comparison; undefined while nothing can be compared. */
  read(): ScanCheck | undefined {
    if (this.#comparison === undefined) return undefined;
    const disagreeingScans = this.#verdicts.filter(({ disagrees }) => disagrees).length;
    return { ...this.#comparison, disagreeingScans };
  }

  #judge(scan: TimedScan, nowMs: number): void {
    this.#pending = undefined;
    const comparison = this.#compare(scan);
    if (comparison === undefined) return;
    const verdicts = [...this.#verdicts, { ...scan, disagrees: comparison.disagrees }];
    this.#verdicts = verdicts
      .filter(
        ({ endMs }, at) => endMs > nowMs - REMEMBERED_MS || at >= verdicts.length - MIN_REMEMBERED,
      )
      .map(({ endMs, disagrees }) => ({ endMs, disagrees }));
  }

  #compare({ startMs, scan }: TimedScan): ScanComparison | undefined {
    const around = this.#counts.filter(({ atMs }) => atMs >= startMs - AROUND_MS);
    return compareScan(
      scan,
      around.map(({ counts }) => counts),
    );
  }
}

/** The counts of the nodes whose records are fresh. */
export function countsOf({ nodes }: NodesResult): OwnCounts {
  const stores = nodes
    .filter(({ isFresh }) => isFresh)
    .flatMap(({ id: nodeId, stores: ofNode }) =>
      Array.from(ofNode, ([id, values]) => ({
        nodeId,
        storeId: Number(id),
        replicas: values.get('replicas'),
        leaseholders: values.get('replicas.leaseholders'),
        unavailable: values.get('ranges.unavailable'),
        underreplicated: values.get('ranges.underreplicated'),
      })),
    );
  return new Map(stores.map((store) => [storeKey(store.nodeId, store.storeId), store]));
}

/** The counts of a scan; undefined when it failed. */
export function scanOf({ scanned, failed, summary }: RangesResult): ScanCounts | undefined {
  if (summary === undefined) return undefined;
  const distinct = (problem: RangeProblem): number => summary.problems.get(problem)?.ranges ?? 0;
  return {
    nodes: new Set(scanned.map(({ nodeId }) => nodeId)),
    stores: scanned.flatMap(({ nodeId, stores }) =>
      Array.from(stores, ([storeId, { replicas, leases }]) => ({
        nodeId,
        storeId,
        replicas,
        leases,
      })),
    ),
    problems:
      failed.length > 0
        ? undefined
        : {
            unavailable: distinct('unavailable'),
            underreplicated: distinct('underreplicated'),
          },
  };
}
