import type { NodesResult } from '../collectors/nodes/collector.ts';
import type { RangesResult } from '../collectors/ranges/result.ts';
import { formatCount, formatList } from '../format.ts';
import type { Problem, ReadAndCounted, ScanCheck, ScanComparison } from './status.ts';

// A range scan against the nodes' own counts: a defect in reading the ranges shows as a difference that does not pass.

/** Difference that may come from ranges that were split or moved: both must be exceeded. */
const TOLERANCE = { share: 0.02, count: 20 };

/** The numbers of one store, as a scan read them or as its node counts them; undefined where the server sends no count. */
export interface StoreCounts {
  readonly nodeId: number;
  readonly storeId: number;
  readonly replicas: number | undefined;
  /** A node counts valid leases, and a scan reads the last known ones: never a reason to disagree. */
  readonly leases: number | undefined;
  readonly unavailable?: number | undefined;
  readonly underreplicated?: number | undefined;
}

/** Stores by `n3 s7`. */
export type Counts = ReadonlyMap<string, StoreCounts>;

/** A finished scan of some or all nodes. */
export interface ScanCounts {
  /** Nodes that were read: a store of theirs that the scan did not find has 0 replicas. */
  readonly nodes: ReadonlySet<number>;
  readonly stores: Counts;
  /** Distinct ranges by problem; undefined when a node could not be read. */
  readonly problems: { readonly unavailable: number; readonly underreplicated: number } | undefined;
}

/** The counts of the nodes whose records are fresh. */
export function countsOf({ nodes }: NodesResult): Counts {
  const fresh = nodes.filter(({ isFresh }) => isFresh);
  return byStore(
    fresh.flatMap(({ id: nodeId, stores }) =>
      Array.from(stores, ([id, values]) => ({
        nodeId,
        storeId: Number(id),
        replicas: values.get('replicas'),
        leases: values.get('replicas.leaseholders'),
        unavailable: values.get('ranges.unavailable'),
        underreplicated: values.get('ranges.underreplicated'),
      })),
    ),
  );
}

/** The counts of a scan; undefined when it failed. */
export function scanOf({ scanned, failed, summary }: RangesResult): ScanCounts | undefined {
  if (summary === undefined) return undefined;
  const stores = scanned.flatMap(({ nodeId, stores: ofNode }) =>
    Array.from(ofNode, ([storeId, { replicas, leases }]) => ({
      nodeId,
      storeId,
      replicas,
      leases,
    })),
  );
  const unavailable = summary.problems.get('unavailable')?.ranges ?? 0;
  const underreplicated = summary.problems.get('underreplicated')?.ranges ?? 0;
  return {
    nodes: new Set(scanned.map(({ nodeId }) => nodeId)),
    stores: byStore(stores),
    problems: failed.length > 0 ? undefined : { unavailable, underreplicated },
  };
}

function byStore(stores: readonly StoreCounts[]): Counts {
  return new Map(stores.map((store) => [`n${store.nodeId} s${store.storeId}`, store]));
}

/** Stores that are listed, and named in a finding. */
const MAX_STORES = 20;
const MAX_NAMED = 3;

/**
 * Compares a scan with the counts that were read before, during and after it, oldest first; undefined when no store of
 * the scan is among the last ones.
 */
export function compareScan(
  scan: ScanCounts,
  counts: readonly Counts[],
): ScanComparison | undefined {
  const last = counts.at(-1) ?? new Map<string, StoreCounts>();
  const compared = [...last].filter(
    ([, { nodeId, replicas }]) => replicas !== undefined && scan.nodes.has(nodeId),
  );
  if (compared.length === 0) return undefined;
  const read = (key: string) => scan.stores.get(key);
  const stores = compared.flatMap(([key, { nodeId, storeId }]) => {
    const replicas = read(key)?.replicas ?? 0;
    const range = rangeOf(counts.map((own) => own.get(key)?.replicas));
    return isOutside(replicas, range) ? [{ nodeId, storeId, read: replicas, ...range }] : [];
  });
  /** Both numbers of the stores that are compared. */
  const totals = (key: 'replicas' | 'leases'): ReadAndCounted => ({
    read: sum(compared.map(([store]) => read(store)?.[key] ?? 0)),
    counted: sum(compared.map(([, store]) => store[key] ?? 0)),
  });
  const unavailable = compareProblem('unavailable', scan, counts);
  const underreplicated = compareProblem('underreplicated', scan, counts);
  const isProblemWrong = [unavailable, underreplicated].some((problem) => problem?.isWrong);
  return {
    replicas: totals('replicas'),
    leases: compared.every(([, { leases }]) => leases !== undefined) ? totals('leases') : undefined,
    unavailable: unavailable?.numbers,
    underreplicated: underreplicated?.numbers,
    stores: stores.slice(0, MAX_STORES),
    disagrees: stores.length > 0 || isProblemWrong,
  };
}

/** Compares one problem; undefined unless all nodes were read and every store that was read has a fresh count. */
function compareProblem(
  problem: 'unavailable' | 'underreplicated',
  { problems, stores }: ScanCounts,
  counts: readonly Counts[],
): { readonly numbers: ReadAndCounted; readonly isWrong: boolean } | undefined {
  const sums = counts.map((own) => {
    const known = Array.from(stores.keys(), (key) => own.get(key)?.[problem] ?? NaN);
    return Number.isNaN(sum(known)) ? undefined : sum(known);
  });
  const counted = sums.at(-1);
  if (problems === undefined || counted === undefined) return undefined;
  const read = problems[problem];
  return { numbers: { read, counted }, isWrong: isOutside(read, rangeOf(sums)) };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function rangeOf(numbers: readonly (number | undefined)[]) {
  const known = numbers.filter((number) => number !== undefined);
  return { least: Math.min(...known), most: Math.max(...known) };
}

/** Whether a number is outside by more than 20 and more than 2 %: 80 is not outside of 100 to 110, 79 is. */
function isOutside(
  read: number,
  { least, most }: { readonly least: number; readonly most: number },
): boolean {
  const nearest = Math.min(Math.max(read, least), most);
  return Math.abs(read - nearest) > Math.max(TOLERANCE.count, TOLERANCE.share * nearest);
}

/** Counts from this long before a scan, and until this long after it, are compared with it. */
const AROUND_MS = 60_000;
/** Nodes write their records every ten seconds: only counts from this long after a scan judge it. */
const AFTER_MS = 10_000;
/** Scans of this time are remembered, or the last three. */
const REMEMBERED_MS = 900_000;
const MIN_REMEMBERED = 3;
/** Lists of counts that are kept: those of ten minutes, since two are at least ten seconds apart. */
const MAX_COUNTS = 60;

interface RecordedScan {
  readonly startMs: number;
  readonly endMs: number;
  readonly scan: ScanCounts;
  readonly comparison?: ScanComparison | undefined;
  /** Whether counts from after its end are among those that it was compared with. */
  readonly isJudged?: boolean;
}

/** Compares the scans of a cluster with the counts around them. */
export class ScanHistory {
  #counts: readonly { readonly atMs: number; readonly counts: Counts }[] = [];
  #scans: readonly RecordedScan[] = [];

  addScan(scan: Pick<RecordedScan, 'startMs' | 'endMs' | 'scan'>): void {
    const scans = [...this.#scans, this.#compare(scan)];
    const oldestMs = scan.endMs - REMEMBERED_MS;
    this.#scans = scans.filter(
      ({ endMs }, at) => endMs > oldestMs || at >= scans.length - MIN_REMEMBERED,
    );
  }

  addCounts(atMs: number, counts: Counts): void {
    const before = this.#counts.at(-2);
    // A record that was read again within ten seconds is mostly the same.
    const isSoon = before !== undefined && atMs - before.atMs < AFTER_MS;
    const earlier = isSoon ? this.#counts.slice(0, -1) : this.#counts;
    this.#counts = [...earlier, { atMs, counts }].slice(-MAX_COUNTS);
    this.#scans = this.#scans.map((scan) =>
      atMs > scan.endMs + AROUND_MS
        ? scan
        : { ...this.#compare(scan), isJudged: scan.isJudged || atMs >= scan.endMs + AFTER_MS },
    );
  }

  /** The last comparison; undefined while nothing can be compared. */
  read(): ScanCheck | undefined {
    const comparison = this.#scans.at(-1)?.comparison;
    const wrong = this.#scans.filter((scan) => scan.isJudged && scan.comparison?.disagrees);
    return comparison && { ...comparison, disagreeingScans: wrong.length };
  }

  #compare(recorded: RecordedScan): RecordedScan {
    const { startMs, endMs, scan } = recorded;
    const around = this.#counts.filter(
      ({ atMs }) => atMs >= startMs - AROUND_MS && atMs <= endMs + AROUND_MS,
    );
    return {
      ...recorded,
      comparison: compareScan(
        scan,
        around.map(({ counts }) => counts),
      ),
    };
  }
}

/** Scans that disagreed, as in the alert CrdbScanDisagrees. */
const MANY_SCANS = 2;

export function scanProblems(check: ScanCheck): readonly Problem[] {
  const { disagrees, disagreeingScans, replicas, stores } = check;
  if (!isScanWrong(check) && !(disagrees && disagreeingScans > 0)) return [];
  const named = stores.slice(0, MAX_NAMED).map(formatStore);
  const where = named.length === 0 ? '' : ` ${formatList(named)}.`;
  return [
    {
      key: 'scan disagrees',
      about: 'exporter',
      alert: 'CrdbScanDisagrees',
      // One scan may disagree by chance.
      level: isScanWrong(check) ? undefined : 'info',
      text: `The ranges are read wrongly: ${formatReplicas(replicas)}; ${disagreeingScans} of the last scans disagreed.${where}`,
      next: 'Do not rely on figures of ranges; `crdb-exporter diagnose --scan` compares a scan with the counts of the nodes.',
    },
  ];
}

/** Whether so many scans disagreed that the figures of ranges are worth nothing. */
export function isScanWrong({ disagreeingScans }: ScanCheck): boolean {
  return disagreeingScans >= MANY_SCANS;
}

/** `12,034 replicas read, the nodes count 12,036`. */
export function formatReplicas({ read, counted }: ReadAndCounted): string {
  return `${formatCount(read)} replicas read, the nodes count ${formatCount(counted)}`;
}

/** `n3 s7: 800 read, 990 to 1,001 counted`. */
export function formatStore(store: ScanComparison['stores'][number]): string {
  const { nodeId, storeId, read, least, most } = store;
  const range =
    least === most ? formatCount(most) : `${formatCount(least)} to ${formatCount(most)}`;
  return `n${nodeId} s${storeId}: ${formatCount(read)} read, ${range} counted`;
}
