import type { ClusterApi } from '../../../cockroach/cluster-api.ts';
import { livenessOf, REACHABLE } from '../../../cockroach/node.ts';
import { nodes, type NodesResult, type NodeStatus } from '../../../collectors/nodes/collector.ts';
import { ranges, type RangesResult } from '../../../collectors/ranges/collector.ts';
import { type ClusterConfig, collectorOptions } from '../../../config/schema.ts';
import { writeDuration } from '../../../config/values.ts';
import {
  type ScanComparison,
  compareScan,
  formatReplicas,
  formatStore,
} from '../../../findings/scan-check.ts';
import { countsOf, scanOf } from '../../../findings/scan-history.ts';
import { formatBytes, formatCount, formatList, formatMs } from '../../../format.ts';
import { createPollStats } from '../../../http/poll-stats.ts';
import { collectOnce } from '../../cluster-target.ts';
import { withProgress } from '../../output/standard-output.ts';
import { noteScanCost } from '../../replicas.ts';
import type { Checklist, Verdict } from './checklist.ts';

const MAX_STORES = 5;
/** Intervals that people configure, seconds. */
const ROUND_INTERVALS = [30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400];

/** The cost of a scan of all nodes, estimated from one node or measured. */
interface ScanCost {
  readonly isMeasured: boolean;
  readonly replicas: number;
  readonly bytes: number;
  readonly seconds: number;
}

/**
 * Reads the ranges of the smallest node that is live, or of all nodes with `--scan`, and compares the replicas with what
 * the nodes count.
 */
export async function checkRanges(
  list: Checklist,
  api: ClusterApi,
  before: NodesResult | undefined,
  { isWhole, output }: { readonly isWhole: boolean; readonly output: string },
): Promise<void> {
  const reachable = reachableNodes(before);
  const sizes = reachable.map(ownReplicas);
  const smallest = reachable[sizes.indexOf(Math.min(...sizes))];
  if (before === undefined || smallest === undefined) {
    list.add(ranges.request, { verdict: 'skipped', detail: 'no node to query is known' });
    return;
  }
  const counted = sizes.reduce((sum, size) => sum + size, 0);
  if (isWhole) noteScanCost(reachable.length, counted);
  const onlyNode = isWhole ? undefined : smallest.id;
  // A list in pages shows neither the cost of a whole one nor all replicas.
  const options = { ...collectorOptions(list.config, ranges), page_limit: 0 };
  const { result, bytes, seconds } = await withProgress(
    'nodes',
    isWhole ? output : 'json',
    (_advance, scanProgress) =>
      list.poll(ranges, api, describeScan, { onlyNode, scanProgress, options }),
  );
  if (result?.summary === undefined) return;
  await list.run('own counts', 'cluster API', nodes, () =>
    compareCounts(list, api, before, result),
  );
  if (list.config.collectors['ranges']?.enabled !== true) return;
  if (result.failed.length > 0) {
    // Waiting for a node that does not respond does not count as load.
    const detail = 'its cost is not known: not all nodes were read';
    list.add('range scan', { verdict: 'skipped', detail }, 'load');
    return;
  }
  const sample = { isMeasured: isWhole, replicas: replicasOf(result), bytes, seconds };
  const cost = isWhole ? sample : estimateWhole(list, reachable.length, counted, sample);
  list.add('range scan', judgeCost(list.config, cost), 'load');
}

/** The nodes that are live, draining or decommissioning. */
export function reachableNodes(result: NodesResult | undefined): readonly NodeStatus[] {
  return (result?.nodes ?? []).filter((node) => REACHABLE.has(livenessOf(node)));
}

/** The replicas that the node counts; 0 where it sends no count, before version 23.2. */
function ownReplicas({ stores }: NodeStatus): number {
  return Array.from(stores.values()).reduce((sum, store) => sum + (store.get('replicas') ?? 0), 0);
}

function describeScan(result: RangesResult): string {
  const { scanned, failed } = result;
  const ids = formatList(scanned.map(({ nodeId }) => nodeId));
  const where = `${scanned.length === 1 ? 'node' : 'nodes'} ${ids}`;
  const unread = failed.length === 1 ? '1 node was' : `${failed.length} nodes were`;
  const missing = failed.length === 0 ? '' : `; ${unread} not read`;
  return `${formatCount(replicasOf(result))} replicas on ${where}${missing}`;
}

function replicasOf({ scanned }: RangesResult): number {
  const stores = scanned.flatMap((node) => [...node.stores.values()]);
  return stores.reduce((sum, { replicas }) => sum + replicas, 0);
}

/** Compares the replicas that were read with the nodes' own counts before and after. */
async function compareCounts(
  { config, stats: { signal } }: Checklist,
  api: ClusterApi,
  before: NodesResult,
  scanned: RangesResult,
): Promise<Verdict> {
  const scan = scanOf(scanned);
  if (scan === undefined) return { verdict: 'warning', detail: 'the scan read too few nodes' };
  const after = await collectOnce(nodes, { config, api, stats: createPollStats(signal) });
  const comparison = compareScan(scan, [countsOf(before), countsOf(after)]);
  return describeComparison(comparison, scanned.scanned.length);
}

function describeComparison(comparison: ScanComparison | undefined, scannedNodes: number): Verdict {
  if (comparison === undefined) {
    const detail = 'no node that was read sends current counts of its stores';
    return { verdict: 'skipped', detail: `${detail}: releases before 23.2 do not` };
  }
  const { replicas, leases, unavailable, underreplicated, stores } = comparison;
  const pairs = [
    ['unavailable ranges', unavailable],
    ['under-replicated ranges', underreplicated],
    ['leases, for information', leases],
  ] as const;
  const more = pairs.flatMap(([what, pair]) =>
    pair === undefined
      ? []
      : [`${what}: ${formatCount(pair.read)} and ${formatCount(pair.counted)}`],
  );
  const where = `on ${formatCount(scannedNodes)} ${scannedNodes === 1 ? 'node' : 'nodes'}`;
  const detail = [`${formatReplicas(replicas)}, ${where}`, ...more].join('; ');
  if (!comparison.disagrees) return { verdict: 'ok', detail };
  const named = stores.slice(0, MAX_STORES).map(formatStore);
  const wrong = named.length === 0 ? '' : `; wrong: ${formatList(named)}`;
  const advice =
    'do not rely on figures of ranges: see the runbook of CrdbScanDisagrees, and run this again to be sure';
  return { verdict: 'failed', detail: `${detail}${wrong}`, advice };
}

/**
 * The cost of a scan of all nodes, from that of one. Example: 100 of 900 replicas took 2 s, with two nodes at a time: 9 s.
 */
function estimateWhole(
  { config, recorder }: Checklist,
  nodeCount: number,
  counted: number,
  sample: ScanCost,
): ScanCost {
  // Releases before 23.2 do not report replicas: assume that all nodes are like this one.
  const replicas = counted > 0 ? counted : sample.replicas * nodeCount;
  const factor = sample.replicas === 0 ? nodeCount : replicas / sample.replicas;
  const concurrency = Math.min(collectorOptions(config, ranges).concurrency, nodeCount);
  // The poll lists the nodes once, however many it reads.
  const { bytes, seconds } = recorder.last('node_ranges') ?? sample;
  return {
    isMeasured: false,
    replicas,
    bytes: bytes * factor,
    seconds: (seconds * factor) / Math.max(1, concurrency),
  };
}

/** Whether the configured interval leaves time for a scan of this cost. */
function judgeCost(
  { collectors: { ranges: settings } }: ClusterConfig,
  { isMeasured, replicas, bytes, seconds }: ScanCost,
): Verdict {
  const { interval = 60, max_duty = 1, timeout = Infinity } = settings ?? {};
  const about = isMeasured ? '' : 'about ';
  const detail = `${about}${formatCount(replicas)} replicas, ${formatBytes(bytes)} in ${formatMs(seconds * 1000)}, every ${writeDuration(interval)}`;
  const fitting = writeDuration(
    ROUND_INTERVALS.find((each) => each * max_duty >= seconds) ?? 86_400,
  );
  if (seconds > timeout) {
    const advice = `set collectors.ranges.timeout to ${writeDuration(Math.ceil(seconds * 2))} and interval to ${fitting}, or divide the work with --shard.count`;
    return { verdict: 'failed', detail: `${detail}: longer than its timeout`, advice };
  }
  if (seconds <= interval * max_duty) return { verdict: 'ok', detail };
  const excess = `more than ${Math.round(max_duty * 100)} % of the time`;
  const advice = `set collectors.ranges.interval to ${fitting}; until then the exporter extends it automatically`;
  return { verdict: 'warning', detail: `${detail}: ${excess}`, advice };
}
