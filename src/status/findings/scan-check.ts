import { formatCount, formatList, sum } from '#base';
import type { NodesResult, RangesResult } from '#collectors';
import { MAX_NAMED } from './problem.ts';
import type { Problem, ScanCheck } from './status.ts';

// A range scan against the nodes' own counts: a defect in reading the ranges shows as a difference that does not pass.

/** Difference that may come from ranges that were split or moved: both must be exceeded. */
const TOLERANCE = { share: 0.02, count: 20 };

/** The numbers of one store as its node counts them; undefined where the server sends no count. */
interface StoreCounts {
  readonly nodeId: number;
  readonly storeId: number;
  readonly replicas: number | undefined;
  readonly leases: number | undefined;
  readonly unavailable: number | undefined;
  readonly underreplicated: number | undefined;
}

/** The stores of the nodes whose records are fresh, by `n3 s7`. */
type Counts = ReadonlyMap<string, StoreCounts>;

/** A number that a scan read, with the smallest and the largest count of the nodes. */
export interface Comparison {
  /** `n3 s7` for its replicas, or `unavailable ranges`. */
  readonly name: string;
  readonly read: number;
  readonly least: number;
  readonly most: number;
}

/** Reads the counts that the nodes sent. */
function countsOf({ nodes }: Pick<NodesResult, 'nodes'>): Counts {
  const fresh = nodes.filter(({ isFresh }) => isFresh);
  const stores = fresh.flatMap(({ id: nodeId, stores: ofNode }) =>
    Array.from(ofNode, ([storeId, values]) => ({
      nodeId,
      storeId: Number(storeId),
      replicas: values.get('replicas'),
      leases: values.get('replicas.leaseholders'),
      unavailable: values.get('ranges.unavailable'),
      underreplicated: values.get('ranges.underreplicated'),
    })),
  );
  return new Map(stores.map((store) => [nameStore(store.nodeId, store.storeId), store]));
}

function nameStore(nodeId: number, storeId: number): string {
  return `n${nodeId} s${storeId}`;
}

/** The stores with a count of replicas, of the nodes that were read, and what the scan read of each. */
function pairStores({ scanned, summary }: RangesResult, counts: Counts = new Map()) {
  const byNode = new Map(scanned.map(({ nodeId, stores }) => [nodeId, stores]));
  return Array.from(counts, ([name, counted]) => {
    const stores = byNode.get(counted.nodeId);
    if (summary === undefined || stores === undefined || counted.replicas === undefined) return [];
    return [{ name, counted, read: stores.get(counted.storeId) }];
  }).flat();
}

/**
 * Compares a scan with lists of nodes from around it, oldest first: the replicas of each store and, when all nodes were read and
 * each store that was read has a fresh count, the ranges with a problem. A store that the scan did not find has 0 replicas.
 * `wrong` are the numbers outside of the counts.
 */
export function compareScan(result: RangesResult, lists: readonly Pick<NodesResult, 'nodes'>[]) {
  return compareCounts(result, lists.map(countsOf));
}

function compareCounts(result: RangesResult, counts: readonly Counts[]) {
  const stores = pairStores(result, counts.at(-1)).map(({ name, read }) => {
    const counted = counts.map((own) => own.get(name)?.replicas);
    return compare(name, read?.replicas ?? 0, counted);
  });
  const isWhole = stores.length > 0 && result.failed.length === 0;
  const problems = isWhole ? compareProblems(result, counts) : [];
  return { stores, problems, wrong: [...stores, ...problems].filter(isOutside) };
}

function compareProblems(
  { scanned, summary }: RangesResult,
  counts: readonly Counts[],
): readonly Comparison[] {
  const names = scanned.flatMap(({ nodeId, stores: read }) =>
    Array.from(read.keys(), (storeId) => nameStore(nodeId, storeId)),
  );
  return (['unavailable', 'underreplicated'] as const).flatMap((problem) => {
    const counted = counts.map((own) => {
      const total = sum(names.map((name) => own.get(name)?.[problem] ?? NaN));
      return Number.isNaN(total) ? undefined : total;
    });
    const read = summary?.problems.get(problem)?.ranges;
    if (read === undefined || counted.at(-1) === undefined) return [];
    return [compare(`${problem} ranges`, read, counted)];
  });
}

function compare(name: string, read: number, counts: readonly (number | undefined)[]): Comparison {
  const known = counts.filter((count) => count !== undefined);
  return { name, read, least: Math.min(...known), most: Math.max(...known) };
}

/** Whether a number is outside by more than 20 and more than 2 %: 80 is not outside of 100 to 110, 79 is. */
function isOutside({ read, least, most }: Comparison): boolean {
  const nearest = Math.min(Math.max(read, least), most);
  return Math.abs(read - nearest) > Math.max(TOLERANCE.count, TOLERANCE.share * nearest);
}

/** `n3 s7: 800 read, 990 to 1,001 counted`. */
export function formatComparison({ name, read, least, most }: Comparison): string {
  const range =
    least === most ? formatCount(most) : `${formatCount(least)} to ${formatCount(most)}`;
  return `${name}: ${formatCount(read)} read, ${range} counted`;
}

/** Sums up what a scan read and what the nodes count, of the stores of the nodes that were read. */
export function checkScan(
  result: RangesResult,
  list: Pick<NodesResult, 'nodes'>,
): ScanCheck | undefined {
  const stores = pairStores(result, countsOf(list));
  if (stores.length === 0) return undefined;
  const total = (key: 'replicas' | 'leases') => ({
    read: sum(stores.map(({ read }) => read?.[key] ?? 0)),
    counted: sum(stores.map(({ counted }) => counted[key] ?? NaN)),
  });
  const leases = total('leases');
  const counted = new Set(stores.map((store) => store.counted.nodeId));
  return {
    replicas: total('replicas'),
    leases: Number.isNaN(leases.counted) ? undefined : leases,
    uncountedNodes: result.scanned.filter(({ nodeId }) => !counted.has(nodeId)).length,
  };
}

/**
 * `900 replicas read, the nodes count 900; 300 leases read, the nodes count 299 valid ones`. Leases move between the scan and the
 * counts, as when a node stops: of 579 read and 679 counted the scan has not missed 100, so it says that these are of another time.
 */
export function formatScanCheck({ replicas, leases, uncountedNodes }: ScanCheck): string {
  const without =
    uncountedNodes === 0 ? '' : ` (${formatCount(uncountedNodes)} without current counts)`;
  const ofReplicas = `${formatCount(replicas.read)} replicas read, the nodes count ${formatCount(replicas.counted)}${without}`;
  if (leases === undefined) return ofReplicas;
  const { read, counted } = leases;
  const haveMoved = isOutside({ name: 'leases', read, least: counted, most: counted });
  const later = haveMoved ? ' at another time' : '';
  return `${ofReplicas}; ${formatCount(read)} leases read, the nodes count ${formatCount(counted)} valid ones${later}`;
}

/** Counts from this long before a scan, and until this long after it, are compared with it; and the nearest on both sides. */
const AROUND_MS = 60_000;
/** Nodes write their records every ten seconds: a scan is compared when counts from this long after it are known. */
const AFTER_MS = 10_000;
/** The last scans that are remembered at least. */
const MIN_SCANS = 3;
/** At most this many scans wait for later counts; newer ones are not compared. */
const MAX_WAITING = 10;
/** Scans that disagreed, as in the alert CrdbScanDisagrees: one may disagree by chance. */
const MANY_SCANS = 2;

/** A scan until it is compared. */
interface RecordedScan {
  readonly startMs: number;
  readonly endMs: number;
  readonly result: RangesResult;
}

/** Compares the scans of a cluster with the counts around them: each once, a minute after it ended. */
export class ScanHistory {
  #counts: readonly { readonly atMs: number; readonly counts: Counts }[] = [];
  #waiting: readonly RecordedScan[] = [];
  /** The numbers of each scan that were read wrongly. */
  #compared: readonly { readonly endMs: number; readonly wrong: readonly Comparison[] }[] = [];

  addScan(scan: RecordedScan): void {
    if (this.#waiting.length < MAX_WAITING) this.#waiting = [...this.#waiting, scan];
  }

  /** Scans and counts of the last `rememberedMs` are compared. */
  addCounts(atMs: number, result: NodesResult, rememberedMs: number): void {
    const known = this.#counts.filter(
      (counts, at) => counts.atMs > atMs - rememberedMs || at === this.#counts.length - 1,
    );
    const isSame = atMs - (known.at(-1)?.atMs ?? -Infinity) < AFTER_MS;
    this.#counts = isSame ? known : [...known, { atMs, counts: countsOf(result) }];
    const isOver = ({ endMs }: RecordedScan) => atMs > endMs + AROUND_MS;
    const compared = [...this.#compared, ...this.#waiting.filter(isOver).flatMap(this.#compare)];
    this.#waiting = this.#waiting.filter((scan) => !isOver(scan));
    this.#compared = compared.filter(
      ({ endMs }, at) => endMs > atMs - rememberedMs || at >= compared.length - MIN_SCANS,
    );
  }

  readonly #compare = ({ startMs, endMs, result }: RecordedScan) => {
    const before = this.#counts.findLast(({ atMs }) => atMs <= startMs);
    const after = this.#counts.find(({ atMs }) => atMs >= endMs + AFTER_MS);
    const isNear = ({ atMs }: { readonly atMs: number }) =>
      atMs >= startMs - AROUND_MS && atMs <= endMs + AROUND_MS;
    // With a long interval the counts before and after a scan are far from it: both are needed then.
    if (after === undefined || !(isNear(after) || before)) return [];
    const around = this.#counts.filter(
      (counts) => isNear(counts) || counts === before || counts === after,
    );
    const lists = around.map(({ counts }) => counts);
    return [{ endMs, wrong: compareCounts(result, lists).wrong }];
  };

  /** The problem that the ranges are read wrongly. */
  problems(): readonly Problem[] {
    const wrong = this.#compared.flatMap((scan) => (scan.wrong.length > 0 ? [scan.wrong] : []));
    if (wrong.length < MANY_SCANS) return [];
    const named = wrong.at(-1)?.slice(0, MAX_NAMED) ?? [];
    return [
      {
        key: 'scan disagrees',
        about: 'exporter',
        alert: 'CrdbScanDisagrees',
        text: `${wrong.length} of the last scans disagree with the nodes' own counts. ${formatList(named.map(formatComparison))}.`,
        next: 'Do not rely on figures of ranges, also not on 0; `crdb-exporter diagnose --scan` compares a scan with the counts of the nodes.',
      },
    ];
  }
}
