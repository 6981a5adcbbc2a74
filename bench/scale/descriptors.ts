import { encodeJson } from '../../simulator/wire/encoding.ts';
import {
  FIRST_RANGE_ID,
  holderAt,
  nodeIdAt,
  positionOf,
  REPLICATION,
  storeIdAt,
} from './layout.ts';
import type { ListedCluster } from './range-pages.ts';

/** Bytes of JSON that a server sends for a range: its state, statistics, leases and locks beside the descriptor. */
const RANGE_BYTES = 4_000;
const PADDING = 'x'.repeat(RANGE_BYTES - 600);

/** GET /_status/ranges/{node_id}?range_ids=…: those of these ranges that the node holds. Every replica votes. */
export function* describedRanges(
  cluster: ListedCluster,
  node: number,
  rangeIds: readonly number[],
): Generator<Buffer> {
  yield Buffer.from('{"ranges":[');
  let separator = '';
  for (const rangeId of rangeIds) {
    const position = positionOf(cluster.layout, node, rangeId);
    if (position === undefined) continue;
    yield Buffer.from(separator + encodeJson(describedRange(cluster, node, position, rangeId)));
    separator = ',';
  }
  yield Buffer.from('],"next":0}');
}

/** As jsonpb writes it: camelCase, zeros included, int64 as strings, enums as integers. */
function describedRange(
  { layout, dead }: ListedCluster,
  node: number,
  position: number,
  rangeId: number,
): object {
  const first = node - (node % REPLICATION);
  const replicas = Array.from({ length: REPLICATION }, (_, turn) => ({
    nodeId: nodeIdAt(first + turn),
    storeId: storeIdAt(layout, first + turn, position),
    replicaId: turn + 1,
    type: 0,
  }));
  const number = rangeId - FIRST_RANGE_ID;
  return {
    span: { startKey: `/Table/104/1/${number}`, endKey: `/Table/104/1/${number + 1}` },
    raftState: null,
    state: {
      state: {
        raftAppliedIndex: '1000',
        desc: {
          rangeId: String(rangeId),
          startKey: `K${rangeId}`,
          endKey: `K${rangeId + 1}`,
          internalReplicas: replicas,
          nextReplicaId: REPLICATION + 1,
          generation: '7',
        },
      },
      lastIndex: '1000',
    },
    sourceNodeId: nodeIdAt(node),
    sourceStoreId: storeIdAt(layout, node, position),
    leaseHistory: [],
    padding: PADDING,
    isLeaseholder: holderAt(node, position, dead) === node,
    leaseValid: true,
  };
}
