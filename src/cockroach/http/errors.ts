import { cleanText, type Endpoint, type FailureReason, type Limit, messageOf } from '#base';
import { JsonError, JsonLimitError } from '#json';
import { ProtobufError } from '../protobuf/index.ts';
import { findProxyFault, PROXY_SILENT } from './proxy-agent.ts';

/** The endpoint, URL and node of a request, as far as they are known. */
export interface RequestTarget {
  readonly endpoint?: Endpoint | undefined;
  /** The configured URL; it holds no user and no password. */
  readonly url?: string | undefined;
  /** The node that prepares the response. */
  readonly node?: number | undefined;
}

/** What a failure is held against: the URL, what was requested there (an endpoint or a node), or neither. */
export type Blamed = 'url' | 'endpoint' | 'nobody';

export interface FailureDetails extends RequestTarget {
  readonly cause?: unknown;
  /** HTTP status, when there was a response. */
  readonly status?: number | undefined;
  /** Seconds to wait, from the header Retry-After. */
  readonly retryAfterSeconds?: number | undefined;
  readonly blames?: Blamed;
  /** A redirect leads to https of the same host. The target itself, which may hold an address, is kept nowhere. */
  readonly leadsToHttps?: boolean | undefined;
  /** The limit that the response exceeded, with the reason `limit`. */
  readonly limit?: Limit | undefined;
  /** What was late, with the reason `timeout`, where a deadline of ours ended the request. */
  readonly late?: RequestError['late'];
  /** How to fix it, where only the place that fails knows that. */
  readonly remedy?: string | undefined;
  /** The start of the server's message; for interactive output, never for logs. */
  readonly serverText?: string;
}

/** A request without a usable response. The message names what was requested, never a secret or server text. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly reason: FailureReason;
  readonly endpoint: Endpoint | undefined;
  readonly url: string | undefined;
  readonly node: number | undefined;
  readonly limit: Limit | undefined;
  /**
   * What was late where a deadline of ours ended the request: the headers, the next chunk after them, the body as a whole, which was
   * slower than the minimum rate, or the poll, which was over before the response was. Those of the system and of undici have codes.
   */
  readonly late: 'headers' | 'chunk' | 'body' | 'poll' | undefined;
  /** When a refused login is tried again, wall clock, ms: whoever logs in decides it. */
  nextLoginMs: number | undefined;
  readonly remedy: string | undefined;
  readonly status: number | undefined;
  /** The pause that the server requests by Retry-After, without bounds; retry-policy.ts decides how much of it is kept. */
  readonly retryAfterSeconds: number | undefined;
  readonly leadsToHttps: boolean;
  /** What the failure shows to be unhealthy. */
  readonly blames: Blamed;
  readonly serverText: string;

  constructor(reason: FailureReason, message: string, details: FailureDetails = {}) {
    super(message, { cause: details.cause });
    this.reason = reason;
    this.endpoint = details.endpoint;
    this.url = details.url;
    this.node = details.node;
    this.limit = details.limit;
    this.late = details.late;
    this.remedy = details.remedy;
    this.status = details.status;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.leadsToHttps = details.leadsToHttps ?? false;
    this.blames = details.blames ?? blamedFor(reason, codeOf(details.cause));
    this.serverText = details.serverText ?? '';
  }

  /** The request surely was not sent. */
  get wasNotSent(): boolean {
    const isKept = this.reason === 'tls' || this.reason === 'breaker_open';
    return isKept || CONNECT_CODES.test(codeOf(this));
  }

  /** The server has surely not begun with the request. */
  get wasRefused(): boolean {
    return this.status === TOO_MANY_REQUESTS || this.wasNotSent;
  }

  /** A gateway or balancer got no response from the node. */
  get isNodeTimeout(): boolean {
    return this.node !== undefined && this.status === GATEWAY_TIMEOUT;
  }

  /** There was no response in time, or the server that responded had waited too long for another one (504). */
  get isSilence(): boolean {
    return this.reason === 'timeout' || this.status === GATEWAY_TIMEOUT;
  }

  /** The server, or a proxy before it, does not offer a page beside the API v2. */
  get isNotOffered(): boolean {
    return this.endpoint !== 'login' && [403, 404, 501].includes(this.status ?? 0);
  }

  /** A proxy sent a page for people. Nodes send JSON, protobuf or text. */
  get isPage(): boolean {
    return isHtml(this.serverText);
  }

  /** The kind of the fault, which is the same at each URL: no response, or one of the other reasons. */
  get fault(): string {
    return UNANSWERED.has(this.reason) ? 'no response' : this.reason;
  }

  /** The failed request. The error of a scan sums up the failures of its nodes; its cause is one of them. */
  get request(): RequestError {
    return this.cause instanceof RequestError ? this.cause : this;
  }
}

/** Codes of failures to connect: the request was not sent. */
const CONNECT_CODES =
  /^(EADDRNOTAVAIL|EAI_AGAIN|ECONNREFUSED|EHOSTDOWN|EHOSTUNREACH|ENETDOWN|ENETUNREACH|ENOENT|ENOTFOUND|PROXY_LOGIN|PROXY_REFUSED|PROXY_SILENT|PROXY_UNREACHABLE|UND_ERR_CONNECT_TIMEOUT)$/;
const TIMEOUT_CODES: ReadonlySet<string> = new Set([
  'ETIMEDOUT',
  PROXY_SILENT,
  'UND_ERR_CONNECT_TIMEOUT',
]);
/** Codes of failures of an established connection, or of this host. */
const CONNECTION_CODES =
  /^(ECONNABORTED|ECONNRESET|EMFILE|ENFILE|EPIPE|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/;
/** The longest text of an error, in UTF-16 code units. */
const MAX_TEXT_LENGTH = 300;
/** `codeOf` a response that does not begin as HTTP, and of one that breaks its rules further on. */
export const NOT_HTTP = 'NOT_HTTP';
export const BROKEN_HTTP = 'BROKEN_HTTP';
/** The message of undici's parser for first bytes that are not HTTP: its errors have no codes. */
const OTHER_START = /Expected HTTP\//;
/** Codes of failed TLS handshakes; those of certificates are listed in Node's documentation of `tls`. */
const TLS_CODES =
  /^(ERR_TLS|ERR_SSL|CERT_|CRL_|INVALID_(CA|PURPOSE)|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_|PATH_LENGTH_|EPROTO$)/;
export const TOO_MANY_REQUESTS = 429;
const GATEWAY_TIMEOUT = 504;
/** The response to a request that names the version which the client has already. */
export const NOT_MODIFIED = 304;
/** The server, or one behind it, cannot answer now. */
const UNAVAILABLE_STATUSES: ReadonlySet<number> = new Set([502, 503, 504]);

function reasonOf(code: string): FailureReason {
  if (TIMEOUT_CODES.has(code)) return 'timeout';
  if (TLS_CODES.test(code)) return 'tls';
  if (CONNECT_CODES.test(code) || CONNECTION_CODES.test(code)) return 'network';
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return 'limit';
  if (code.startsWith('Z_') || code === 'ERR_PADDING_2' || code === 'ERR__ERROR_FORMAT_PADDING_1') {
    return 'decode';
  }
  return 'other';
}

function blamedFor(reason: FailureReason, code: string): Blamed {
  // An established connection may fail with ETIMEDOUT, too, but that is rare.
  if (reason === 'tls' || CONNECT_CODES.test(code) || code === 'ETIMEDOUT') return 'url';
  return reason === 'network' || reason === 'timeout' ? 'endpoint' : 'nobody';
}

/** What does not respond may be silent at one URL, refuse the connection at the next, and be a 502 or 500 at a third. */
const UNANSWERED: ReadonlySet<FailureReason> = new Set([
  'timeout',
  'network',
  'tls',
  'http',
  'breaker_open',
]);

/** The error of a failed request, from whatever undici, TLS, zlib or the decoder threw; `what` begins its message. */
export function toRequestError(
  error: unknown,
  what: string,
  target: FailureDetails = {},
): RequestError {
  if (error instanceof RequestError) return error;
  if (error instanceof JsonError || error instanceof ProtobufError) {
    const reason = error instanceof JsonLimitError ? 'limit' : 'decode';
    return new RequestError(reason, `${what}: ${error.message}`, { ...target, cause: error });
  }
  if (error instanceof Error && error.name === 'TimeoutError') {
    // A login has a deadline of its own.
    const text = `${what}: ${target.endpoint === 'login' ? 'no response in time' : 'poll timeout exceeded'}`;
    return new RequestError('timeout', text, { ...target, cause: error, late: 'poll' });
  }
  if (isNotHttp(error)) {
    // The parser's own error holds what the server sent: it is no cause of this one.
    const fault = OTHER_START.test(error.message) ? NOT_HTTP : BROKEN_HTTP;
    const cause = Object.assign(new Error('not HTTP'), { code: fault });
    const text = `${what}: the response is not HTTP: ${cut(error.message)}`;
    return new RequestError('network', text, { ...target, cause });
  }
  const proxyFault = findProxyFault(error);
  if (proxyFault !== undefined) {
    const text = `${what}: ${describe(proxyFault, '')}`;
    return new RequestError(reasonOf(codeOf(proxyFault)), text, { ...target, cause: proxyFault });
  }
  const code = codeOf(error);
  const reason = reasonOf(code);
  const message = describe(error, code);
  const text = reason === 'decode' ? `broken gzip (${message})` : message;
  const cause = withSafeText(error, code);
  return new RequestError(reason, `${what}: ${text}`, { ...target, cause });
}

/** Why a poll failed: the failed request that was thrown, or any other error with its own message. */
export function failureOf(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  const { reason, late } = toRequestError(error, 'poll');
  return new RequestError(reason, messageOf(error), { cause: error, late });
}

/** Cuts and cleans what a server may have written: a certificate can have a thousand names, and OpenSSL repeats them all. */
function cut(text: string): string {
  return cleanText(text.length <= MAX_TEXT_LENGTH ? text : `${text.slice(0, MAX_TEXT_LENGTH)}…`);
}

/** The log repeats the messages of causes, too. */
function withSafeText(error: unknown, code: string): unknown {
  if (!(error instanceof Error) || error.message === cut(error.message)) return error;
  return Object.assign(new Error(cut(error.message)), code === '' ? {} : { code });
}

/** undici's parser gives its errors a name, but no code; a status below 100 is an assertion of undici. */
function isNotHttp(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return error.name === 'HTTPParserError' || error.name === 'AssertionError';
}

/** The error of a response whose status is not 2xx. */
export function statusError(
  status: number,
  what: string,
  {
    sentToken = false,
    proxied = false,
    ...details
  }: FailureDetails & { readonly sentToken?: boolean; readonly proxied?: boolean },
): RequestError {
  const [reason, hint] = readStatus(status, details, sentToken);
  // A node that the gateway cannot reach by HTTP is a finding of a healthy gateway.
  const isUnavailable = UNAVAILABLE_STATUSES.has(status) && !(status === 502 && proxied);
  const blames = isUnavailable ? 'endpoint' : 'nobody';
  return new RequestError(reason, `${what}: HTTP ${status}${hint}`, {
    ...details,
    status,
    blames,
  });
}

function isHtml(text: string): boolean {
  return /^\s*<(?:!doctype|html)\b/i.test(text);
}

export function isRedirect(status = 0): boolean {
  return status >= 300 && status < 400;
}

function readStatus(
  status: number,
  { endpoint, serverText = '', leadsToHttps = false }: FailureDetails,
  sentToken: boolean,
): readonly [reason: FailureReason, hint: string] {
  const isLogin = endpoint === 'login';
  if (status === 401) {
    const object = isLogin ? 'user and password were' : 'the session or token was';
    return ['auth', ` (${object} not accepted)`];
  }
  // The cluster sent it, or something before it: a port that wants https, a balancer.
  if (status === 400 && isLogin) return ['auth', ' (the login was refused)'];
  // A statement, whose error is JSON, may read the sessions.
  const isText = !serverText.trimStart().startsWith('{');
  if (status === 400 && sentToken && isText && /base64|session|token/i.test(serverText)) {
    return ['auth', ' (the token was not understood)'];
  }
  if (status === 403) {
    const who = isHtml(serverText) ? 'a proxy refuses the request' : 'the user lacks a privilege';
    return ['forbidden', ` (${isLogin ? 'the login was refused' : who})`];
  }
  if (status === 404) return ['not_available', ' (no such thing here)'];
  if (status === 501) return ['not_available', ' (not offered by this server)'];
  if (status === NOT_MODIFIED) return ['http', ' (not modified)'];
  if (!isRedirect(status)) return ['http', ''];
  return ['http', ` (a redirect${leadsToHttps ? ' to https' : ''}, not followed)`];
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
  const text = (error instanceof Error ? messageOf(error) : '') || 'failed';
  // Node adds one of its flags, and OpenSSL surrounds its reason with places in its source.
  const message = text
    .replace(/; if the root CA is installed locally, try running Node\.js with .*/, '')
    .replace(/^[\dA-F]+:error:[\dA-F]+:[^:]*:[^:]*:([^:]+):.*$/s, '$1')
    .replace(/^wrong version number$/, 'the port does not speak TLS')
    .replace(/^tlsv1 alert no application protocol$/, 'the port does not speak HTTP')
    .replace(/^ssl\/tls alert handshake failure$/, 'the server refused the TLS handshake');
  return code === '' || message.includes(code) ? cut(message) : `${cut(message)} (${code})`;
}
