import { beginDeadline, type Endpoint } from '#base';
import { decodeValue, object, string } from '#json';
import { CachedResponses } from './cached-responses.ts';
import { abortable, type HttpClient } from './http/client.ts';
import { RequestError } from './http/errors.ts';
import { createPollStats, type PollStats } from './http/poll-stats.ts';
import { bufferBody, type HttpRequest, type HttpResponse } from './http/request.ts';
import { POLICY, refusedLoginPauseMs } from './http/retry-policy.ts';
import { PROTOBUF } from './protobuf/index.ts';

interface ApiLoginOptions {
  readonly http: HttpClient;
  /** Undefined with a token from the configuration, and for an insecure cluster. */
  readonly username: string | undefined;
  /** Reads the password for each login, or the token for each request: their files may change. */
  readonly secret: (() => Promise<string>) | undefined;
  /** The maximum duration of one login. The requests that wait for it may give up earlier. */
  readonly loginTimeoutMs: number;
  /** Called once for each login that is sent, at however many URLs. */
  readonly loginTried: () => void;
  readonly loginFailed: (error: RequestError) => void;
  readonly runningMs: () => number;
  readonly wallMs: () => number;
}

const LOGIN = { endpoint: 'login' } as const;
/** How long a logout waits for a login; servers need some tenths of a second for one. */
const LOGIN_WAIT_MS = 1_000;
/** Maximum size of the response to a login or logout. */
const MAX_RESPONSE_BYTES = 64 * 1024;
/** A header can carry such a token; servers send base64. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/;
const NO_TOKEN = 'must be at most 4096 characters of printable ASCII without spaces';

export const loginResponse = object({ session: string() });

/** A request of the cluster API, to which ApiLogin adds the token. A response that a cache has kept is a failure. */
export interface ApiRequest<T> extends Omit<HttpRequest<T>, 'method' | 'headers' | 'sentToken'> {
  /** JSON, which is sent by POST; a request without it is a GET. */
  readonly body?: string;
  /** The response may be protobuf: the server chooses, and an error has the same form. */
  readonly acceptsProtobuf?: boolean;
}

/** A failed login, which is not tried again with the same password during its pause. */
interface FailedLogin {
  readonly error: RequestError;
  readonly password: string;
  /** Running ms. */
  readonly pausedUntilMs: number;
  /** How often the password was refused, one after the other. */
  readonly refusals: number;
}

/** The new tokens that an endpoint has refused, one after the other. */
interface Refusing {
  /** When the login for the last token began, running ms. */
  readonly atMs: number;
  /** How many new tokens it refused in a row. */
  readonly refusals: number;
  /** The path of the refused request: one node may refuse a token that the endpoint accepts for all others. */
  readonly path: string;
}

/**
 * Gets and replaces the token of one cluster. All requests that need one wait for the same login. A token that is refused
 * with 401 is replaced by a new login, at most once in a minute. An endpoint that refuses the new one, too, gets the next after
 * 1, 2, 4 … up to 30 minutes: each login leaves a session. A login that is refused is tried again after the same times, and one
 * with another useless response after 5 s. `retry` ends all of these pauses, and a changed password those of logins.
 * Example: the password is refused at 0 s. Requests fail without a login until 60 s; refused again, until 180 s. If its file
 * changes at 70 s, the next request logs in.
 */
export class ApiLogin {
  readonly #options: ApiLoginOptions;
  #token: string | undefined;
  /** The login that is under way. */
  #pending: Promise<string> | undefined;
  #failedLogin: FailedLogin | undefined;
  #onUsable: () => void = () => undefined;
  /** When a refused token was last dropped, running ms. */
  #droppedAtMs = -Infinity;
  /** The endpoints that refuse new tokens. */
  readonly #refusing = new Map<Endpoint, Refusing>();
  #responses = new CachedResponses();

  constructor(options: ApiLoginOptions) {
    this.#options = options;
  }

  /** Continues a login at the same URLs before a reload: what a cache has kept since then is noticed. */
  follow(previous: ApiLogin): void {
    this.#responses = previous.#responses;
  }

  /** Sets the function that is called when requests that failed for want of a login may succeed: after one, and by `retry`. */
  onUsable(listener: () => void): void {
    this.#onUsable = listener;
  }

  /** Forgets that logins were refused: the secret may have changed, here or on the server. */
  retry(): void {
    this.#failedLogin = undefined;
    this.#droppedAtMs = -Infinity;
    this.#refusing.clear();
    this.#onUsable();
  }

  /** Sends a request with the token. If the token is refused, sends the request once more with a new token. */
  async send<T>(request: ApiRequest<T>): Promise<T> {
    const token = await this.#getToken(request);
    try {
      return await this.#ask(request, token);
    } catch (error) {
      // A page beside the API refuses for other reasons, too, and one URL may lead to another cluster, which knows no such token.
      const provesNothing = request.isBesideApi === true || request.onlyUrl !== undefined;
      if (!isRefusedToken(error) || provesNothing || !this.#dropRefused(token, request))
        throw error;
    }
    return this.#ask(request, await this.#getToken(request), this.#droppedAtMs);
  }

  /** Sends the request with this token. `newSinceMs` is when a login for it began: then its refusal is remembered. */
  async #ask<T>(request: ApiRequest<T>, token?: string, newSinceMs?: number): Promise<T> {
    const { endpoint, path } = request;
    try {
      const result = await this.#options.http.send(this.#complete(request, token));
      if (this.#refusing.get(endpoint)?.path === path) this.#refusing.delete(endpoint);
      return result;
    } catch (error) {
      const { atMs, refusals = 0 } = this.#refusing.get(endpoint) ?? {};
      // Requests to all nodes share a token, whose refusal counts once.
      if (newSinceMs !== undefined && newSinceMs !== atMs && isRefusedToken(error)) {
        this.#refusing.set(endpoint, { atMs: newSinceMs, refusals: refusals + 1, path });
      }
      throw error;
    }
  }

  /** The token to send, if any; waits for a login no longer than the poll does. */
  async #getToken(request: ApiRequest<unknown>): Promise<string | undefined> {
    const { username, secret } = this.#options;
    if (secret === undefined || this.#token !== undefined) return this.#token;
    let token: Promise<string>;
    if (username === undefined) token = readReadyToken(secret);
    else {
      this.#pending ??= secret()
        .then((password) => this.#logIn(username, password, request.stats))
        .finally(() => {
          this.#pending = undefined;
        });
      token = this.#pending;
    }
    return abortable(token, request.stats.signal, request.endpoint, request);
  }

  /** Ends the session of the token if a login created it. Waits for a login that has begun, unless it hangs. */
  async logOut(signal: AbortSignal): Promise<void> {
    const { username, http } = this.#options;
    if (username === undefined) return;
    // A failed login has created no session.
    const login = Promise.resolve(this.#pending).catch(() => undefined);
    using wait = beginDeadline(LOGIN_WAIT_MS, signal);
    await abortable(login, wait.signal, 'logout: waiting for the login', { endpoint: 'logout' });
    if (this.#token === undefined) return;
    const headers = tokenHeaders(this.#token);
    this.#token = undefined;
    await http.send({
      endpoint: 'logout',
      method: 'POST',
      path: '/logout/',
      headers,
      stats: createPollStats(signal),
      ...bufferBody(MAX_RESPONSE_BYTES, () => undefined),
    });
  }

  /** The request with its method and headers, and with a look at the age of its response. */
  #complete<T>({ acceptsProtobuf, ...request }: ApiRequest<T>, token?: string): HttpRequest<T> {
    const { isBesideApi } = request;
    const sentToken = isBesideApi !== true;
    const method = request.body === undefined ? 'GET' : 'POST';
    const headers = {
      ...(token !== undefined && tokenHeaders(token, isBesideApi)),
      ...(request.body !== undefined && { 'content-type': 'application/json' }),
      ...(acceptsProtobuf === true && PROTOBUF_HEADERS),
    };
    const onHeaders = (response: HttpResponse): void => {
      this.#responses.check(request, response);
      request.onHeaders?.(response);
    };
    return { ...request, method, headers, sentToken, onHeaders };
  }

  /** Drops a refused token, so that the next request logs in. Returns false if none can, or in the pause since the last time. */
  #dropRefused(token: string | undefined, { endpoint }: ApiRequest<unknown>): boolean {
    if (this.#options.username === undefined) return false;
    // Another request has replaced it meanwhile.
    if (token !== this.#token) return true;
    const nowMs = this.#options.runningMs();
    if (nowMs - this.#droppedAtMs < POLICY.refusedLoginPauseMs) return false;
    const refused = this.#refusing.get(endpoint);
    if (refused !== undefined && nowMs - refused.atMs < refusedLoginPauseMs(refused.refusals)) {
      return false;
    }
    this.#droppedAtMs = nowMs;
    this.#token = undefined;
    return true;
  }

  /** Sends POST /login/ with a form, as servers do not understand a JSON body; throws the last failure during its pause. */
  async #logIn(username: string, password: string, { limits }: PollStats): Promise<string> {
    const { http, loginTimeoutMs, loginTried, loginFailed, runningMs } = this.#options;
    if (this.#failedLogin?.password !== password) this.#failedLogin = undefined;
    const failed = this.#failedLogin;
    if (failed !== undefined && runningMs() < failed.pausedUntilMs) throw failed.error;
    using deadline = beginDeadline(loginTimeoutMs);
    let wasSent = false;
    try {
      const token = await http.send({
        endpoint: 'login',
        method: 'POST',
        path: '/login/',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ username, password }).toString(),
        stats: { ...createPollStats(deadline.signal), limits },
        retryOn500: true,
        wasRefused: (failed?.refusals ?? 0) > 0,
        onSend() {
          if (!wasSent) loginTried();
          wasSent = true;
        },
        ...bufferBody(MAX_RESPONSE_BYTES, readToken),
      });
      this.#token = token;
      this.#failedLogin = undefined;
      this.#onUsable();
      return token;
    } catch (error) {
      // What breakers and pauses hold back is no login, and waits for them alone.
      if (!(error instanceof RequestError) || !wasSent) throw error;
      loginFailed(error);
      this.#pause(error, password);
      throw error;
    }
  }

  /** Begins the pause after a failed login; the breakers of the URL and of the endpoint know failures of those. */
  #pause(error: RequestError, password: string): void {
    if (error.blames !== 'nobody') return;
    const isRefused = error.reason === 'auth' || error.reason === 'forbidden';
    const refusals = (this.#failedLogin?.refusals ?? 0) + Number(isRefused);
    const pauseMs = isRefused ? refusedLoginPauseMs(refusals) : POLICY.uselessLoginPauseMs;
    const { runningMs, wallMs } = this.#options;
    if (isRefused) error.nextLoginMs = wallMs() + pauseMs;
    this.#failedLogin = { error, password, pausedUntilMs: runningMs() + pauseMs, refusals };
  }
}

function isRefusedToken(error: unknown): boolean {
  return error instanceof RequestError && error.reason === 'auth';
}

/**
 * Servers with the gRPC gateway (up to 25.3) choose the form of a response by Accept. Later ones compare each value of
 * Accept-Encoding, then of Content-Type with the names of both forms, also where a request has no body, and never read Accept.
 */
const PROTOBUF_HEADERS = { accept: PROTOBUF, 'content-type': PROTOBUF } as const;

/** Servers read the cookie beside the API, or the first header. The second one has the name in the first documents of the API. */
function tokenHeaders(token: string, isBesideApi = false): Readonly<Record<string, string>> {
  if (isBesideApi) return { cookie: `session=${token}` };
  return { 'X-Cockroach-API-Session': token, 'X-Service-API-Session': token };
}

/** The token, which may stand in the line that `cockroach auth-session login --only-cookie` prints. */
async function readReadyToken(read: () => Promise<string>): Promise<string> {
  const text = await read();
  // Example: session=CJHnEhIQ…==; Path=/; HttpOnly
  const token = /^session=([^;\s]+)(?:;.*)?$/.exec(text)?.[1] ?? text;
  if (TOKEN.test(token)) return token;
  throw new RequestError('auth', `the session token ${NO_TOKEN}`, LOGIN);
}

function readToken(body: Buffer): string {
  const { session } = decodeValue(body, loginResponse).value;
  if (!session) throw new RequestError('decode', 'login: the response has no session', LOGIN);
  if (TOKEN.test(session)) return session;
  throw new RequestError('decode', `login: the session token ${NO_TOKEN}`, LOGIN);
}
