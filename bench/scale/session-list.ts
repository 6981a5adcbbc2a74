import {
  sliceSessions,
  withMissingNodes,
  decodeProgress,
  encodeProgress,
  newProgress,
} from '../../simulator/cluster/session-paging.ts';
import type { Quirks } from '../../simulator/quirks.ts';
import { encodeJson } from '../../simulator/wire/encoding.ts';
import { sessionElement } from '../../simulator/wire/session.ts';
import { isInternal, sessionsOfNode } from '../../simulator/world/session-list.ts';
import { INTERNAL_PREFIX } from '../../simulator/world/sessions.ts';
import type { WorldState } from '../../simulator/world/state.ts';
import { FIRST_NODE_ID, nodeIdAt, type Layout } from './layout.ts';
import { writeDigits } from './range-pages.ts';

/** GET /sessions/ of many nodes that all have the same clients. */
export interface SessionList {
  /** The whole body of one page, in pieces. */
  body(limit: number, start: string): Generator<Buffer>;
}

interface Share {
  readonly node: number;
  readonly start: number;
  readonly end: number;
}

export function createSessionList(layout: Layout, state: WorldState, quirks: Quirks): SessionList {
  const texts = sessionsOfNode(state, 1)
    .filter((session) => session.endMs === undefined && !isInternal(session))
    .map((session) =>
      encodeJson(
        sessionElement({ ...session, nodeId: FIRST_NODE_ID }, quirks, {
          nowMs: state.now(),
          redacted: true,
        }),
      ),
    );
  const elements = texts.map((text) => Buffer.from(`,${text}`));
  return {
    *body(limit, start) {
      const { shares, next } = divide(layout, elements.length, limit, start);
      yield Buffer.from('{"sessions":[');
      let isFirst = true;
      for (const share of shares) {
        if (share.end === share.start) continue;
        const piece = withNodeId(elements.slice(share.start, share.end), nodeIdAt(share.node));
        yield isFirst ? piece.subarray(1) : piece;
        isFirst = false;
      }
      const prefix = encodeJson(INTERNAL_PREFIX);
      yield Buffer.from(`],"errors":[],"internal_app_name_prefix":${prefix},"next":"${next}"}`);
    },
  };
}

/** The position of the node id in an element after a comma. */
const NODE_ID_AT = ',{"node_id":'.length;

function withNodeId(elements: readonly Buffer[], nodeId: number): Buffer {
  const piece = Buffer.concat(elements);
  let at = 0;
  for (const element of elements) {
    writeDigits(piece, at + NODE_ID_AT, nodeId, 3);
    at += element.length;
  }
  return piece;
}

/** The sessions of a page by node, and the token of the next page. */
function divide(
  layout: Layout,
  perNode: number,
  limit: number,
  start: string,
): { shares: Share[]; next: string } {
  const nodes = Array.from({ length: layout.nodes }, (_, node) => node);
  if (limit <= 0) {
    const shares = nodes.map((node) => ({ node, start: 0, end: perNode }));
    return { shares, next: encodeProgress(newProgress()) };
  }
  let progress = withMissingNodes(decodeProgress(start), nodes.map(nodeIdAt));
  const shares: Share[] = [];
  let left = limit;
  for (const id of [progress.current, ...progress.toQuery]) {
    if (left <= 0 || id === 0) break;
    const cut = sliceSessions(progress, id, perNode, left);
    shares.push({ node: id - FIRST_NODE_ID, start: cut.start, end: cut.end });
    left -= cut.end - cut.start;
    progress = cut.progress;
  }
  return { shares, next: encodeProgress(progress) };
}
