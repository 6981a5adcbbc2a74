import type { HttpClient } from '../http/client.ts';
import { abortable } from '../http/deadlines.ts';
import { RequestError, toRequestError } from '../http/errors.ts';
import { createPollStats, recordLimit } from '../http/poll-stats.ts';
import { bufferBody, type HttpRequest } from '../http/request.ts';
import { decodeValue } from '../json/decoder.ts';
import { object, string } from '../json/shape.ts';
import type { FailureReason } from '../vocabulary.ts';

interface SessionOptions {
  readonly http: HttpClient;
  /** Absent with a ready token or an insecure cluster. */
  readonly username: string | undefined;
  /** The password, or a ready token. Read for each login, and when the server refuses the token: its file may change. */
  readonly secret: (() => Promise<string>) | undefined;
  /** Header names to try, in order; the one that worked is remembered. */
  readonly headerNames: readonly string[];
  /** Of one login; the calls that wait for it may give up earlier. */
  readonly loginTimeoutMs: number;
  readonly loginTried: () => void;
  readonly loginFailed: (error: RequestError) => void;
  readonly monotonicMs: () => number;
}

/** A GET of the cluster API; the session adds what authorizes it. */
export type SessionRequest<T> = Omit<HttpRequest<T>, 'method' | 'headers' | 'body' | 'sentToken'>;

/** Refused secrets do not get better with time, and each login costs the server a slow hash. */
const REJECTED_PAUSE_MS = 60_000;
/** A login that brings no usable token may be a balancer's page: worth another login sooner. */
const UNUSABLE_PAUSE_MS = 15_000;
const MAX_TOKEN_LENGTH = 4096;
/** Responses to a login or logout, which hold a token at most. */
const MAX_RESPONSE_BYTES = 64 * 1024;

export const loginResponse = object({ session: string() });

/** How long a failed login is not tried again with the same password. */
const LOGIN_PAUSES_MS: Partial<Readonly<Record<FailureReason, number>>> = {
  auth: REJECTED_PAUSE_MS,
  decode: UNUSABLE_PAUSE_MS,
  limit: UNUSABLE_PAUSE_MS,
};

/** Failures of the network prove nothing about the token; a missing privilege proves that it is accepted. */
const REASONS_TO_KEEP_TOKEN: ReadonlySet<FailureReason> = new Set([
  'network',
  'timeout',
  'tls',
  'breaker_open',
  'forbidden',
]);

interface Token {
  readonly text: string;
  /** Its source: the password of the login, or the ready token itself. */
  readonly secret: string;
  /** When it was obtained, monotonic ms. */
  readonly sinceMs: number;
  /** True once the server has accepted it. */
  accepted: boolean;
  /** True once an endpoint refused it under every header. */
  refused: boolean;
}

/** One way to authorize a call. */
interface Authorization {
  readonly token: Token;
  /** Index of the header's name. */
  readonly header: number;
  readonly isRenewed: boolean;
  /** No other header name is left to try. */
  readonly isLastHeader: boolean;
}

/** The token of one cluster: one login for any number of waiting calls, one header name found by trying. */
export class Session {
  readonly #options: SessionOptions;
  #token: Token | undefined;
  #pending: Promise<Token> | undefined;
  #header = 0;
  /** A failed login is not tried again with the same secret until the pause has passed. */
  #rejected: { readonly error: RequestError; secret: string; untilMs: number } | undefined;
  /** When the last login took place whose token was refused. */
  #futileLoginAtMs = -Infinity;
  /** When a token was last forgotten on suspicion. */
  #suspectedAtMs = -Infinity;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /**
   * Sends a request with the session header. After a refusal it is sent again: with a new token when the old one had been
   * accepted before, under the next header name when a token has never been accepted.
   */
  async get<T>(request: SessionRequest<T>): Promise<T> {
    const { endpoint, stats } = request;
    try {
      return await abortable(this.#authorize(request), stats.signal, endpoint);
    } catch (error) {
      recordLimit(stats, error);
      throw error;
    }
  }

  /** Ends the session that was created by a login here, if there is one. */
  async logOut(signal: AbortSignal): Promise<void> {
    const token = this.#token;
    if (this.#options.username === undefined || token === undefined) return;
    this.#token = undefined;
    await this.#options.http.send({
      endpoint: 'logout',
      method: 'POST',
      path: '/logout/',
      headers: this.#headers(token, this.#header),
      stats: createPollStats(signal),
      ...bufferBody(MAX_RESPONSE_BYTES, () => undefined),
    });
  }

  async #authorize<T>(request: SessionRequest<T>): Promise<T> {
    const { http, secret, headerNames } = this.#options;
    const send = (headers: Record<string, string>): Promise<T> =>
      http.send({ ...request, method: 'GET', headers, sentToken: true });
    if (secret === undefined) return send({});
    let authorization: Authorization | undefined = {
      token: await this.#current(),
      header: this.#header,
      isRenewed: false,
      isLastHeader: headerNames.length === 1,
    };
    for (;;) {
      const { token, header }: Authorization = authorization;
      try {
        const response = await send(this.#headers(token, header));
        // An endpoint that needs no session accepts any name: it does not unlearn the right one.
        if (!token.accepted || authorization.isLastHeader) this.#header = header;
        token.accepted = true;
        return response;
      } catch (error) {
        const failure = toRequestError(error, request.endpoint);
        if (failure.reason !== 'auth') {
          if (!request.stats.signal.aborted) this.#suspect(token, failure.reason);
          throw failure;
        }
        authorization = await this.#afterRefusal(authorization, failure);
        if (authorization === undefined) throw failure;
      }
    }
  }

  /** How to authorize one more try; undefined when that would be no use. Each branch is taken once at most. */
  async #afterRefusal(
    tried: Authorization,
    error: RequestError,
  ): Promise<Authorization | undefined> {
    const { token, header, isRenewed, isLastHeader } = tried;
    // Another call has found the right name meanwhile: the token is accepted.
    if (!isLastHeader && token.accepted && header !== this.#header) {
      return { ...tried, header: this.#header, isLastHeader: true };
    }
    if (!isRenewed && this.#mayRenew(token)) {
      if (this.#token === token) this.#token = undefined;
      return { ...tried, token: await this.#current(), header: this.#header, isRenewed: true };
    }
    if (!isLastHeader && !token.accepted) {
      const next = header === this.#header ? header + 1 : this.#header;
      return { ...tried, header: next % this.#options.headerNames.length, isLastHeader: true };
    }
    this.#giveUp(token, error);
    return undefined;
  }

  /** Another call has renewed it already, or it is worth a login: not after one that was no help. */
  #mayRenew(token: Token): boolean {
    if (token !== this.#token) return true;
    const mayLogIn = isOver(this.#futileLoginAtMs, this.#options.monotonicMs());
    return (token.accepted || token.refused) && mayLogIn;
  }

  /** A token from a login is kept for a minute, as other endpoints may take it; that of a file is read again. */
  #giveUp(token: Token, error: RequestError): void {
    if (this.#options.username !== undefined) {
      token.refused = true;
      this.#futileLoginAtMs = Math.max(this.#futileLoginAtMs, token.sinceMs);
    } else if (!token.accepted) {
      if (this.#token === token) this.#token = undefined;
      this.#remember(error, token.secret, REJECTED_PAUSE_MS);
    }
  }

  /** A token that was never accepted may be why a call failed: the next one gets another, at most once a minute. */
  #suspect(token: Token, reason: FailureReason): void {
    if (token.accepted || REASONS_TO_KEEP_TOKEN.has(reason)) return;
    const nowMs = this.#options.monotonicMs();
    if (this.#token !== token || !isOver(this.#suspectedAtMs, nowMs)) return;
    this.#suspectedAtMs = nowMs;
    this.#token = undefined;
  }

  #headers(token: Token, header: number): Record<string, string> {
    const name = this.#options.headerNames[header] ?? 'X-Cockroach-API-Session';
    return { [name]: token.text };
  }

  async #current(): Promise<Token> {
    if (this.#token !== undefined) return this.#token;
    this.#pending ??= this.#fetch().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #fetch(): Promise<Token> {
    const { username } = this.#options;
    const secret = (await this.#options.secret?.()) ?? '';
    const rejected = this.#rejected;
    if (rejected?.secret === secret && this.#options.monotonicMs() < rejected.untilMs) {
      throw rejected.error;
    }
    if (username === undefined) checkToken(secret, 'auth', 'the session token');
    const text = username === undefined ? secret : await this.#logIn(username, secret);
    this.#rejected = undefined;
    const sinceMs = this.#options.monotonicMs();
    this.#token = { text, secret, sinceMs, accepted: false, refused: false };
    return this.#token;
  }

  /** POST /login/ with a form (a JSON body is not understood); resolves to the session token. */
  async #logIn(username: string, password: string): Promise<string> {
    const { http, loginTimeoutMs, loginTried, loginFailed } = this.#options;
    const signal = AbortSignal.timeout(Math.ceil(loginTimeoutMs));
    loginTried();
    try {
      return await http.send({
        endpoint: 'login',
        method: 'POST',
        path: '/login/',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ username, password }).toString(),
        stats: createPollStats(signal, performance.now() + loginTimeoutMs),
        retryOn500: true,
        ...bufferBody(MAX_RESPONSE_BYTES, readToken),
      });
    } catch (error) {
      const failure = toLoginError(error);
      loginFailed(failure);
      this.#remember(failure, password, LOGIN_PAUSES_MS[failure.reason]);
      throw failure;
    }
  }

  #remember(error: RequestError, secret: string, pauseMs: number | undefined): void {
    if (pauseMs === undefined) return;
    this.#rejected = { error, untilMs: this.#options.monotonicMs() + pauseMs, secret };
  }
}

function readToken(body: Buffer): string {
  const { value } = decodeValue(body, loginResponse);
  if (!value.session) throw new RequestError('decode', 'login: the response has no session');
  checkToken(value.session, 'decode', 'login: the session token');
  return value.session;
}

function toLoginError(error: unknown): RequestError {
  const failure = toRequestError(error, 'login');
  if (failure.status !== 400) return failure;
  return new RequestError('auth', `${failure.message} (the login was refused)`, failure);
}

/** Whether a pause that began then has passed. */
function isOver(beganAtMs: number, nowMs: number): boolean {
  return nowMs - beganAtMs >= REJECTED_PAUSE_MS;
}

/** Servers send base64; what no header can carry would fail every request before it is sent. */
function checkToken(token: string, reason: FailureReason, what: string): void {
  if (token.length > MAX_TOKEN_LENGTH) {
    throw new RequestError(reason, `${what} is longer than ${MAX_TOKEN_LENGTH} characters`);
  }
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new RequestError(reason, `${what} must be printable ASCII without spaces`);
  }
}
