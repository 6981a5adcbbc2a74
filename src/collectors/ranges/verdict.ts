import type { FailureReason } from '../../cluster/api.ts';
import type { CollectFailure } from '../collector.ts';
import type { FailedNode, ScanResult } from './scan.ts';
import type { Share } from './share.ts';

/** Too little was read to say anything: half of the nodes would halve every sum. */
export function judge(
  { isHopeless }: Share,
  { read, failed }: ScanResult,
): CollectFailure | undefined {
  if (isHopeless) {
    // Zeros would look like a cluster without problems.
    return { reason: 'other', message: 'ranges: no node is live, draining or decommissioning' };
  }
  const planned = read.length + failed.length;
  if (read.length * 2 >= planned) return undefined;
  const reason = mostFrequentReason(failed);
  const example = failed.find((node) => node.reason === reason);
  const message = `ranges: ${failed.length} of ${planned} nodes were not read; ${example?.message}`;
  return { reason, message };
}

function mostFrequentReason(failed: readonly FailedNode[]): FailureReason {
  const counts = new Map<FailureReason, number>();
  for (const { reason } of failed) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? 'other';
}
