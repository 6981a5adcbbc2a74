import type { Thresholds } from '#alerts';
import {
  capitalize,
  formatList,
  formatNodes,
  formatNumber,
  largest,
  median,
  plural,
  sum,
} from '#base';
import { livenessOf } from '#cockroach';
import { type ListedNode, type RangesResult, LOAD_INDEX, measuredMetrics } from '#collectors';
import type { Check } from './check.ts';
import type { Evidence } from './evidence.ts';

/** Conditions of ranges and their load that are more than one figure over a limit. */
export const RANGE_CHECKS: readonly Check[] = [
  {
    key: 'quorum at risk',
    about: 'ranges',
    alert: 'CrdbQuorumAtRisk',
    find: findQuorumAtRisk,
    next: 'Look for replicas that are still missing, for full nodes elsewhere and for zone configurations that cannot be satisfied.',
  },
  {
    key: 'hotspot',
    about: 'nodes',
    alert: 'CrdbNodeHotspot',
    find: ({ ranges, nodes, thresholds }) =>
      ranges && findHotspots(ranges.scanned, nodes, thresholds),
    next: 'Compare the hottest ranges and lease preferences, and check that leases are rebalanced.',
  },
];

/** Localities whose loss some ranges would not survive, although most would: of the tier with most localities. */
function findQuorumAtRisk({ ranges, nodes, thresholds }: Evidence): ReturnType<Check['find']> {
  const summary = ranges?.summary;
  const dependence = summary?.cluster?.dependence;
  if (summary === undefined || dependence === undefined) return undefined;
  const counts = countNodesByTier(nodes.filter(({ id }) => dependence.nodes.has(id)));
  const tiers = [...Map.groupBy(dependence.localities, ({ tier }) => tier)]
    .filter(([tier, localities]) => localities.length < (counts.get(tier) ?? Infinity))
    .map(([, localities]) => localities);
  const [widest = []] = tiers.toSorted((a, b) => b.length - a.length);
  const most = thresholds.quorum_risk * summary.ranges;
  const risky = widest.filter(({ quorum }) => quorum > 0 && quorum < most);
  if (widest.length < 3 || risky.length === 0) return undefined;
  const names = formatList(risky.map(({ locality }) => locality));
  return { text: `Some ranges would lose their quorum with ${names}.` };
}

/** Whether too many of all ranges have too few live replicas; one or two nodes cannot hold three. */
export function areManyUnderreplicated({ ranges, nodes, thresholds }: Evidence): boolean {
  // A shard sees a range at some of its nodes, and its problem at one: there leases are the better measure.
  const all = ranges?.summary?.cluster ? ranges.summary.ranges : countLeases(ranges);
  const count = ranges?.summary?.problems.get('underreplicated')?.ranges ?? 0;
  return nodes.length >= 3 && count > thresholds.underreplicated * all;
}

function countLeases(ranges: Evidence['ranges']): number {
  const stores = (ranges?.scanned ?? []).flatMap((node) => [...node.stores.values()]);
  return sum(stores.map((store) => store.leases));
}

/** How many nodes have each tier. As many localities as nodes: the tier names single nodes, as `dns` in CockroachDB Cloud. */
function countNodesByTier(nodes: readonly ListedNode[]): ReadonlyMap<string, number> {
  const tiers = nodes.flatMap((node) => [...new Set(node.tiers.map(({ key }) => key))]);
  return new Map(
    Array.from(
      Map.groupBy(tiers, (tier) => tier),
      ([tier, all]) => [tier, all.length],
    ),
  );
}

/** A node with fewer leases is no hotspot of leases: a multiple of little means nothing. */
const MIN_LEASES = 100;

/**
 * Live nodes with far more load than the others of their region. Example: of three nodes with 400, 100 and 100 leases the
 * first has 4 times the mean of the others; so it is with queries. Its CPU must be 20 points above the median, too.
 */
function findHotspots(
  scanned: RangesResult['scanned'],
  nodes: readonly ListedNode[],
  thresholds: Thresholds,
): ReturnType<Check['find']> {
  const live = new Map(
    nodes.filter((node) => livenessOf(node) === 'live').map((node) => [node.id, node]),
  );
  const loads = scanned.flatMap(({ nodeId: id, stores }) => {
    const node = live.get(id);
    if (node === undefined) return [];
    const held = [...stores.values()];
    const leases = sum(held.map((store) => store.leases));
    const queries = sum(held.map(({ load }) => load[LOAD_INDEX.queries] ?? 0));
    const cpu = node.isFresh
      ? measuredMetrics(node).get('sys.cpu.combined.percent-normalized')
      : undefined;
    const region = regionOf(node);
    return [{ id, region, cpu, leases, queries }];
  });
  const regions = [...Map.groupBy(loads, ({ region }) => region).values()];
  const hot = regions.flatMap((members) => {
    const others = members.length - 1;
    if (others === 0) return [];
    const leasesOfAll = sum(members.map(({ leases }) => leases));
    const queriesOfAll = sum(members.map(({ queries }) => queries));
    const usualCpu = median(members.flatMap(({ cpu }) => cpu ?? [])) ?? 0;
    return members.flatMap(({ id, leases, queries, cpu = 0 }) => {
      const timesLeases = leases / Math.max(1, (leasesOfAll - leases) / others);
      const timesQueries = queries / Math.max(1, (queriesOfAll - queries) / others);
      const hasLeases = timesLeases > thresholds.lease_imbalance && leases > MIN_LEASES;
      const isBusy = cpu - usualCpu > thresholds.hotspot_cpu;
      const hasQueries = timesQueries > thresholds.load_imbalance;
      return isBusy && (hasLeases || hasQueries)
        ? [{ id, excess: hasLeases ? timesLeases : timesQueries }]
        : [];
    });
  });
  if (hot.length === 0) return undefined;
  const worst = largest(hot.map(({ excess }) => excess)) ?? 0;
  const nodeIds = hot.map(({ id }) => id);
  const carry = plural(hot.length, 'carries', 'carry');
  const load = `${carry} up to ${formatNumber(worst)} times the load of the other nodes in the region`;
  return { nodeIds, text: `${capitalize(formatNodes(nodeIds))} ${load}.` };
}

/** The locality down to the region, else the first tier. */
function regionOf({ tiers }: ListedNode): string {
  const last = Math.max(
    0,
    tiers.findIndex(({ key }) => key === 'region'),
  );
  return JSON.stringify(tiers.slice(0, last + 1));
}
