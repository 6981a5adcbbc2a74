import { internalError, jsonAnswer, type Answer } from '../http/answer.ts';
import type { Account } from '../options.ts';
import { encodeJson } from '../wire/encoding.ts';
import { hasPrivilege } from './caller.ts';
import { listBody } from './nodes.ts';
import { goInteger } from './page.ts';
import type { ClusterRequest, ClusterServer } from './request.ts';

/** GET /users/: needs SELECT on system.users; with limit the server builds SQL that does not parse. */
export function listUsers(server: ClusterServer, request: ClusterRequest, caller: Account): Answer {
  if (!hasPrivilege(caller, 'SELECT_USERS')) return internalError();
  const limit = Math.max(0, goInteger(request.query.get('limit')) ?? 0);
  if (limit > 0 && server.quirks.usersLimit === 'broken') return internalError();
  const offset = limit > 0 ? Math.max(0, goInteger(request.query.get('offset')) ?? 0) : 0;
  const names = server.world.state.accounts.map((account) => account.name);
  const page = limit > 0 ? names.slice(offset, offset + limit) : names;
  // A full page announces another one, which may turn out to be empty.
  const next = limit > 0 && page.length >= limit ? offset + page.length : undefined;
  const elements = page.map((username) => () => encodeJson({ username }));
  const empty = server.quirks.nullArrays ? 'null' : '[]';
  return jsonAnswer(200, listBody('users', elements, next, empty));
}
