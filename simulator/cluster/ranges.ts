import { setTimeout as wait } from 'node:timers/promises';
import {
  internalError,
  jsonAnswer,
  textAnswer,
  unencodableAnswer,
  type Answer,
  type Reply,
} from '../http/answer.ts';
import { encodeJson } from '../wire/encoding.ts';
import { rangeElement } from '../wire/range.ts';
import { heldReplicas } from '../world/held-replicas.ts';
import type { ClusterNode } from '../world/nodes.ts';
import { churnRanges } from '../world/range-actions.ts';
import type { HeldReplica } from '../world/ranges.ts';
import { canReach } from '../world/reachability.ts';
import { slicePage, goInteger, listBody } from './page.ts';
import type { ClusterRequest, ClusterServer } from './request.ts';

const MAX_NODE_ID = 2 ** 31 - 1;

/** GET /nodes/{id}/ranges/: the replicas on the stores of a node, on any gateway. */
export async function listNodeRanges(
  server: ClusterServer,
  request: ClusterRequest,
  nodeId: string,
): Promise<Reply> {
  const id = nodeId === 'local' ? request.node.id : goInteger(nodeId);
  if (id === undefined || id <= 0 || id > MAX_NODE_ID) return textAnswer(400, 'invalid node ID');
  const asked = server.quirks.ignoreRangeIds ? null : request.query.get('ranges');
  const wanted = parseRangeIds(asked ?? '');
  if (wanted === 'invalid') return textAnswer(400, 'invalid range ID');
  const node = server.world.state.nodes.get(id);
  const failure = await reach(server, request.node, node);
  if (failure !== undefined || node === undefined) return failure ?? internalError();
  if (node.silentOn !== 'nothing') return 'silence';
  if (server.quirks.unencodable === 'ranges') return unencodableAnswer();
  const replicas = replicasOf(server, node, wanted);
  const answer = listReplicas(server, request, replicas);
  // The list is complete before the first byte is sent, whatever part of it was asked for.
  const preparationMs = (replicas.length * server.quirks.replicaMicros) / 1000;
  if (preparationMs > 0) await wait(preparationMs, undefined, { ref: false });
  return answer;
}

/** The range ids; undefined for all. */
function parseRangeIds(text: string): ReadonlySet<number> | undefined | 'invalid' {
  if (text === '') return undefined;
  const ids = text.split(',').map(goInteger);
  const known = ids.filter((id) => id !== undefined);
  return known.length === ids.length ? new Set(known) : 'invalid';
}

/** The failure of a call from one node to another; undefined when it succeeds. */
export async function reach(
  server: ClusterServer,
  from: ClusterNode,
  to: ClusterNode | undefined,
): Promise<Reply | undefined> {
  if (to === undefined) return internalError();
  if (canReach(server.world.state, from.id, to.id)) return undefined;
  if (to.process === 'frozen') return 'silence';
  if (server.quirks.deadNode === 'hang') return 'silence';
  if (server.quirks.deadNode === 'after-delay') {
    await wait(server.quirks.deadNodeDelayMs, undefined, { ref: false });
  }
  return internalError();
}

/** One page of the list. It is a copy, which later changes of the world do not reach. */
function listReplicas(
  { world: { state }, quirks }: ClusterServer,
  request: ClusterRequest,
  replicas: readonly HeldReplica[],
): Answer {
  const page = slicePage(replicas, request.query);
  const texts = page.items.map(({ range, replica }) =>
    encodeJson(rangeElement(state, quirks, range, replica)),
  );
  for (const { replica } of page.items) replica.passing.clear();
  if (quirks.rangeChurn && page.next !== undefined) churnRanges(state);
  const elements = texts.map((text) => () => text);
  return jsonAnswer(200, listBody('ranges', elements, page.next, '[]'));
}

/** Store by store, within a store ascending range ids. */
function replicasOf(
  { world: { state }, quirks, storeOrder }: ClusterServer,
  node: ClusterNode,
  wanted: ReadonlySet<number> | undefined,
): readonly HeldReplica[] {
  const stores = quirks.storeOrder === 'random' ? storeOrder.drawn(node) : node.stores;
  const byStore = new Map(stores.map((store) => [store.id, [] as HeldReplica[]]));
  for (const held of heldReplicas(state, wanted)) {
    if (held.replica.nodeId === node.id) byStore.get(held.replica.storeId)?.push(held);
  }
  return [...byStore.values()].flat();
}
