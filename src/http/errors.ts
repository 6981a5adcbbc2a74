import { JsonError } from '../json/errors.ts';

/** Why a poll failed; the closed list of the label `reason` of crdb_exporter_poll_failures_total. */
export type FailureReason =
  | 'timeout'
  | 'network'
  | 'tls'
  | 'auth'
  | 'forbidden'
  | 'not_available'
  | 'http'
  | 'decode'
  | 'limit'
  | 'breaker_open'
  | 'other';

export interface FailureDetails {
  readonly cause?: unknown;
  /** HTTP status, when there was an answer. */
  readonly status?: number | undefined;
  /** Seconds the server asked us to wait. */
  readonly retryAfterSeconds?: number | undefined;
  /** True when this says that the URL is bad, not the question: the next URL may do better. */
  readonly isUrlFault?: boolean;
  /** What the service said; for a person who asked, never for logs (it is the server's text). */
  readonly serverText?: string;
}

/** A request that got no usable answer. The message names what was asked, never a secret or server text. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly reason: FailureReason;
  readonly status: number | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly isUrlFault: boolean;
  readonly serverText: string;

  constructor(reason: FailureReason, message: string, details: FailureDetails = {}) {
    super(message, { cause: details.cause });
    this.reason = reason;
    this.status = details.status;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.isUrlFault = details.isUrlFault ?? false;
    this.serverText = details.serverText ?? '';
  }

  /** The same failure, read another way. */
  as(reason: FailureReason, message: string, isUrlFault = this.isUrlFault): RequestError {
    const { cause, status, retryAfterSeconds, serverText } = this;
    return new RequestError(reason, message, {
      cause,
      status,
      retryAfterSeconds,
      serverText,
      isUrlFault,
    });
  }
}

const TIMEOUT_CODES = new Set([
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);
const NETWORK_CODES = new Set([
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'EMFILE',
  'ENETDOWN',
  'ENETUNREACH',
  'ENFILE',
  'ENOENT',
  'ENOTFOUND',
  'EPIPE',
  // What a proxy that refuses to connect leads to; our own aborts have their own reasons.
  'UND_ERR_ABORTED',
  'UND_ERR_PRX_CONN',
  'UND_ERR_SOCKET',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
]);
/** `codeOf` an answer that is not HTTP. */
export const NOT_HTTP = 'NOT_HTTP';
const TLS_CODES = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'EPROTO',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UND_ERR_PRX_TLS',
]);

/** The error of a failed attempt, from whatever undici, TLS, zlib or the decoder threw. */
export function classifyThrown(error: unknown, what: string): RequestError {
  if (error instanceof RequestError) return error;
  if (error instanceof JsonError) {
    const reason = error.kind === 'limit' || error.kind === 'depth' ? 'limit' : 'decode';
    return new RequestError(reason, `${what}: ${error.message}`, { cause: error });
  }
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new RequestError('timeout', `${what}: the time for this poll is up`, { cause: error });
  }
  if (isNotHttp(error)) {
    // Without the parser's own error, which holds what the server sent.
    const cause = Object.assign(new Error('not HTTP'), { code: NOT_HTTP });
    const text = `${what}: the answer is not HTTP: ${error.message}`;
    return new RequestError('network', text, { cause, isUrlFault: true });
  }
  const code = codeOf(error);
  const said = describe(error, code);
  const bad = { cause: error, isUrlFault: true };
  if (TIMEOUT_CODES.has(code)) return new RequestError('timeout', `${what}: ${said}`, bad);
  if (TLS_CODES.has(code) || code.startsWith('ERR_TLS') || code.startsWith('ERR_SSL')) {
    return new RequestError('tls', `${what}: ${said}`, bad);
  }
  if (NETWORK_CODES.has(code)) return new RequestError('network', `${what}: ${said}`, bad);
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new RequestError('limit', `${what}: ${said}`, { cause: error });
  }
  if (code.startsWith('Z_') || code === 'ERR_PADDING_2' || code === 'ERR__ERROR_FORMAT_PADDING_1') {
    return new RequestError('decode', `${what}: broken gzip (${said})`, { cause: error });
  }
  return new RequestError('other', `${what}: ${said}`, { cause: error });
}

/** undici's parser gives its errors a name, but no code; a status below 100 is an assertion of undici. */
function isNotHttp(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return error.name === 'HTTPParserError' || error.name === 'AssertionError';
}

/** The error of an answer whose status is not 2xx. `serverText` is the start of its body. */
export function classifyStatus(
  status: number,
  what: string,
  details: FailureDetails & { readonly sentToken: boolean },
): RequestError {
  const { reason, hint } = readStatus(status, details.serverText ?? '', details.sentToken);
  return new RequestError(reason, `${what}: HTTP ${status}${hint}`, {
    ...details,
    status,
    isUrlFault: status === 502 || status === 503 || status === 504,
  });
}

function readStatus(
  status: number,
  text: string,
  sentToken: boolean,
): { reason: FailureReason; hint: string } {
  if (status === 401) return { reason: 'auth', hint: ' (the session or token was not accepted)' };
  if (status === 400 && sentToken && /base64|session|token/i.test(text)) {
    return { reason: 'auth', hint: ' (the token was not understood)' };
  }
  if (status === 403) return { reason: 'forbidden', hint: ' (the user lacks a privilege)' };
  if (status === 404) return { reason: 'not_available', hint: ' (no such thing here)' };
  if (status === 501) return { reason: 'not_available', hint: ' (not offered by this server)' };
  if (status >= 300 && status < 400) {
    return {
      reason: 'http',
      hint: ' (a redirect, not followed: is the scheme http or https right?)',
    };
  }
  return { reason: 'http', hint: '' };
}

/** The system's or library's code of an error, looked for along its causes; '' when there is none. */
export function codeOf(error: unknown): string {
  let current: unknown = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth += 1) {
    if ('code' in current && typeof current.code === 'string') return current.code;
    // A host with several addresses fails with one error for each of them.
    current = current instanceof AggregateError ? current.errors[0] : current.cause;
  }
  return '';
}

function describe(error: unknown, code: string): string {
  const message = error instanceof Error && error.message !== '' ? error.message : 'failed';
  return code === '' || message.includes(code) ? message : `${message} (${code})`;
}
