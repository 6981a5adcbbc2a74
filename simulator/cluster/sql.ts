import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, jsonAnswer } from '../http/answer.ts';
import type { Account, SqlResult } from '../options.ts';
import type { Quirks } from '../quirks.ts';
import { encodeJson, timeText } from '../wire/encoding.ts';
import { hasPrivilege, headerOf, type ClusterRequest, type ClusterServer } from './request.ts';
import { createSqlResults } from './sql-results.ts';
import { createWorldResults } from './sql-world.ts';

/** The body of a request, with the defaults of the server. */
interface SqlRequest {
  readonly sql: string;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly executes: boolean;
}

interface SqlError {
  readonly code: string;
  readonly message: string;
}

/** SQLSTATE of an error without a code of its own. */
const UNCATEGORIZED = 'XXUUU';
const DEFAULT_TIMEOUT_MS = 5_000;
const DEFAULT_MAX_BYTES = 10_000;
/** Memory of a number, and of a text beside its bytes. */
const DATUM_BYTES = 8;
const TEXT_BYTES = 16;

/** OIDs of types. */
const OIDS: Readonly<Record<string, number>> = { INT8: 20, STRING: 25, FLOAT8: 701 };

/** POST /sql/: canned results of one statement. Errors of the execution, and rows before them, come with status 200. */
export async function executeSql(
  server: ClusterServer,
  request: ClusterRequest,
  caller: Account,
): Promise<Answer> {
  if (request.method !== 'POST') return failed(server, 405, uncategorized('only POST supported'));
  const contentType = headerOf(request, 'content-type');
  if (contentType !== 'application/json' && contentType !== 'application/octet-stream') {
    const text = `expecting content-type json: "${contentType}"`;
    return failed(server, 400, uncategorized(text));
  }
  const parsed = readRequest(request.body);
  if ('code' in parsed) return failed(server, 400, parsed);
  if (!parsed.executes) return jsonAnswer(200, encodeJson({ num_statements: 1, request: {} }));
  const canned = [
    ...server.options.sqlResults,
    ...createWorldResults(server.world.state),
    ...createSqlResults(server.world.state),
  ].find(({ contains }) => parsed.sql.includes(contains));
  const refusal = refuse(canned, caller);
  if (canned === undefined || refusal !== undefined) {
    return executed(server, [], [], refusal);
  }
  const delayMs = canned.delayMs ?? 0;
  if (delayMs > 0) await sleep(Math.min(delayMs, parsed.timeoutMs));
  const { rows } = canned;
  if (delayMs >= parsed.timeoutMs) {
    const seconds = `${parsed.timeoutMs / 1000}s`;
    const text = `operation "run-sql-via-api" timed out after ${seconds} (given timeout ${seconds}): context deadline exceeded`;
    return executed(server, canned.columns, rows.slice(0, 1), executionError(UNCATEGORIZED, text));
  }
  const fitting = rows.slice(0, countFitting(rows, parsed.maxBytes) + 1);
  const isTooLarge =
    fitting.length < rows.length || countFitting(rows, parsed.maxBytes) < rows.length;
  const tooLarge = executionError(UNCATEGORIZED, 'max result size exceeded', false);
  return executed(server, canned.columns, fitting, isTooLarge ? tooLarge : undefined);
}

/** The parts of the body that the simulator uses, or what is wrong with it. */
function readRequest(body: string): SqlRequest | SqlError {
  let document: unknown;
  try {
    document = JSON.parse(body);
  } catch {
    return uncategorized('unexpected end of JSON input');
  }
  const members = new Map<string, unknown>(Object.entries(Object(document)));
  const statements: unknown = members.get('statements');
  const texts = (Array.isArray(statements) ? statements : []).map((each: unknown) =>
    String(new Map<string, unknown>(Object.entries(Object(each))).get('sql')),
  );
  const [sql] = texts;
  if (sql === undefined) return uncategorized('no statements specified');
  const { timeout: written } = Object.fromEntries(members);
  const timeout = typeof written === 'string' ? written : '';
  const [, count = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(timeout) ?? [];
  if (timeout !== '' && count === '') return uncategorized(`time: invalid duration "${timeout}"`);
  const unitMs = { ms: 1, s: 1000, m: 60_000 }[unit] ?? 1;
  return (
    findSyntaxError(sql) ?? {
      sql,
      timeoutMs: timeout === '' ? DEFAULT_TIMEOUT_MS : Number(count) * unitMs,
      maxBytes: Number(members.get('max_result_size')) || DEFAULT_MAX_BYTES,
      executes: members.get('execute') === true,
    }
  );
}

/** What the parser would say of the plainest mistakes. */
function findSyntaxError(sql: string): SqlError | undefined {
  const statements = sql.split(';').filter((text) => text.trim() !== '').length;
  if (statements !== 1) {
    return uncategorized(`parsing statement 1: expecting 1 statement, found ${statements}`);
  }
  const open = sql.split('(').length - sql.split(')').length;
  if (open === 0) return undefined;
  return { code: '42601', message: 'parsing statement 1: at or near "EOF": syntax error' };
}

function refuse(canned: SqlResult | undefined, caller: Account): SqlError | undefined {
  if (canned === undefined) return executionError('42P01', 'relation "unknown" does not exist');
  const { privilege, relation } = canned;
  if (privilege === undefined || hasPrivilege(caller, privilege)) return undefined;
  const what =
    relation === undefined
      ? `user ${caller.name} does not have ${privilege} system privilege`
      : `user ${caller.name} does not have SELECT privilege on relation ${relation}`;
  return executionError('42501', what);
}

function uncategorized(message: string): SqlError {
  return { code: UNCATEGORIZED, message };
}

function executionError(code: string, text: string, isOfQuery = true): SqlError {
  return { code, message: `executing stmt 1: ${isOfQuery ? 'run-query-via-api: ' : ''}${text}` };
}

/** The rows before the one that exceeds the limit. */
function countFitting(rows: readonly (readonly unknown[])[], maxBytes: number): number {
  let bytes = 0;
  const end = rows.findIndex((row) => {
    for (const value of row) {
      bytes += typeof value === 'string' ? TEXT_BYTES + value.length : DATUM_BYTES;
    }
    return bytes > maxBytes;
  });
  return end === -1 ? rows.length : end;
}

/** An error before the execution. */
function failed(server: ClusterServer, status: number, found: SqlError): Answer {
  return jsonAnswer(status, encodeJson({ [errorName(server)]: errorBody(found) }));
}

/** The API document calls it otherwise than servers. */
function errorName({ quirks }: ClusterServer): string {
  return quirks.sqlErrorMember;
}

function errorBody({ code, message }: SqlError): object {
  return { code, message, severity: 'ERROR' };
}

function executed(
  server: ClusterServer,
  columns: SqlResult['columns'],
  rows: readonly (readonly unknown[])[],
  found: SqlError | undefined,
): Answer {
  const { quirks, world } = server;
  const time = timeText(world.state.now());
  const changed = change(quirks.sqlResult, columns, rows);
  const refused =
    quirks.sqlResult === 'refused' ? executionError('XX000', 'internal error') : found;
  const isPartial = quirks.sqlResult === 'partial';
  const failure = isPartial ? executionError('40001', 'restart transaction') : refused;
  const result = {
    statement: 1,
    tag: 'SELECT',
    start: time,
    end: time,
    rows_affected: 0,
    ...(changed.columns.length > 0 && { columns: changed.columns.map(describeColumn) }),
    ...((changed.rows.length > 0 || quirks.writeZeros) && {
      rows: changed.rows.map((row) =>
        Object.fromEntries(changed.columns.map(([name], index) => [name, row[index]])),
      ),
    }),
    ...(failure !== undefined && { error: errorBody(failure) }),
  };
  const results = quirks.sqlResult === 'twice' ? [result, { ...result, statement: 2 }] : [result];
  const body = {
    ...(failure !== undefined && { [errorName(server)]: errorBody(failure) }),
    num_statements: 1,
    execution: { ...(quirks.writeZeros && { retries: 0 }), txn_results: results },
  };
  return jsonAnswer(200, encodeJson(body));
}

function describeColumn([name, type]: readonly [string, string]): object {
  return { name, type, oid: OIDS[type] ?? 0 };
}

const HUGE_INTEGER = JSON.rawJSON(String(2n ** 53n + 1n));

/** A result as a statement returns it that was written without care. */
function change(
  way: Quirks['sqlResult'],
  columns: SqlResult['columns'],
  rows: readonly (readonly unknown[])[],
): Pick<SqlResult, 'columns'> & { readonly rows: readonly (readonly unknown[])[] } {
  const last = columns.length - 1;
  const withLast = (value: unknown) => rows.map((row) => [...row.slice(0, last), value]);
  switch (way) {
    case 'text':
      return { columns, rows: withLast('many') };
    case 'nan':
      return { columns, rows: withLast('NaN') };
    case 'huge':
      return { columns, rows: withLast(HUGE_INTEGER) };
    case 'null':
      return { columns, rows: withLast(null) };
    case 'duplicate':
      return { columns, rows: [...rows, ...rows.slice(0, 1)] };
    case 'missing':
      return { columns: columns.slice(0, last), rows: rows.map((row) => row.slice(0, last)) };
    default:
      return { columns, rows };
  }
}
