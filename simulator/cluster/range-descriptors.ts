import { internalError, jsonAnswer, textAnswer, type Reply } from '../http/answer.ts';
import type { Account } from '../options.ts';
import { encodeJson } from '../wire/encoding.ts';
import { bytesField, type Field, integerField, messageField } from '../wire/protobuf.ts';
import { heldReplicas } from '../world/held-replicas.ts';
import { validLeaseOf } from '../world/leadership.ts';
import type { Lease } from '../world/leases.ts';
import type { HeldReplica, Range, Replica } from '../world/ranges.ts';
import { canReach } from '../world/reachability.ts';
import type { WorldState } from '../world/state.ts';
import { errorInForm, protobufAnswer, sendsProtobuf } from './forms.ts';
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
  const found = await findRanges(server, request, nodeId);
  if (typeof found === 'string' || 'status' in found) return found;
  if (!sendsProtobuf(server, request)) {
    return jsonAnswer(200, encodeJson({ ranges: found, next: 0 }));
  }
  return protobufAnswer(200, found.map(rangeMessage));
}

/** The ranges that the node holds of those that are asked for, or an error. */
async function findRanges(
  server: ClusterServer,
  request: ClusterRequest,
  nodeId: string,
): Promise<Reply | readonly RangeInfo[]> {
  const { rangeDescriptors, maxDescriptorIds, tooManyIds } = server.quirks;
  if (rangeDescriptors === 'missing') return textAnswer(404, '404 page not found');
  if (rangeDescriptors === 'unimplemented') return textAnswer(501, 'Not Available on Tenants');
  const texts = request.query.getAll('range_ids');
  if (maxDescriptorIds > 0 && texts.length > maxDescriptorIds)
    return textAnswer(tooManyIds, 'too many range_ids');
  const caller: Account | Reply = callerOfCookie(server, request);
  if (typeof caller === 'string' || isRefusal(caller)) return caller;
  const refusal = refuseUnprivileged(server, caller);
  const refuse = (answer: Reply): Reply => errorInForm(server, request, answer);
  if (refusal !== undefined) return refuse(refusal);
  if (rangeDescriptors === 'forbidden')
    return refuse(textAnswer(403, 'user not allowed to access this endpoint'));
  const id = nodeId === 'local' ? request.node.id : goInteger(nodeId);
  const rangeIds = texts.map(goInteger);
  if (id === undefined || rangeIds.includes(undefined)) {
    return refuse(textAnswer(400, 'parsing "range_ids": invalid syntax'));
  }
  const node = server.world.state.nodes.get(id);
  const failure = await reach(server, request.node, node);
  if (failure !== undefined || node === undefined) return refuse(failure ?? internalError());
  if (node.silentOn !== 'nothing') return 'silence';
  const { state } = server.world;
  const wanted = rangeIds.flatMap((rangeId) => rangeId ?? []);
  return heldReplicas(state, wanted.length === 0 ? undefined : wanted)
    .filter(({ replica }) => replica.nodeId === node.id)
    .map((held) => rangeInfo(state, held));
}

type RangeInfo = ReturnType<typeof rangeInfo>;

/** As jsonpb writes it: camelCase, zeros included, int64 as strings, enums as integers. */
function rangeInfo(state: WorldState, { range, replica }: HeldReplica) {
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

/** The same as a message: of what JSON always has, zeros are left out, but not in the descriptor. */
function rangeMessage(range: RangeInfo): Field {
  const { desc, raftAppliedIndex } = range.state.state;
  const replicas = desc.internalReplicas.map(({ nodeId, storeId, replicaId, type }) =>
    messageField(
      4,
      [nodeId, storeId, replicaId, type].map((id, at) => integerField(at + 1, id)),
    ),
  );
  const descriptor = messageField(3, [
    integerField(1, BigInt(desc.rangeId)),
    bytesField(2, Buffer.from(desc.startKey, 'base64')),
    bytesField(3, Buffer.from(desc.endKey, 'base64')),
    ...replicas,
    integerField(5, desc.nextReplicaId),
    integerField(6, BigInt(desc.generation)),
  ]);
  const state = messageField(1, [integerField(1, BigInt(raftAppliedIndex)), descriptor]);
  const flags = [range.isLeaseholder, range.leaseValid].flatMap((flag, at) =>
    flag ? [integerField(23 + at, true)] : [],
  );
  const { startKey, endKey } = range.span;
  return messageField(1, [
    messageField(1, [bytesField(1, startKey), bytesField(2, endKey)]),
    messageField(4, [state, integerField(2, BigInt(range.state.lastIndex))]),
    integerField(5, range.sourceNodeId),
    integerField(6, range.sourceStoreId),
    ...flags,
  ]);
}

/** The valid lease that the replica knows. One that is behind knows a lease that has expired. */
function leaseKnownTo(state: WorldState, range: Range, replica: Replica): Lease | undefined {
  if (replica.knows !== undefined) return undefined;
  const lease = validLeaseOf(state, range);
  return lease !== undefined && canReach(state, lease.nodeId, replica.nodeId) ? lease : undefined;
}
