import { jsonAnswer, textAnswer, unknownPath, type Answer } from '../http/answer.ts';
import { encodeJson } from '../wire/encoding.ts';
import { tableBody } from '../wire/table.ts';
import type { ClusterServer } from './request.ts';

/** GET /databases/{db}/tables/{t}/: the router knows plain names only, SQL folds them to lower case. */
export function describeTable(
  server: ClusterServer,
  databasePart: string,
  tablePart: string,
): Answer {
  const database = decodeName(databasePart, server.quirks.quotedNames);
  const name = decodeName(tablePart, server.quirks.quotedNames);
  if (database === undefined || name === undefined) return unknownPath();
  const [schema, table] = name.includes('.') ? cutOnce(name) : ['public', name];
  const found = server.world.state.tables.find(
    (each) => each.database === database && each.schema === schema && each.name === table,
  );
  if (found === undefined) return textAnswer(404, 'database or table not found');
  return jsonAnswer(200, encodeJson(tableBody(server.world.state, server.quirks, found)));
}

function cutOnce(name: string): [string, string] {
  const dot = name.indexOf('.');
  return [name.slice(0, dot), name.slice(dot + 1)];
}

/** The name that SQL looks for; undefined when the router does not let it through. */
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
