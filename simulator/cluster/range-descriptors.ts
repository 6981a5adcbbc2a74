import { internalError, jsonAnswer, textAnswer, type Reply } from '../http/answer.ts';
import type { Account } from '../options.ts';
import { encodeJson } from '../wire/encoding.ts';
import { heldReplicas } from '../world/held-replicas.ts';
import { validLeaseOf } from '../world/leadership.ts';
import type { Lease } from '../world/leases.ts';
import type { HeldReplica, Range, Replica } from '../world/ranges.ts';
import { canReach } from '../world/reachability.ts';
import type { WorldState } from '../world/state.ts';
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
  const { rangeDescriptors, maxDescriptorIds, tooManyIds } = server.quirks;
  if (rangeDescriptors === 'missing') return textAnswer(404, '404 page not found');
  if (rangeDescriptors === 'unimplemented') return textAnswer(501, 'Not Available on Tenants');
  const texts = request.query.getAll('range_ids');
  if (maxDescriptorIds > 0 && texts.length > maxDescriptorIds)
    return textAnswer(tooManyIds, 'too many range_ids');
  const caller: Account | Reply = callerOfCookie(server, request);
  if (typeof caller === 'string' || isRefusal(caller)) return caller;
  const refusal = refuseUnprivileged(server, caller);
  if (refusal !== undefined) return refusal;
  if (rangeDescriptors === 'forbidden')
    return textAnswer(403, 'user not allowed to access this endpoint');
  const id = nodeId === 'local' ? request.node.id : goInteger(nodeId);
  const rangeIds = texts.map(goInteger);
  if (id === undefined || rangeIds.includes(undefined)) {
    return textAnswer(400, 'parsing "range_ids": invalid syntax');
  }
  const node = server.world.state.nodes.get(id);
  const failure = await reach(server, request.node, node);
  if (failure !== undefined || node === undefined) return failure ?? internalError();
  if (node.silentOn !== 'nothing') return 'silence';
  const { state } = server.world;
  const wanted = rangeIds.flatMap((rangeId) => rangeId ?? []);
  const ranges = heldReplicas(state, wanted.length === 0 ? undefined : wanted)
    .filter(({ replica }) => replica.nodeId === node.id)
    .map((held) => rangeInfo(state, held));
  return jsonAnswer(200, encodeJson({ ranges, next: 0 }));
}

/** As jsonpb writes it: camelCase, zeros included, int64 as strings, enums as integers. */
function rangeInfo(state: WorldState, { range, replica }: HeldReplica): object {
  const { nodeId, storeId } = replica;
  const lease = leaseKnownTo(state, range, replica);
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
          internalReplicas: range.replicas.map((each) => ({
            nodeId: each.nodeId,
            storeId: each.storeId,
            replicaId: each.replicaId,
            type: each.type,
          })),
          nextReplicaId: range.nextReplicaId,
          generation: String(range.generation),
        },
      },
      lastIndex: '1000',
    },
    sourceNodeId: nodeId,
    sourceStoreId: storeId,
    leaseHistory: [],
    isLeaseholder: lease?.storeId === storeId,
    leaseValid: lease !== undefined,
  };
}

/** The valid lease that the replica knows. One that is behind knows a lease that has expired. */
function leaseKnownTo(state: WorldState, range: Range, replica: Replica): Lease | undefined {
  if (replica.knows !== undefined) return undefined;
  const lease = validLeaseOf(state, range);
  return lease !== undefined && canReach(state, lease.nodeId, replica.nodeId) ? lease : undefined;
}
