import type { FailureReason } from '#base';
import { array, decodeValue, nameText, object, optional, raw, record } from '#json';
import type { ApiLogin } from './api-login.ts';
import { type FailureDetails, RequestError } from './http/errors.ts';
import type { PollStats } from './http/poll-stats.ts';
import { bufferBody } from './http/request.ts';

/** One statement, and what the server may spend on it. */
export interface SqlRequest {
  /** How messages name it: `query jobs`. */
  readonly name: string;
  readonly sql: string;
  readonly database: string;
  /** The server ends the statement after this time. */
  readonly timeoutMs: number;
}

/** The rows of a statement, by column; a NULL is missing in its row. */
export interface SqlRows {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly ReadonlyMap<string, unknown>[];
}

/** The server ends a statement whose rows need more memory. */
const MAX_RESULT_BYTES = 256 * 1024;
/** The rows as JSON, with the name of each column in each row. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
/** The response may take this much longer than the statement. */
const RESPONSE_MS = 2_000;
const APPLICATION = 'crdb-exporter';

const errorShape = object({ code: nameText(), message: nameText() });
const columnShape = object({ name: nameText(), type: nameText() });

/** The API document calls the error of the whole response `txn_error`. */
export const sqlShape = object({
  error: optional(errorShape),
  txn_error: optional(errorShape),
  execution: object({
    txn_results: array(
      object({
        error: optional(errorShape),
        columns: array(columnShape),
        rows: array(record(raw())),
      }),
    ),
  }),
});

/** One statement failed; others may succeed. The message names no part of the statement, and no value. */
export class StatementError extends RequestError {
  /** SQLSTATE, where the server refused or ended the statement. */
  readonly sqlState: string | undefined;

  constructor(
    reason: FailureReason,
    message: string,
    details: FailureDetails & { readonly sqlState?: string } = {},
  ) {
    super(reason, message, { ...details, endpoint: 'sql', blames: 'nobody' });
    this.sqlState = details.sqlState;
  }
}

/** An error of the server, as its responses have it. */
interface ServerError {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

/**
 * POST /sql/ with one statement. Rejects with a StatementError where the server has responded to the statement itself: with an
 * error, which comes with status 200 and perhaps with some of the rows, or with a result of another form.
 */
export async function runStatement(
  login: Pick<ApiLogin, 'send'>,
  decodeErrors: (count: number) => void,
  stats: PollStats,
  { name, sql, database, timeoutMs }: SqlRequest,
): Promise<SqlRows> {
  const body = {
    execute: true,
    database,
    application_name: APPLICATION,
    timeout: `${Math.ceil(timeoutMs)}ms`,
    max_result_size: MAX_RESULT_BYTES,
    statements: [{ sql }],
  };
  const read = async () => {
    try {
      return await login.send({
        endpoint: 'sql',
        name,
        path: '/sql/',
        body: JSON.stringify(body),
        stats,
        // A slow or wrong statement is no reason to skip the next one.
        blames: 'nobody',
        headersMs: timeoutMs + RESPONSE_MS,
        ...bufferBody(MAX_RESPONSE_BYTES, (bytes) => decodeValue(bytes, sqlShape)),
      });
    } catch (error) {
      throw toStatementError(error, name, stats);
    }
  };
  const { value, wrongTypes } = await read();
  decodeErrors(wrongTypes);
  const [result, ...others] = value.execution.txn_results;
  const failure = value.error ?? value.txn_error ?? result?.error;
  if (failure !== undefined) throw refusal(name, failure);
  if (result === undefined || others.length > 0 || wrongTypes > 0) {
    throw new StatementError('decode', `${name}: the response is not the result of one statement`);
  }
  const columns = result.columns.map((column) => ({
    name: column.name ?? '',
    type: column.type ?? '',
  }));
  stats.items += result.rows.length;
  return { columns, rows: result.rows };
}

/** Failures of this request alone: syntax errors, rows that the server cannot encode, and no response in time. */
function toStatementError(error: unknown, name: string, { signal }: PollStats): unknown {
  // Without a login no statement was sent.
  if (!(error instanceof RequestError) || error.endpoint === 'login') return error;
  const { status, serverText, reason, message } = error;
  if (status === 400 && reason !== 'auth') {
    return refusal(name, readServerError(serverText), status);
  }
  const isOfStatement =
    status === 500 ||
    reason === 'decode' ||
    reason === 'limit' ||
    (reason === 'timeout' && status === undefined && !signal.aborted);
  if (!isOfStatement) return error;
  const { cause, limit } = error;
  return new StatementError(reason, message, { status, serverText, cause, limit });
}

/** The text may be cut: its start is enough. */
function readServerError(text: string): ServerError {
  const code = /"code"\s*:\s*"(\w{5})"/.exec(text)?.[1];
  const written = /"message"\s*:\s*"((?:[^"\\]|\\.)*)"/s.exec(text)?.[1];
  return { code, message: written === undefined ? text : unescapeJson(written) };
}

/** A JSON text without its quotes; as it stands where it is none, as of a proxy that rewrites errors: `a\x41`. */
function unescapeJson(written: string): string {
  try {
    return String(JSON.parse(`"${written}"`));
  } catch (error) {
    if (error instanceof SyntaxError) return written;
    throw error;
  }
}

/** The SQLSTATE of a statement that ran into its timeout. */
const QUERY_CANCELED = '57014';
const INSUFFICIENT_PRIVILEGE = '42501';
const TIMED_OUT = /timed out|deadline exceeded|statement timeout|context canceled/i;
const TOO_LARGE = /max result size exceeded/i;

/** The failure of a statement that the server refused or ended. Its text only chooses the reason. */
function refusal(
  name: string,
  { code = '', message = '' }: ServerError,
  status?: number,
): StatementError {
  const sqlState = /^[0-9A-Z]{5}$/.test(code) ? code : 'unknown';
  const details = { sqlState, status, serverText: message };
  if (TOO_LARGE.test(message)) {
    const text = `${name}: the result is larger than ${MAX_RESULT_BYTES / 1024} KiB`;
    return new StatementError('limit', text, { ...details, limit: 'bytes' });
  }
  if (code === QUERY_CANCELED || TIMED_OUT.test(message)) {
    return new StatementError('timeout', `${name}: the server ended it at its timeout`, details);
  }
  const text = `${name}: the server refused the statement (SQLSTATE ${sqlState})`;
  const reason = code === INSUFFICIENT_PRIVILEGE ? 'forbidden' : 'http';
  return new StatementError(reason, text, details);
}
