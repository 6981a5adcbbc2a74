import { formatCount, formatList } from '../format.ts';
import type { Problem } from './problem.ts';

// A range scan against the nodes' own counts: a defect in reading the ranges shows as a difference that does not pass.

/** Difference that may come from ranges that were split or moved: both must be exceeded. */
const TOLERANCE = { share: 0.02, count: 20 };

/** The numbers that a scan read of one store. */
interface ScannedStore {
  readonly nodeId: number;
  readonly storeId: number;
  readonly replicas: number;
  readonly leases: number;
}

/** A finished scan of some or all nodes. */
export interface ScanCounts {
  /** Nodes that were read: a store of theirs that the scan did not find has 0 replicas. */
  readonly nodes: ReadonlySet<number>;
  readonly stores: readonly ScannedStore[];
  /** Distinct ranges by problem; undefined when a node could not be read. */
  readonly problems: Readonly<Record<ComparedProblem, number>> | undefined;
}

/** Problems that one replica of a range reports, so that the sum over the stores is the number of ranges. */
type ComparedProblem = 'unavailable' | 'underreplicated';

/** The counts of a node on one of its stores; a count that the server does not send is undefined. */
export interface CountedStore extends Readonly<Record<ComparedProblem, number | undefined>> {
  readonly nodeId: number;
  readonly storeId: number;
  readonly replicas: number | undefined;
  /** Valid leases, while a scan reads the last known ones: never a reason to disagree. */
  readonly leaseholders: number | undefined;
}

/** The nodes' own counts at one time, of stores with fresh records, by `storeKey`. */
export type OwnCounts = ReadonlyMap<string, CountedStore>;

/** A number that a scan read, and the last count of the nodes. */
interface ReadAndCounted {
  readonly read: number;
  readonly counted: number;
}

/** A store whose replicas a scan read wrongly: outside of the counts from `least` to `most`. */
interface DisagreeingStore {
  readonly nodeId: number;
  readonly storeId: number;
  readonly read: number;
  readonly least: number;
  readonly most: number;
}

export interface ScanComparison extends Readonly<
  Record<ComparedProblem, ReadAndCounted | undefined>
> {
  readonly replicas: ReadAndCounted;
  /** Leases are information only; undefined unless every store that is compared counts them. */
  readonly leases: ReadAndCounted | undefined;
  /** The first of them, at most 20. */
  readonly stores: readonly DisagreeingStore[];
  readonly disagrees: boolean;
}

export function storeKey(nodeId: number, storeId: number): string {
  return `${nodeId}/${storeId}`;
}

/**
 * Compares a scan with the counts that were read before, during and after it, oldest first; undefined when no store of
 * the scan is among the last ones.
 */
export function compareScan(
  scan: ScanCounts,
  counts: readonly OwnCounts[],
): ScanComparison | undefined {
  const last = counts.at(-1) ?? new Map<string, CountedStore>();
  const found = new Map(scan.stores.map((one) => [storeKey(one.nodeId, one.storeId), one]));
  const compared = [...last].filter(
    ([, { nodeId, replicas }]) => replicas !== undefined && scan.nodes.has(nodeId),
  );
  if (compared.length === 0) return undefined;
  const stores = compared.flatMap(([key, { nodeId, storeId }]) => {
    const read = found.get(key)?.replicas ?? 0;
    const range = rangeOf(counts.map((one) => one.get(key)?.replicas));
    return isOutside(read, range) ? [{ nodeId, storeId, read, ...range }] : [];
  });
  const problems = {
    unavailable: compareProblem('unavailable', scan, counts),
    underreplicated: compareProblem('underreplicated', scan, counts),
  };
  return {
    replicas: {
      read: total(compared.map(([key]) => found.get(key)?.replicas)),
      counted: total(compared.map(([, store]) => store.replicas)),
    },
    leases: compared.every(([, { leaseholders }]) => leaseholders !== undefined)
      ? {
          read: total(compared.map(([key]) => found.get(key)?.leases)),
          counted: total(compared.map(([, store]) => store.leaseholders)),
        }
      : undefined,
    unavailable: problems.unavailable?.numbers,
    underreplicated: problems.underreplicated?.numbers,
    stores: stores.slice(0, MAX_STORES),
    disagrees: stores.length > 0 || Object.values(problems).some((one) => one?.isOutside === true),
  };
}

/** Compares one problem; undefined unless all nodes were read and every store that was read has a fresh count. */
function compareProblem(
  problem: ComparedProblem,
  { problems, stores }: ScanCounts,
  counts: readonly OwnCounts[],
): { readonly numbers: ReadAndCounted; readonly isOutside: boolean } | undefined {
  const sumOf = (own: OwnCounts): number | undefined =>
    stores.reduce<number | undefined>((sum, { nodeId, storeId }) => {
      const count = own.get(storeKey(nodeId, storeId))?.[problem];
      return sum === undefined || count === undefined ? undefined : sum + count;
    }, 0);
  const sums = counts.map(sumOf);
  const counted = sums.at(-1);
  if (problems === undefined || counted === undefined) return undefined;
  const read = problems[problem];
  return { numbers: { read, counted }, isOutside: isOutside(read, rangeOf(sums)) };
}

function total(numbers: readonly (number | undefined)[]): number {
  return numbers.reduce<number>((sum, one = 0) => sum + one, 0);
}

function rangeOf(numbers: readonly (number | undefined)[]) {
  const known = numbers.filter((one) => one !== undefined);
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

/** Stores that are listed, and named in a finding. */
const MAX_STORES = 20;
const MAX_NAMED = 3;

/** Scans that disagreed, as in the alert CrdbScanDisagrees. */
const MANY_SCANS = 2;

/** The last scan and the nodes' own counts. */
export interface ScanCheck extends ScanComparison {
  /** Scans that disagreed, of those of the last 15 minutes or of the last three. */
  readonly disagreeingScans: number;
}

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
export function formatReplicas({ read, counted }: ScanCheck['replicas']): string {
  return `${formatCount(read)} replicas read, the nodes count ${formatCount(counted)}`;
}

/** `n3 s7: 800 read, 990 to 1,001 counted`. */
export function formatStore({
  nodeId,
  storeId,
  read,
  least,
  most,
}: ScanCheck['stores'][number]): string {
  const counted =
    least === most ? formatCount(most) : `${formatCount(least)} to ${formatCount(most)}`;
  return `n${nodeId} s${storeId}: ${formatCount(read)} read, ${counted} counted`;
}
