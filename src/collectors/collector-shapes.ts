import { assistantShape } from './cloud/collector.ts';
import { peerShape } from './network/peers.ts';
import { nodeKeys, storeKeys } from './nodes/measurements.ts';
import { nodeShape } from './nodes/node-record.ts';
import { replicaShape } from './ranges/replica.ts';
import { sessionShape } from './sessions/session.ts';
import { discoveredShape, tableShape } from './tables/table-details.ts';

const NO_KEYS = { keys: [], prefixes: [] };

/** The metrics that are read of nodes and of stores, beside those that a user selects. */
export const READ_METRICS = { node: nodeKeys(NO_KEYS), store: storeKeys(NO_KEYS) };

/** The shapes of the elements that collectors read: for the list of fields, and for reports. A node is without its metrics. */
export const COLLECTOR_SHAPES = {
  node: nodeShape(NO_KEYS, NO_KEYS),
  replica: replicaShape,
  peer: peerShape(true),
  session: sessionShape,
  table: tableShape,
  discoveredTable: discoveredShape,
  assistant: assistantShape,
} as const;
