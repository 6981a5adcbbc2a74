import { internalError, jsonAnswer, type Answer, textAnswer, unknownPath } from '../http/answer.ts';
import type { Account } from '../options.ts';
import { encodeJson } from '../wire/encoding.ts';
import { tableBody } from '../wire/table.ts';
import { goInteger, listBody } from './page.ts';
import { hasPrivilege, type ClusterRequest, type ClusterServer } from './request.ts';

/** GET /users/: needs SELECT on system.users; with limit the server creates invalid SQL. */
export function listUsers(server: ClusterServer, request: ClusterRequest, caller: Account): Answer {
  if (!hasPrivilege(caller, 'SELECT_USERS')) return internalError();
  const limit = Math.max(0, goInteger(request.query.get('limit')) ?? 0);
  if (limit > 0 && server.quirks.usersLimit === 'broken') return internalError();
  const offset = limit > 0 ? Math.max(0, goInteger(request.query.get('offset')) ?? 0) : 0;
  const names = server.world.state.accounts.map((account) => account.name);
  const page = limit > 0 ? names.slice(offset, offset + limit) : names;
  // A full page announces another one, which may be empty.
  const next = limit > 0 && page.length >= limit ? offset + page.length : undefined;
  const elements = page.map((username) => () => encodeJson({ username }));
  const empty = server.quirks.nullArrays ? 'null' : '[]';
  return jsonAnswer(200, listBody('users', elements, next, empty));
}

/** GET /databases/{db}/tables/{t}/: the router accepts plain names only, SQL folds them to lower case. */
export function describeTable(
  server: ClusterServer,
  databasePart: string,
  tablePart: string,
): Answer {
  const database = decodeName(databasePart, server.quirks.quotedNames);
  const name = decodeName(tablePart, server.quirks.quotedNames);
  if (database === undefined || name === undefined) return unknownPath();
  const [schema, table] = name.includes('.') ? splitOnce(name) : ['public', name];
  const found = server.world.state.tables.find(
    (each) => each.database === database && each.schema === schema && each.name === table,
  );
  if (found === undefined) return textAnswer(404, 'database or table not found');
  return jsonAnswer(200, encodeJson(tableBody(server.world.state, server.quirks, found)));
}

function splitOnce(name: string): [string, string] {
  const dot = name.indexOf('.');
  return [name.slice(0, dot), name.slice(dot + 1)];
}

/** The name in SQL; undefined when the router does not accept it. */
function decodeName(part: string, quotedNames: boolean): string | undefined {
  if (/^[A-Za-z0-9_.]+$/.test(part)) return part.toLowerCase();
  if (!quotedNames) return undefined;
  const text = part.replaceAll('%22', '"');
  if (!/^(?:[A-Za-z0-9_]+|"[^"]+")(?:\.(?:[A-Za-z0-9_]+|"[^"]+"))?$/.test(text)) {
    return undefined;
  }
  return text.replace(/"([^"]+)"|([^".]+)/g, (whole, quoted: string | undefined) =>
    quoted === undefined ? whole.toLowerCase() : quoted,
  );
}
