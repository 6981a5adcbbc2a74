import type { Thresholds } from '../alerts/alert-settings.ts';
import { livenessOf } from '../cockroach/node.ts';
import type { NodeStatus } from '../collectors/nodes/collector.ts';
import { QUERIES } from '../collectors/ranges/replica.ts';
import type { RangesResult } from '../collectors/ranges/scan-result.ts';
import { capitalize, formatNodes, formatNumber } from '../format.ts';
import { sum } from './rates.ts';

/** A node with fewer leases is no hotspot of leases: a multiple of little means nothing. */
const MIN_LEASES = 100;

/**
 * Live nodes with far more load than the others of their region. Example: of three nodes with 400, 100 and 100 leases the
 * first has 4 times the mean of the others; so it is with queries, when its CPU is 20 points above the median, too.
 */
export function findHotspots(
  scanned: RangesResult['scanned'],
  nodes: readonly NodeStatus[],
  thresholds: Thresholds,
): string | undefined {
  const live = new Map(
    nodes.filter((node) => livenessOf(node) === 'live').map((node) => [node.id, node]),
  );
  const loads = scanned.flatMap(({ nodeId: id, stores }) => {
    const node = live.get(id);
    if (node === undefined) return [];
    const held = [...stores.values()];
    const leases = sum(held.map((store) => store.leases));
    const queries = sum(held.map(({ load }) => load[QUERIES] ?? 0));
    const cpu = node.isFresh ? node.metrics.get('sys.cpu.combined.percent-normalized') : undefined;
    const region = regionOf(node);
    return [{ id, region, cpu, leases, queries }];
  });
  const regions = [...Map.groupBy(loads, ({ region }) => region).values()];
  const hot = regions.flatMap((members) => {
    const others = members.length - 1;
    if (others === 0) return [];
    const leasesOfAll = sum(members.map(({ leases }) => leases));
    const queriesOfAll = sum(members.map(({ queries }) => queries));
    const usualCpu = median(members.flatMap(({ cpu }) => cpu ?? []));
    return members.flatMap(({ id, leases, queries, cpu = 0 }) => {
      const timesLeases = leases / Math.max(1, (leasesOfAll - leases) / others);
      const timesQueries = queries / Math.max(1, (queriesOfAll - queries) / others);
      const hasLeases = timesLeases > thresholds.lease_imbalance && leases > MIN_LEASES;
      const isBusy = cpu - usualCpu > thresholds.hotspot_cpu;
      const hasQueries = timesQueries > thresholds.load_imbalance && isBusy;
      return hasLeases || hasQueries
        ? [{ id, excess: hasLeases ? timesLeases : timesQueries }]
        : [];
    });
  });
  if (hot.length === 0) return undefined;
  const worst = hot.reduce((most, { excess }) => Math.max(most, excess), 0);
  const names = capitalize(formatNodes(hot.map(({ id }) => id)));
  return `${names} ${hot.length === 1 ? 'carries' : 'carry'} up to ${formatNumber(worst)} times the load of the other nodes in the region.`;
}

/** Finds a range with more load than one CPU core serves well: by CPU where the servers send it, else by queries. */
export function findHotRange(
  scanned: RangesResult['scanned'],
  thresholds: Thresholds,
): string | undefined {
  const nanos = scanned.flatMap(({ isDetailed, maxCpuNanos }) =>
    isDetailed && maxCpuNanos !== undefined ? [maxCpuNanos] : [],
  );
  const cpu = Math.max(...nanos) / 1e9;
  const queries = Math.max(0, ...scanned.map(({ maxQueries = 0 }) => maxQueries));
  const hasCpu = nanos.length > 0;
  const isHot = hasCpu ? cpu > thresholds.hot_range_cpu : queries > thresholds.hot_range_queries;
  const byCpu = `${formatNumber(cpu)} CPU seconds`;
  const load = hasCpu ? byCpu : `${formatNumber(queries)} queries`;
  return isHot ? `A range has ${load} per second.` : undefined;
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
  return JSON.stringify(tiers.slice(0, last + 1));
}
