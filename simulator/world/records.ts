import { nodeMetrics } from './node-metrics.ts';
import type { ClusterNode, NodeRecord } from './nodes.ts';
import type { WorldState } from './state.ts';
import { storeMetrics } from './store-metrics.ts';

const RECORD_PERIOD_MS = 10_000;

/** The last record of a node: at most ten seconds old, unless the node has stopped. */
export function recordOf(state: WorldState, node: ClusterNode): NodeRecord {
  if (node.frozenRecord !== undefined) return node.frozenRecord;
  const updatedAtMs = lastWriteMs(state, node);
  const { written, startedAtMs } = node;
  if (written?.updatedAtMs === updatedAtMs && written.startedAtMs === startedAtMs) return written;
  const record = writeRecord(state, node, updatedAtMs);
  node.written = record;
  return record;
}

function writeRecord(state: WorldState, node: ClusterNode, updatedAtMs: number): NodeRecord {
  return {
    startedAtMs: node.startedAtMs,
    updatedAtMs,
    metrics: nodeMetrics(state, node, updatedAtMs),
    stores: new Map(
      node.stores.map((store) => [store.id, storeMetrics(state, node, store, updatedAtMs)]),
    ),
  };
}

/** Nodes write every ten seconds, each at a different second. */
function lastWriteMs(state: WorldState, node: ClusterNode): number {
  const phase = (node.startedAtMs + node.id * 137) % RECORD_PERIOD_MS;
  const periods = Math.floor((state.now() - phase) / RECORD_PERIOD_MS);
  return Math.max(node.startedAtMs, periods * RECORD_PERIOD_MS + phase);
}
