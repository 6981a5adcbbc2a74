import type { HttpClient } from '../http/client.ts';
import { abortable } from '../http/deadlines.ts';
import { RequestError, toRequestError } from '../http/errors.ts';
import { createPollStats, recordLimit } from '../http/poll-stats.ts';
import { bufferBody, type HttpRequest } from '../http/request.ts';
import { decodeValue } from '../json/decoder.ts';
import { object, string } from '../json/shape.ts';
import type { FailureReason } from '../vocabulary.ts';

interface ApiLoginOptions {
  readonly http: HttpClient;
  /** Absent with a ready token or an insecure cluster. */
  readonly username: string | undefined;
  /** The password, or a ready token. Read for each login, and when the server refuses the token: its file may change. */
  readonly secret: (() => Promise<string>) | undefined;
  /** The time for one login; the calls that wait for it may give up earlier. */
  readonly loginTimeoutMs: number;
  readonly loginTried: () => void;
  readonly loginFailed: (error: RequestError) => void;
  readonly monotonicMs: () => number;
}

/** A GET of the cluster API; the session adds what authorizes it. */
export interface ApiRequest<T> extends Omit<
  HttpRequest<T>,
  'method' | 'headers' | 'body' | 'sentToken'
> {
  /** The token goes out as the cookie `session`, as paths beside the API v2 want it; a refusal proves nothing about it. */
  readonly sendsCookie?: boolean;
}

/** Refused secrets do not get better with time, and each login costs the server a slow hash. */
const LOGIN_PAUSE_MS = 60_000;
/** A login that brings no usable token may be a balancer's page: worth another login sooner. */
const UNUSABLE_PAUSE_MS = 15_000;
const MAX_TOKEN_LENGTH = 4096;
const LOGIN = { endpoint: 'login' } as const;
/** Responses to a login or logout, which hold a token at most. */
const MAX_RESPONSE_BYTES = 64 * 1024;

export const loginResponse = object({ session: string() });

/** How long a failed login is not tried again with the same password; 0 for other reasons. */
const LOGIN_PAUSES_MS: Partial<Readonly<Record<FailureReason, number>>> = {
  auth: LOGIN_PAUSE_MS,
  forbidden: LOGIN_PAUSE_MS,
  decode: UNUSABLE_PAUSE_MS,
  limit: UNUSABLE_PAUSE_MS,
};

interface Token {
  readonly text: string;
  /** Its source: the password of the login, or the ready token itself. */
  readonly secret: string;
}

/** A failed login, which is not tried again with the same password until the pause has passed. */
interface FailedLogin {
  readonly error: RequestError;
  readonly password: string;
  /** Monotonic ms. */
  readonly pausedUntilMs: number;
}

/**
 * The token of one cluster: one login for any number of waiting calls. A 401 means a new login, at most one in a minute. A
 * login that fails is tried again after a pause, or at once when the password has changed.
 */
export class ApiLogin {
  readonly #options: ApiLoginOptions;
  #token: Token | undefined;
  #pending: Promise<Token> | undefined;
  #failedLogin: FailedLogin | undefined;
  /** When a refused token was last replaced by a login. */
  #renewedAtMs = -Infinity;

  constructor(options: ApiLoginOptions) {
    this.#options = options;
  }

  /** Sends a request with the token. When servers refuse the token, it is sent once more with a new one. */
  async get<T>(request: ApiRequest<T>): Promise<T> {
    const { endpoint, stats } = request;
    try {
      return await abortable(this.#authorize(request), stats.signal, endpoint, request);
    } catch (error) {
      recordLimit(stats, error);
      throw error;
    }
  }

  /** Ends the session that was created by a login here, if there is one; waits for a login that is under way. */
  async logOut(signal: AbortSignal): Promise<void> {
    const { username, http } = this.#options;
    if (username === undefined) return;
    const token = await this.#lastToken(signal);
    if (token === undefined) return;
    this.#token = undefined;
    await http.send({
      endpoint: 'logout',
      method: 'POST',
      path: '/logout/',
      headers: sessionHeaders(token),
      stats: createPollStats(signal),
      ...bufferBody(MAX_RESPONSE_BYTES, () => undefined),
    });
  }

  async #lastToken(signal: AbortSignal): Promise<Token | undefined> {
    if (this.#pending === undefined) return this.#token;
    // A login that fails leaves no session.
    const login = this.#pending.catch(() => undefined);
    return abortable(login, signal, 'logout: waiting for the login', { endpoint: 'logout' });
  }

  async #authorize<T>(request: ApiRequest<T>): Promise<T> {
    if (this.#options.secret === undefined) return this.#send(request, {});
    const token = await this.#current();
    if (request.sendsCookie === true) {
      return this.#options.http.send({ ...request, method: 'GET', headers: sessionCookie(token) });
    }
    try {
      return await this.#send(request, sessionHeaders(token));
    } catch (error) {
      const isRefused = error instanceof RequestError && error.reason === 'auth';
      if (!isRefused || !(await this.#mayReplace(token))) throw error;
    }
    return this.#send(request, sessionHeaders(await this.#current()));
  }

  #send<T>(request: ApiRequest<T>, headers: Readonly<Record<string, string>>): Promise<T> {
    return this.#options.http.send({ ...request, method: 'GET', headers, sentToken: true });
  }

  /** Whether a refused token has been replaced, or may be replaced now: a ready token only by a changed file. */
  async #mayReplace(token: Token): Promise<boolean> {
    const { username, secret, monotonicMs } = this.#options;
    const isChanged = username === undefined && (await secret?.()) !== token.secret;
    if (token !== this.#token) return true;
    const nowMs = monotonicMs();
    const mayLogIn = username !== undefined && nowMs - this.#renewedAtMs >= LOGIN_PAUSE_MS;
    if (!isChanged && !mayLogIn) return false;
    this.#renewedAtMs = nowMs;
    this.#token = undefined;
    return true;
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
    if (username === undefined) checkToken(secret, 'auth', 'the session token');
    const text = username === undefined ? secret : await this.#logIn(username, secret);
    this.#token = { text, secret };
    return this.#token;
  }

  /** POST /login/ with a form (a JSON body is not understood). */
  async #logIn(username: string, password: string): Promise<string> {
    const { http, loginTimeoutMs, loginTried, loginFailed, monotonicMs } = this.#options;
    const failed = this.#failedLogin;
    const isPaused = failed?.password === password && monotonicMs() < failed.pausedUntilMs;
    if (isPaused) throw failed.error;
    const signal = AbortSignal.timeout(Math.ceil(loginTimeoutMs));
    loginTried();
    try {
      return await http.send({
        endpoint: 'login',
        method: 'POST',
        path: '/login/',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ username, password }).toString(),
        stats: createPollStats(signal, monotonicMs() + loginTimeoutMs),
        retryOn500: true,
        ...bufferBody(MAX_RESPONSE_BYTES, readToken),
      });
    } catch (thrown) {
      const error = toRequestError(thrown, 'login');
      loginFailed(error);
      const pauseMs = LOGIN_PAUSES_MS[error.reason] ?? 0;
      this.#failedLogin = { error, password, pausedUntilMs: monotonicMs() + pauseMs };
      throw error;
    }
  }
}

/** Servers read the first; the second is the name in the first documents of the API. */
function sessionHeaders({ text }: Token): Record<string, string> {
  return { 'X-Cockroach-API-Session': text, 'X-Service-API-Session': text };
}

/** Without `sentToken` beside it, a refusal proves nothing about the token. */
function sessionCookie({ text }: Token): Record<string, string> {
  return { cookie: `session=${text}` };
}

function readToken(body: Buffer): string {
  const { value } = decodeValue(body, loginResponse);
  if (!value.session) throw new RequestError('decode', 'login: the response has no session', LOGIN);
  checkToken(value.session, 'decode', 'login: the session token');
  return value.session;
}

/** Servers send base64; what no header can carry would fail every request before it is sent. */
function checkToken(token: string, reason: FailureReason, what: string): void {
  if (token.length > MAX_TOKEN_LENGTH) {
    throw new RequestError(reason, `${what} is longer than ${MAX_TOKEN_LENGTH} characters`, LOGIN);
  }
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new RequestError(reason, `${what} must be printable ASCII without spaces`, LOGIN);
  }
}
