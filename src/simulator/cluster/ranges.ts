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
import type { ClusterNode } from '../world/nodes.ts';
import { churnRanges } from '../world/range-actions.ts';
import type { Range, Replica } from '../world/ranges.ts';
import type { WorldState } from '../world/state.ts';
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
  const wanted = parseRangeIds(request.query.get('ranges') ?? '');
  if (wanted === 'invalid') return textAnswer(400, 'invalid range ID');
  const node = server.world.state.nodes.get(id);
  const failure = await reach(server, request.node, node);
  if (failure !== undefined || node === undefined) return failure ?? internalError();
  if (node.silentOn !== 'nothing') return 'silence';
  if (server.quirks.unencodable === 'ranges') return unencodableAnswer();
  return listReplicas(server, request, node, wanted);
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
  if (to === from && to.process !== 'frozen') return undefined;
  if (to.process === 'frozen') return 'silence';
  if (to.process === 'up' && from.process === 'up') return undefined;
  if (server.quirks.deadNode === 'hang') return 'silence';
  if (server.quirks.deadNode === 'after-delay') {
    await wait(server.quirks.deadNodeDelayMs, undefined, { ref: false });
  }
  return internalError();
}

function listReplicas(
  server: ClusterServer,
  request: ClusterRequest,
  node: ClusterNode,
  wanted: ReadonlySet<number> | undefined,
): Answer {
  const { state } = server.world;
  const page = slicePage(replicasOf(state, node, wanted), request.query);
  const elements = page.items.map(
    ({ range, replica }) =>
      () =>
        encodeJson(rangeElement(state, server.quirks, range, replica)),
  );
  if (!server.quirks.rangeChurn || page.next === undefined) {
    return jsonAnswer(200, listBody('ranges', elements, page.next, '[]'));
  }
  const body = elements.map((element) => element()).map((text) => () => text);
  churnRanges(state);
  return jsonAnswer(200, listBody('ranges', body, page.next, '[]'));
}

/** Stores in the node's order, within a store ascending range ids. */
function replicasOf(
  state: WorldState,
  node: ClusterNode,
  wanted: ReadonlySet<number> | undefined,
): { range: Range; replica: Replica }[] {
  const byStore = new Map(
    node.stores.map((store) => [store.id, [] as { range: Range; replica: Replica }[]]),
  );
  for (const range of state.ranges.values()) {
    if (wanted !== undefined && !wanted.has(range.id)) continue;
    for (const replica of range.replicas) {
      if (replica.nodeId === node.id) byStore.get(replica.storeId)?.push({ range, replica });
    }
  }
  return [...byStore.values()].flat();
}
