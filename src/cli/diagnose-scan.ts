import {
  formatBytes,
  formatCounted,
  formatDuration,
  formatList,
  formatNodes,
  formatRanges,
  sum,
} from '#base';
import { type NodesResult, ranges, type RangesResult, stretchInterval } from '#collectors';
import { type ClusterConfig, writeDuration } from '#config';
import {
  adviseOutage,
  checkScan,
  compareScan,
  describeWithoutProblems,
  formatComparison,
  formatScanCheck,
  UNAVAILABLE,
} from '#status';
import { type Checklist, ok, type Verdict } from './diagnose-checklist.ts';

/** Stores that are listed because their replicas were read wrongly. */
const MAX_WRONG = 20;

/** Ranges without a quorum are an outage, however well they are read. */
export function describeScan(list: Checklist, result: RangesResult, isNodeDown: boolean): Verdict {
  const { scanned, failed, summary } = result;
  const where = formatNodes(scanned.map(({ nodeId }) => nodeId));
  const read = `${formatCounted(countReplicas(result), 'replica')} on ${where}`;
  const [first] = failed;
  const unread = formatNodes(failed.map(({ nodeId }) => nodeId));
  const withoutProblems = sum(scanned.map((node) => node.withoutProblems));
  const detail = [
    read,
    ...(first === undefined ? [] : [`not read: ${unread}`]),
    ...(withoutProblems === 0 ? [] : [describeWithoutProblems(withoutProblems)]),
  ].join('; ');
  const unavailable = summary?.problems.get('unavailable')?.ranges ?? 0;
  if (unavailable > 0) {
    const { what, next, alert } = UNAVAILABLE;
    const found = `${detail}; ${formatRanges(unavailable)} ${what}`;
    const advice = adviseOutage(next, isNodeDown);
    return { verdict: 'warning', detail: found, advice, alert };
  }
  if (first !== undefined) {
    return { verdict: 'warning', detail, advice: list.explain(ranges, first.failure).advice };
  }
  if (withoutProblems === 0) return ok(detail);
  const advice = 'update the exporter, or send its authors what `diagnose --report` writes';
  return { verdict: 'warning', detail, advice };
}

/** The number of replicas on all stores that were read. */
export function countReplicas({ scanned }: RangesResult): number {
  return sum(
    scanned.flatMap(({ stores }) => Array.from(stores.values(), ({ replicas }) => replicas)),
  );
}

/** Compares the replicas that were read with the nodes' own counts before and after. */
export function compareCounts(
  scanned: RangesResult,
  before: NodesResult,
  after: NodesResult,
): Verdict {
  const { stores, problems, wrong } = compareScan(scanned, [before, after]);
  const check = checkScan(scanned, after);
  if (check === undefined) {
    const detail = 'no node that was read sends current counts of its stores';
    return { verdict: 'skipped', detail: `${detail}: releases before 23.2 do not` };
  }
  const wrongStores = stores.filter((store) => wrong.includes(store)).slice(0, MAX_WRONG);
  const listed =
    wrongStores.length === 0 ? [] : [`wrong: ${formatList(wrongStores.map(formatComparison))}`];
  const detail = [formatScanCheck(check), ...problems.map(formatComparison), ...listed].join('; ');
  if (wrong.length === 0) return ok(detail);
  const advice =
    'do not rely on figures of ranges: see the runbook of CrdbScanDisagrees, and run this again to be sure';
  return { verdict: 'failed', detail, advice };
}

/** Whether the settings leave time for a scan of this cost. */
export function judgeCost(
  { collectors }: ClusterConfig,
  replicas: string,
  { bytes, seconds }: { readonly bytes: number; readonly seconds: number },
): Verdict {
  const settings = collectors['ranges'] ?? { interval: 60, max_duty: 1, timeout: Infinity };
  const { interval, timeout } = settings;
  const detail = `${replicas} replicas, ${formatBytes(bytes)} in ${formatDuration(seconds)}, every ${writeDuration(interval)}`;
  // A scan that times out gives no complete numbers.
  if (seconds > timeout) {
    const longer = writeDuration(Math.ceil(2 * seconds));
    return {
      verdict: 'failed',
      detail: `${detail}: longer than its timeout`,
      advice: `set collectors.ranges.timeout to ${longer}, or divide the nodes among shards`,
    };
  }
  const fitting = Math.ceil(stretchInterval(settings, seconds));
  if (fitting <= interval) return ok(detail);
  return {
    verdict: 'warning',
    detail: `${detail}: more than its share of the time`,
    advice: `set collectors.ranges.interval to ${writeDuration(fitting)}; until then the exporter extends it automatically`,
  };
}
