import type { Quirks } from '../../simulator/quirks.ts';
import { encodeJson } from '../../simulator/wire/encoding.ts';
import { nodeElement } from '../../simulator/wire/node.ts';
import type { ClusterNode } from '../../simulator/world/nodes.ts';
import { recordOf } from '../../simulator/world/records.ts';
import type { WorldState } from '../../simulator/world/state.ts';
import { type DeadNodes, nodeIdAt, storeIdAt, type Layout } from './layout.ts';

/** Placeholder for the metrics, which are inserted as rendered bytes. */
const PLACEHOLDER = { '@': 1 };
const PLACEHOLDER_TEXT = encodeJson(PLACEHOLDER);

/** GET /nodes/ of many nodes that all have the same metrics. */
export interface NodeList {
  /** The elements from one node to another, in pieces, with commas between them. */
  elements(from: number, to: number, nowMs: number, dead: DeadNodes): Generator<Buffer>;
}

export function createNodeList(
  layout: Layout,
  state: WorldState,
  quirks: Quirks,
  model: ClusterNode,
): NodeList {
  const record = recordOf(state, model);
  const metrics = Buffer.from(encodeJson(record.metrics));
  const [firstStore] = record.stores.values();
  const storeMetrics = Buffer.from(encodeJson(firstStore ?? {}));
  return {
    *elements(from, to, nowMs, dead) {
      for (let node = from; node < to; node++) {
        const text = encodeJson(
          nodeElement(state, quirks, {
            ...placeholderNode(layout, model, node, nowMs),
            liveness: dead.has(node) ? 'dead' : 'live',
          }),
        );
        const [head = '', ...rest] = text.split(PLACEHOLDER_TEXT);
        yield Buffer.from((node === from ? '' : ',') + head);
        for (const [index, part] of rest.entries()) {
          yield index === 0 ? metrics : storeMetrics;
          yield Buffer.from(part);
        }
      }
    },
  };
}

/** The model with another id and a current record. */
function placeholderNode(
  layout: Layout,
  model: ClusterNode,
  node: number,
  nowMs: number,
): ClusterNode {
  const stores = Array.from({ length: layout.storesPerNode }, (_, index) =>
    storeIdAt(layout, node, index * layout.replicasPerStore),
  );
  return {
    ...model,
    id: nodeIdAt(node),
    host: `crdb-${nodeIdAt(node)}.example.internal`,
    frozenRecord: {
      startedAtMs: model.startedAtMs,
      updatedAtMs: nowMs,
      metrics: PLACEHOLDER,
      stores: new Map(stores.map((id) => [id, PLACEHOLDER])),
    },
  };
}
