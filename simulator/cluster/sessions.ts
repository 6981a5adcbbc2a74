import { jsonAnswer, type Reply } from '../http/answer.ts';
import type { Account } from '../options.ts';
import { encodeJson } from '../wire/encoding.ts';
import { sessionElement } from '../wire/session.ts';
import { normalizeName } from '../world/accounts.ts';
import type { ClusterNode } from '../world/nodes.ts';
import { isInternal, sessionsOfNode } from '../world/session-list.ts';
import { INTERNAL_PREFIX, type Session } from '../world/sessions.ts';
import { listedNodes } from '../world/state.ts';
import { goInteger } from './page.ts';
import { reach } from './ranges.ts';
import { hasPrivilege, type ClusterRequest, type ClusterServer } from './request.ts';
import {
  sliceSessions,
  withMissingNodes,
  decodeProgress,
  encodeProgress,
  newProgress,
  type Progress,
} from './session-paging.ts';

/** A session at the time when its node responded; others may respond later. */
interface ListedSession {
  readonly session: Session;
  readonly atMs: number;
}

interface FanOut {
  readonly sessions: ListedSession[];
  readonly errors: { readonly node_id: number; readonly message: string }[];
  progress: Progress;
}

/** GET /sessions/: queries every listed node that is not decommissioned (5); one that fails becomes an entry of `errors`. */
export async function listSessions(
  server: ClusterServer,
  request: ClusterRequest,
  caller: Account,
): Promise<Reply> {
  const limit = pageLimit(server, goInteger(request.query.get('limit')) ?? 0);
  const found = await fanOut(server, request, caller, limit);
  return found === 'silence' ? found : jsonAnswer(200, sessionsBody(server, caller, found, limit));
}

/** The page size: the requested limit, unless the server's maximum is lower; 0 for no limit. */
function pageLimit({ quirks }: ClusterServer, requested: number): number {
  const cap = quirks.sessionsPageCap;
  return requested > 0 && cap > 0 ? Math.min(requested, cap) : requested;
}

async function fanOut(
  server: ClusterServer,
  request: ClusterRequest,
  caller: Account,
  limit: number,
): Promise<FanOut | 'silence'> {
  const nodes = listedNodes(server.world.state).filter(
    (node) => node.liveness !== 'decommissioned',
  );
  const given = limit > 0 ? decodeProgress(request.query.get('start') ?? '') : newProgress();
  const found: FanOut = { sessions: [], errors: [], progress: given };
  if (limit > 0)
    found.progress = withMissingNodes(
      given,
      nodes.map((node) => node.id),
    );
  const queried =
    limit > 0 ? [found.progress.current, ...found.progress.toQuery] : nodes.map((node) => node.id);
  for (const id of queried) {
    const node = server.world.state.nodes.get(id);
    if (node === undefined) continue;
    const failure = await reach(server, request.node, node);
    if (failure === 'silence') return 'silence';
    if (failure !== undefined) found.errors.push(errorEntry(node));
    else if (node.silentOn === 'ranges-and-sessions') return 'silence';
    else addNode(server, request, caller, found, node, limit);
    if (limit > 0 && found.sessions.length >= limit) break;
  }
  return found;
}

function addNode(
  server: ClusterServer,
  request: ClusterRequest,
  caller: Account,
  found: FanOut,
  node: ClusterNode,
  limit: number,
): void {
  const atMs = server.world.state.now();
  const sessions = visibleSessions(server, request, caller, node).map((session) => ({
    session,
    atMs,
  }));
  if (limit <= 0) {
    found.sessions.push(...sessions);
    return;
  }
  const left = limit - found.sessions.length;
  const cut = sliceSessions(found.progress, node.id, sessions.length, left);
  found.sessions.push(...sessions.slice(cut.start, cut.end));
  found.progress = cut.progress;
}

/** The sessions of a node that this caller may see, under the request's filters. */
function visibleSessions(
  server: ClusterServer,
  request: ClusterRequest,
  caller: Account,
  node: ClusterNode,
): Session[] {
  const { quirks, world } = server;
  const seesAll =
    quirks.gate === 'none' ||
    hasPrivilege(caller, 'VIEWACTIVITY') ||
    hasPrivilege(caller, 'VIEWACTIVITYREDACTED');
  const wanted = normalizeName(request.query.get('username') ?? '');
  const noClosed =
    !quirks.closedSessions ||
    (quirks.excludeClosed && request.query.get('exclude_closed_sessions') === 'true');
  return sessionsOfNode(world.state, node.id).filter(
    (session) =>
      (seesAll || session.username === caller.name) &&
      (wanted === '' || session.username === wanted) &&
      (!noClosed || session.endMs === undefined) &&
      (quirks.internalSessions || !isInternal(session)),
  );
}

function errorEntry(node: ClusterNode): FanOut['errors'][number] {
  const liveness = node.liveness.toUpperCase();
  const message =
    node.process === 'partitioned'
      ? `error requesting session list from node ${node.id} (${liveness}): rpc error: code = Unavailable`
      : `failed to dial into node ${node.id} (${liveness}): connection refused`;
  return { node_id: node.id, message };
}

function* sessionsBody(
  server: ClusterServer,
  caller: Account,
  found: FanOut,
  limit: number,
): Generator<string> {
  const redacted = !hasPrivilege(caller, 'VIEWACTIVITY');
  const view = ({ session, atMs }: ListedSession): object =>
    sessionElement(session, server.quirks, {
      nowMs: atMs,
      redacted: redacted && session.username !== caller.name,
    });
  yield '{"sessions":[';
  for (const [index, seen] of found.sessions.entries()) {
    yield (index === 0 ? '' : ',') + encodeJson(view(seen));
  }
  yield `],"errors":${encodeJson(found.errors)}`;
  yield `,"internal_app_name_prefix":${encodeJson(INTERNAL_PREFIX)}`;
  yield `${nextMember(server, found, limit)}}`;
}

/** The real server always sends a token, even after the last page; others omit it then. */
function nextMember(server: ClusterServer, found: FanOut, limit: number): string {
  const { progress } = found;
  const finished = progress.current === 0 && progress.toQuery.length === 0;
  if (server.quirks.sessionsNext === 'until-end' && (limit <= 0 || finished)) return '';
  return `,"next":${encodeJson(encodeProgress(progress))}`;
}
