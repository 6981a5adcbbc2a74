import type { NodesResult } from '../collectors/nodes/collector.ts';
import type { RangesResult } from '../collectors/ranges/collector.ts';
import { formatCount, formatList } from '../format.ts';
import type { RangeProblem } from '../vocabulary.ts';
import type { Problem } from './problem.ts';
import { type OwnCounts, type ScanCounts, storeKey } from './scan-check.ts';
import { MANY_SCANS, type ScanCheck } from './scan-history.ts';

/** Stores that are listed, and named in a finding. */
const MAX_STORES = 20;
const MAX_NAMED = 3;

/** The replicas that the last scan read, and the nodes' own counts. */
export type ScanCheckStatus = ScanCheck;

export function readScanCheck({ disagrees, stores, ...check }: ScanCheck): ScanCheckStatus {
  return {
    replicas: check.replicas,
    /** Information only: a node counts valid leases, the scan the last known ones. */
    leases: check.leases,
    /** Distinct ranges; absent when not all nodes were read, or a record is not fresh. */
    unavailable: check.unavailable,
    underreplicated: check.underreplicated,
    /** Whether the last scan disagrees. */
    disagrees,
    /** Of the scans of the last 15 minutes, or of the last three. */
    disagreeingScans: check.disagreeingScans,
    /** Stores of which the last scan read more or fewer replicas than their node has counted around it. */
    stores: stores.slice(0, MAX_STORES),
  };
}

export function scanProblems(check: ScanCheckStatus): readonly Problem[] {
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
export function isScanWrong({ disagreeingScans }: ScanCheckStatus): boolean {
  return disagreeingScans >= MANY_SCANS;
}

/** `12,034 replicas read, the nodes count 12,036`. */
export function formatReplicas({ read, counted }: ScanCheckStatus['replicas']): string {
  return `${formatCount(read)} replicas read, the nodes count ${formatCount(counted)}`;
}

/** `n3 s7: 800 read, 990 to 1,001 counted`. */
export function formatStore({
  nodeId,
  storeId,
  read,
  least,
  most,
}: ScanCheckStatus['stores'][number]): string {
  const counted =
    least === most ? formatCount(most) : `${formatCount(least)} to ${formatCount(most)}`;
  return `n${nodeId} s${storeId}: ${formatCount(read)} read, ${counted} counted`;
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

/** What a scan counted; undefined when it failed. */
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
