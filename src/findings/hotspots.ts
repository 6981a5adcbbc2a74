import { livenessOf } from '../cockroach/node.ts';
import type { NodesResult, NodeStatus } from '../collectors/nodes/collector.ts';
import type { RangesResult } from '../collectors/ranges/collector.ts';
import { QUERIES } from '../collectors/ranges/replica.ts';
import type { Thresholds } from '../config/alert-settings.ts';
import { formatNumber } from '../format.ts';
import { formatNodes } from './load-problems.ts';
import type { Problem } from './problem.ts';

/** The load of a node with the other nodes of its region: lease preferences make regions differ. */
interface ComparedNode {
  readonly id: number;
  readonly region: string;
  readonly leases: number;
  readonly queries: number;
  readonly cpu: number | undefined;
}

/** A node with fewer leases is no hotspot of leases: a multiple of little means nothing. */
const MIN_LEASES = 100;

/**
 * Live nodes with far more load than the others of their region. Example: of three nodes with 400, 100 and 100 leases the
 * first has 4 times the mean of the others; so it is with queries, when its CPU is 20 points above the median, too.
 */
export function hotspotProblems(
  { nodes }: NodesResult,
  { scanned }: RangesResult,
  thresholds: Thresholds,
): readonly Problem[] {
  const stores = new Map(scanned.map((node) => [node.nodeId, [...node.stores.values()]]));
  const compared = nodes.flatMap((node): readonly ComparedNode[] => {
    const list = stores.get(node.id);
    if (list === undefined || livenessOf(node) !== 'live') return [];
    return [
      {
        id: node.id,
        region: regionOf(node),
        leases: list.reduce((sum, { leases }) => sum + leases, 0),
        queries: list.reduce((sum, { load }) => sum + (load[QUERIES] ?? 0), 0),
        cpu: node.isFresh ? node.metrics.get('sys.cpu.combined.percent-normalized') : undefined,
      },
    ];
  });
  const regions = [...Map.groupBy(compared, ({ region }) => region).values()];
  const hot = regions.flatMap((members) =>
    members.flatMap((node) => excessOf(node, members, thresholds)),
  );
  if (hot.length === 0) return [];
  const [worst] = hot.toSorted((a, b) => b.excess - a.excess);
  return [
    {
      key: 'hotspot',
      about: 'nodes',
      alert: 'CrdbNodeHotspot',
      normalSeconds: 1800,
      text: `${formatNodes(hot.map(({ id }) => id))} ${hot.length === 1 ? 'carries' : 'carry'} up to ${formatNumber(worst?.excess ?? 0)} times the load of the other nodes in the region.`,
      next: 'Compare the hottest ranges and lease preferences, and check that leases are rebalanced.',
    },
  ];
}

/** How many times the load of the others a node has, when that is far too much. */
function excessOf(
  node: ComparedNode,
  members: readonly ComparedNode[],
  thresholds: Thresholds,
): readonly { readonly id: number; readonly excess: number }[] {
  const others = members.filter((one) => one !== node);
  if (others.length === 0) return [];
  const timesMean = (key: 'leases' | 'queries') =>
    node[key] / Math.max(1, others.reduce((sum, one) => sum + one[key], 0) / others.length);
  const [leases, queries] = [timesMean('leases'), timesMean('queries')];
  const cpuExcess = (node.cpu ?? 0) - median(members.flatMap(({ cpu }) => cpu ?? []));
  const hasLeases = leases > thresholds.lease_imbalance && node.leases > MIN_LEASES;
  const hasQueries = queries > thresholds.load_imbalance && cpuExcess > thresholds.hotspot_cpu;
  if (!hasLeases && !hasQueries) return [];
  return [{ id: node.id, excess: hasLeases ? leases : queries }];
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

/** The locality down to the region, else the first tier. */
function regionOf({ tiers }: NodeStatus): string {
  const last = Math.max(
    0,
    tiers.findIndex(({ key }) => key === 'region'),
  );
  return tiers
    .slice(0, last + 1)
    .map(({ key, value }) => `${key}=${value}`)
    .join(',');
}

/** Ranges with more load than one CPU core serves well. */
export function hotRangeProblems(
  { scanned }: RangesResult,
  thresholds: Thresholds,
): readonly Problem[] {
  const detailed = scanned.filter(({ isDetailed }) => isDetailed);
  const nanos = detailed.flatMap(({ maxCpuNanos }) => maxCpuNanos ?? []);
  const cpu = nanos.reduce((most, value) => Math.max(most, value / 1e9), 0);
  const queries = scanned.reduce((most, { maxQueries = 0 }) => Math.max(most, maxQueries), 0);
  const isHot =
    nanos.length > 0 ? cpu > thresholds.hot_range_cpu : queries > thresholds.hot_range_queries;
  if (!isHot) return [];
  const load =
    nanos.length > 0
      ? `${formatNumber(cpu)} CPU seconds per second`
      : `${formatNumber(queries)} queries per second`;
  return [
    {
      key: 'hot range',
      about: 'ranges',
      alert: 'CrdbHotRange',
      normalSeconds: 1800,
      text: `A range has ${load}.`,
      next: 'See the hottest ranges: probably one key or an ascending key.',
    },
  ];
}
