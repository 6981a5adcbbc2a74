import type { HttpClient } from '../http/client.ts';
import { abortable } from '../http/deadlines.ts';
import { RequestError, toRequestError } from '../http/errors.ts';
import { createPollStats, recordLimit } from '../http/poll-stats.ts';
import { bufferBody, type HttpRequest } from '../http/request.ts';
import { decodeValue } from '../json/decoder.ts';
import { object, string } from '../json/shape.ts';

interface ApiLoginOptions {
  readonly http: HttpClient;
  /** Undefined with a token from the configuration, and for an insecure cluster. */
  readonly username: string | undefined;
  /** Reads the password, or the token, from the configuration: for each login, and when a token is refused, as files change. */
  readonly secret: (() => Promise<string>) | undefined;
  /** The maximum duration of one login. The requests that wait for it may give up earlier. */
  readonly loginTimeoutMs: number;
  readonly loginTried: () => void;
  readonly loginFailed: (error: RequestError) => void;
  readonly monotonicMs: () => number;
}

/** A GET of the cluster API, to which ApiLogin adds the token. */
export interface ApiRequest<T> extends Omit<
  HttpRequest<T>,
  'method' | 'headers' | 'body' | 'sentToken'
> {
  /** Sends the token as the cookie `session`, as paths outside of /api/v2/ expect it. A refusal then does not replace it. */
  readonly sendsCookie?: boolean;
}

/** Pause after a refused login: the same password is hardly accepted later, and each login costs the server a slow hash. */
const REFUSED_PAUSE_MS = 60_000;
const LOGIN = { endpoint: 'login' } as const;
/** Maximum size of the response to a login or logout. */
const MAX_RESPONSE_BYTES = 64 * 1024;
/** A header can carry such a token; servers send base64. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/;

export const loginResponse = object({ session: string() });

interface Token {
  readonly text: string;
  /** The secret of the configuration when the token was created: the password of the login, or the token itself. */
  readonly secret: string;
}

/** A refused login, which is not tried again with the same password for a minute. */
interface RefusedLogin {
  readonly error: RequestError;
  readonly password: string;
  /** Monotonic ms. */
  readonly atMs: number;
}

/**
 * Gets and replaces the token of one cluster. All requests that need one wait for the same login. A token that is refused
 * with 401 is replaced by a new login, at most once in a minute. A login that is refused is tried again after a minute, or
 * at once when the password has changed. Example: the password is refused at 0 s. Requests fail without a login until 60 s,
 * but if its file changes at 10 s, the next request logs in.
 */
export class ApiLogin {
  readonly #options: ApiLoginOptions;
  #token: Token | undefined;
  /** The token that is being fetched. */
  #pending: Promise<Token> | undefined;
  #refusedLogin: RefusedLogin | undefined;
  /** When a refused token was last dropped, monotonic ms. */
  #droppedAtMs = -Infinity;

  constructor(options: ApiLoginOptions) {
    this.#options = options;
  }

  /** Sends a request with the token. If the token is refused, sends the request once more with a new token. */
  async get<T>(request: ApiRequest<T>): Promise<T> {
    const { endpoint, stats } = request;
    try {
      return await abortable(this.#authorize(request), stats.signal, endpoint, request);
    } catch (error) {
      recordLimit(stats, error);
      throw error;
    }
  }

  /** Ends the session of the token if a login created it. Waits for a login that has begun. */
  async logOut(signal: AbortSignal): Promise<void> {
    const { username, http } = this.#options;
    if (username === undefined) return;
    // A failed login has created no session.
    const login = Promise.resolve(this.#pending).catch(() => undefined);
    await abortable(login, signal, 'logout: waiting for the login', { endpoint: 'logout' });
    if (this.#token === undefined) return;
    const headers = sessionHeaders(this.#token);
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

  async #authorize<T>(request: ApiRequest<T>): Promise<T> {
    if (this.#options.secret === undefined) return this.#send(request, {});
    const token = await this.#getToken();
    if (request.sendsCookie === true) {
      // Without `sentToken` a refusal does not count as a refusal of the token.
      const headers = { cookie: `session=${token.text}` };
      return this.#options.http.send({ ...request, method: 'GET', headers });
    }
    try {
      return await this.#send(request, sessionHeaders(token));
    } catch (error) {
      const isRefused = error instanceof RequestError && error.reason === 'auth';
      if (!isRefused || !(await this.#dropRefused(token))) throw error;
    }
    return this.#send(request, sessionHeaders(await this.#getToken()));
  }

  #send<T>(request: ApiRequest<T>, headers: Readonly<Record<string, string>>): Promise<T> {
    return this.#options.http.send({ ...request, method: 'GET', headers, sentToken: true });
  }

  /**
   * Drops a refused token, so that the next call of `#getToken` gets a new one. Returns false if it must stay: a token of
   * the configuration until its file changes, and the token of a login for a minute after the last drop.
   */
  async #dropRefused(token: Token): Promise<boolean> {
    const { username, secret, monotonicMs } = this.#options;
    const isChanged = username === undefined && (await secret?.()) !== token.secret;
    // Another request has replaced it meanwhile.
    if (token !== this.#token) return true;
    const nowMs = monotonicMs();
    const mayLogIn = username !== undefined && nowMs - this.#droppedAtMs >= REFUSED_PAUSE_MS;
    if (!isChanged && !mayLogIn) return false;
    this.#droppedAtMs = nowMs;
    this.#token = undefined;
    return true;
  }

  async #getToken(): Promise<Token> {
    if (this.#token !== undefined) return this.#token;
    this.#pending ??= this.#fetch().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #fetch(): Promise<Token> {
    const { username } = this.#options;
    const secret = (await this.#options.secret?.()) ?? '';
    if (username === undefined && !TOKEN.test(secret)) {
      throw new RequestError('auth', `the session token ${NO_TOKEN}`, LOGIN);
    }
    const text = username === undefined ? secret : await this.#logIn(username, secret);
    this.#token = { text, secret };
    return this.#token;
  }

  /** Sends POST /login/ with a form, as servers do not understand a JSON body; throws the last refusal during its pause. */
  async #logIn(username: string, password: string): Promise<string> {
    const { http, loginTimeoutMs, loginTried, loginFailed, monotonicMs } = this.#options;
    const refused = this.#refusedLogin;
    const isPaused = refused !== undefined && monotonicMs() - refused.atMs < REFUSED_PAUSE_MS;
    if (isPaused && refused.password === password) throw refused.error;
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
      const isRefused = error.reason === 'auth' || error.reason === 'forbidden';
      if (isRefused) this.#refusedLogin = { error, password, atMs: monotonicMs() };
      throw error;
    }
  }
}

/** Servers read the first header. The second one has the name in the first documents of the API. */
function sessionHeaders({ text }: Token): Record<string, string> {
  return { 'X-Cockroach-API-Session': text, 'X-Service-API-Session': text };
}

const NO_TOKEN = 'must be at most 4096 characters of printable ASCII without spaces';

function readToken(body: Buffer): string {
  const { session } = decodeValue(body, loginResponse).value;
  if (!session) throw new RequestError('decode', 'login: the response has no session', LOGIN);
  if (TOKEN.test(session)) return session;
  throw new RequestError('decode', `login: the session token ${NO_TOKEN}`, LOGIN);
}
