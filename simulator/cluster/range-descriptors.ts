import { internalError, jsonAnswer, textAnswer, type Reply } from '../http/answer.ts';
import type { Account } from '../options.ts';
import { encodeJson } from '../wire/encoding.ts';
import type { Range } from '../world/ranges.ts';
import { goInteger } from './page.ts';
import { reach } from './ranges.ts';
import {
  callerOfCookie,
  isRefusal,
  refuseUnprivileged,
  type ClusterRequest,
  type ClusterServer,
} from './request.ts';

/** GET /_status/ranges/{id}?range_ids=1&range_ids=2 of the old mux: ranges of a node with their descriptors. */
export async function describeRanges(
  server: ClusterServer,
  request: ClusterRequest,
  nodeId: string,
): Promise<Reply> {
  if (server.quirks.rangeDescriptors === 'missing') return textAnswer(404, '404 page not found\n');
  const caller: Account | Reply = callerOfCookie(server, request);
  if (typeof caller === 'string' || isRefusal(caller)) return caller;
  const refusal = refuseUnprivileged(server, caller);
  if (refusal !== undefined) return refusal;
  if (server.quirks.rangeDescriptors === 'forbidden') {
    return textAnswer(403, 'user not allowed to access this endpoint');
  }
  const id = nodeId === 'local' ? request.node.id : goInteger(nodeId);
  const rangeIds = request.query.getAll('range_ids').map(goInteger);
  if (id === undefined || rangeIds.includes(undefined)) {
    return textAnswer(400, 'parsing "range_ids": invalid syntax');
  }
  const node = server.world.state.nodes.get(id);
  const failure = await reach(server, request.node, node);
  if (failure !== undefined || node === undefined) return failure ?? internalError();
  if (node.silentOn !== 'nothing') return 'silence';
  const wanted = new Set(rangeIds);
  const ranges = [...server.world.state.ranges.values()]
    .filter((range) => wanted.size === 0 || wanted.has(range.id))
    .flatMap((range) =>
      range.replicas
        .filter((replica) => replica.nodeId === node.id)
        .map(({ storeId }) => rangeInfo(range, node.id, storeId)),
    );
  return jsonAnswer(200, encodeJson({ ranges, next: 0 }));
}

/** As jsonpb writes it: camelCase, zeros included, int64 as strings, enums as integers. */
function rangeInfo(range: Range, nodeId: number, storeId: number): object {
  const nextId = 1 + Math.max(...range.replicas.map(({ replicaId }) => replicaId));
  return {
    span: { startKey: range.start.pretty, endKey: range.end.pretty },
    raftState: null,
    state: {
      state: {
        raftAppliedIndex: '1000',
        desc: {
          rangeId: String(range.id),
          startKey: range.start.bytes.toString('base64'),
          endKey: range.end.bytes.toString('base64'),
          internalReplicas: range.replicas.map((replica) => ({
            nodeId: replica.nodeId,
            storeId: replica.storeId,
            replicaId: replica.replicaId,
            type: replica.type,
          })),
          nextReplicaId: nextId,
          generation: '1',
        },
      },
      lastIndex: '1000',
    },
    sourceNodeId: nodeId,
    sourceStoreId: storeId,
    leaseHistory: [],
    isLeaseholder: range.leases.at(-1)?.storeId === storeId,
    leaseValid: range.leases.at(-1)?.storeId === storeId,
  };
}
