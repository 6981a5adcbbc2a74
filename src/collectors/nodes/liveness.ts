import type { NodeRecord } from './record.ts';

/** Indexed by liveness_status. */
export const LIVENESS_BY_CODE = [
  'unknown',
  'dead',
  'unavailable',
  'live',
  'decommissioning',
  'decommissioned',
  'draining',
] as const;

/** Values of the label `status`; `other` is any number that is not known here. */
export const LIVENESS_STATUSES = [...LIVENESS_BY_CODE, 'other'] as const;

type LivenessStatus = (typeof LIVENESS_STATUSES)[number];

/** What decides whether a record is fresh. */
export type RecordAge = Pick<NodeRecord, 'livenessCode' | 'updatedSeconds'>;

export function livenessOf({
  livenessCode = -1,
}: Pick<NodeRecord, 'livenessCode'>): LivenessStatus {
  return LIVENESS_BY_CODE[livenessCode] ?? 'other';
}

/** Records are written every 10 s; one that missed five of these is frozen. */
const MAX_LAG_SECONDS = 60;
/** Against the clock of the answering node: when no record is young, their order says nothing. */
const MAX_AGE_SECONDS = 120;

/** Says of each node whether its metrics are present values, not those of a record that nobody writes any more. */
export function freshnessOf(
  nodes: readonly RecordAge[],
  answeredMs: number | undefined,
): (node: RecordAge) => boolean {
  const newest = nodes.reduce((latest, node) => Math.max(latest, node.updatedSeconds), 0);
  const answered = answeredMs === undefined ? newest : answeredMs / 1000;
  const oldest = Math.max(newest - MAX_LAG_SECONDS, answered - MAX_AGE_SECONDS);
  return (node) =>
    node.updatedSeconds > 0 && node.updatedSeconds >= oldest && livenessOf(node) !== 'dead';
}
