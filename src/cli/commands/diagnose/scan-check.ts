import { setTimeout as wait } from 'node:timers/promises';
import type { ClusterApi } from '../../../cockroach/cluster-api.ts';
import { nodes } from '../../../collectors/nodes/collector.ts';
import { ranges } from '../../../collectors/ranges/collector.ts';
import { compareScan, type OwnCounts, type ScanComparison } from '../../../findings/scan-check.ts';
import { countsOf, formatReplicas, formatStore, scanOf } from '../../../findings/scan-status.ts';
import { formatCount, formatList } from '../../../format.ts';
import { createPollStats } from '../../../http/poll-stats.ts';
import { collectOnce } from '../../cluster-target.ts';
import { routeOf } from '../ranges/replica.ts';
import type { Checklist, CheckResult } from './checklist.ts';

const CHECK = 'own counts';
/** Nodes write their records every ten seconds. */
const NEXT_RECORD_MS = 11_000;
const MAX_STORES = 5;

/** One scan as the exporter makes it, against the nodes' own counts before and after it. */
export async function checkScan(
  list: Checklist,
  api: ClusterApi,
  nextRecordMs = NEXT_RECORD_MS,
): Promise<void> {
  const { config, stats } = list;
  if (config.collectors['ranges']?.enabled !== true) {
    list.add(CHECK, 'skipped', 'the collector ranges is disabled');
    return;
  }
  await list.run(CHECK, ranges, async () => {
    const before = await readCounts(list, api);
    const scanned = await readScan(list, api);
    const scan = scanOf(scanned);
    if (scan === undefined) return { verdict: 'warning', detail: 'the scan read too few nodes' };
    const counts = [before, await readCounts(list, api)];
    let comparison = compareScan(scan, counts);
    if (comparison?.disagrees === true) {
      // The counts after the scan may still be those of a record from before it.
      await wait(nextRecordMs, undefined, { signal: stats.signal });
      comparison = compareScan(scan, [...counts, await readCounts(list, api)]);
    }
    return describeComparison(comparison, scanned.scanned.length);
  });
}

function describeComparison(
  comparison: ScanComparison | undefined,
  scannedNodes: number,
): Omit<CheckResult, 'check' | 'target'> {
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
  const read = `${formatReplicas(replicas)}, on ${formatCount(scannedNodes)} nodes`;
  const detail = [read, ...more].join('; ');
  if (!comparison.disagrees) return { verdict: 'ok', detail };
  const named = stores.slice(0, MAX_STORES).map(formatStore);
  const where = named.length === 0 ? '' : `; wrong: ${formatList(named)}`;
  const advice =
    'do not rely on figures of ranges: see the runbook of CrdbScanDisagrees, and run this again to be sure';
  return { verdict: 'failed', detail: `${detail}${where}`, advice };
}

async function readCounts({ config, stats }: Checklist, api: ClusterApi): Promise<OwnCounts> {
  const target = { config, api, stats: createPollStats(stats.signal) };
  const options = { page_limit: Number(config.collectors['nodes']?.['page_limit']), metrics: [] };
  return countsOf(await collectOnce(nodes, target, { options, ...SILENT }));
}

function readScan({ config, stats }: Checklist, api: ClusterApi) {
  const target = { config, api, stats: createPollStats(stats.signal) };
  const settings = config.collectors['ranges'];
  const options = {
    page_limit: 0,
    node_timeout: Number(settings?.['node_timeout']),
    concurrency: Number(settings?.['concurrency']),
    route: routeOf(target),
    hot_ranges: 0,
    problem_ranges: 0,
    top_tables: 0,
  };
  return collectOnce(ranges, target, { options, ...SILENT });
}

const SILENT = { warn: () => undefined, scanProgress: () => undefined };
