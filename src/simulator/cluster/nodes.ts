import { internalError, jsonAnswer, unencodableAnswer, type Answer } from '../http/answer.ts';
import { encodeJson } from '../wire/encoding.ts';
import { nodeElement } from '../wire/node.ts';
import { cutPage } from './page.ts';
import type { ClusterRequest, ClusterServer } from './request.ts';

/** GET /nodes/: every node with a status record, by id. A partitioned node cannot read the records. */
export function listNodes(server: ClusterServer, request: ClusterRequest): Answer {
  const { world, quirks } = server;
  if (request.node.process === 'partitioned') return internalError();
  if (quirks.unencodable === 'nodes') return unencodableAnswer();
  const page = cutPage([...world.state.nodes.values()], request.query);
  return jsonAnswer(
    200,
    listBody(
      'nodes',
      page.items.map((node) => () => encodeJson(nodeElement(world.state, quirks, node))),
      page.next,
      quirks.nullArrays ? 'null' : '[]',
    ),
  );
}

/** A list and `next`, element by element. */
export function* listBody(
  name: string,
  elements: readonly (() => string)[],
  next: number | undefined,
  empty: string,
): Generator<string> {
  yield `{"${name}":`;
  if (elements.length === 0) yield empty;
  let separator = '[';
  for (const element of elements) {
    yield separator;
    yield element();
    separator = ',';
  }
  if (elements.length > 0) yield ']';
  yield next === undefined ? '}' : `,"next":${next}}`;
}
