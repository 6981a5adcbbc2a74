import { classifyThrown, type FailureReason, RequestError } from '../http/errors.ts';

/** How one logs in; the text of the password is asked for each time, since its file may change. */
interface Credentials {
  readonly username: string;
  readonly password: () => Promise<string>;
}

export interface SessionOptions {
  /** Absent with a ready token or an insecure cluster. */
  readonly credentials?: Credentials;
  /** A ready session token, read anew when the server refuses it. */
  readonly token?: () => Promise<string>;
  /** Header names to try, in order; the one that worked is remembered. */
  readonly headerNames: readonly string[];
  /** One login request; resolves to the token. */
  readonly login: (username: string, password: string) => Promise<string>;
  readonly loginTried: () => void;
  readonly loginFailed: (error: RequestError) => void;
  readonly monotonicMs: () => number;
}

/** Refused secrets do not get better by asking again, and each login costs the server a slow hash. */
const REJECTED_PAUSE_MS = 60_000;
/** A login that brings no usable token may be a balancer's page: worth another login sooner. */
const UNUSABLE_PAUSE_MS = 15_000;

/** A login that was answered, but not with a token that can be sent. */
const NO_TOKEN: ReadonlySet<FailureReason> = new Set(['decode', 'limit']);

/** Failures of the network say nothing of the token; a missing privilege says that it is good. */
const SAYS_NOTHING: ReadonlySet<FailureReason> = new Set([
  'network',
  'timeout',
  'tls',
  'breaker_open',
  'forbidden',
]);
const MAX_TOKEN_LENGTH = 4096;

interface Token {
  readonly text: string;
  /** What it came from: the password of the login, or the ready token itself. */
  readonly secret: string;
  /** When it was obtained, monotonic ms. */
  readonly sinceMs: number;
  /** True once the server has taken it. */
  accepted: boolean;
  /** True once an endpoint would not take it under any header. */
  refused: boolean;
}

/** One way to ask. */
interface Attempt {
  readonly token: Token;
  /** Index of the header's name. */
  readonly header: number;
  readonly isRenewed: boolean;
  /** No other header name is left to try. */
  readonly isLastHeader: boolean;
}

/** A failed login is not repeated with the same secret until the pause has passed. */
interface Rejection {
  readonly error: RequestError;
  readonly untilMs: number;
  readonly secret: string;
}

/** The token of one cluster: one login for any number of waiting calls, one header name found out. */
export class Session {
  readonly #options: SessionOptions;
  #token: Token | undefined;
  #pending: Promise<Token> | undefined;
  #header = 0;
  #rejected: Rejection | undefined;
  /** When the last login took place whose token was refused. */
  #futileAtMs: number | undefined;
  /** When a token was forgotten on suspicion. */
  #doubtedAtMs: number | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /**
   * Runs `call` with the session header. After a refusal it is repeated: with a new token when the
   * old one had been good before, under the next header name when a token has never been good.
   */
  async run<T>(call: (headers: Record<string, string>) => Promise<T>): Promise<T> {
    if (!this.#hasToken()) return call({});
    let attempt: Attempt | undefined = {
      token: await this.#current(),
      header: this.#header,
      isRenewed: false,
      isLastHeader: this.#options.headerNames.length === 1,
    };
    for (;;) {
      const { token, header }: Attempt = attempt;
      try {
        const answer = await call({ [this.#headerName(header)]: token.text });
        // An endpoint that needs no session takes any name: it does not unlearn the right one.
        if (!token.accepted || attempt.isLastHeader) this.#header = header;
        token.accepted = true;
        return answer;
      } catch (error) {
        if (!(error instanceof RequestError) || error.reason !== 'auth') {
          this.#doubt(token, error);
          throw error;
        }
        attempt = await this.#afterRefusal(attempt, error);
        if (attempt === undefined) throw error;
      }
    }
  }

  /** How to ask once more; undefined when that would be no use. Each branch is taken once at most. */
  async #afterRefusal(attempt: Attempt, error: RequestError): Promise<Attempt | undefined> {
    const { token, header, isRenewed, isLastHeader } = attempt;
    // Another call has found the right name meanwhile: the token is good.
    if (!isLastHeader && token.accepted && header !== this.#header) {
      return { ...attempt, header: this.#header, isLastHeader: true };
    }
    if (!isRenewed && this.#mayRenew(token)) {
      if (this.#token === token) this.#token = undefined;
      return { ...attempt, token: await this.#current(), header: this.#header, isRenewed: true };
    }
    if (!isLastHeader && !token.accepted) {
      const next = header === this.#header ? header + 1 : this.#header;
      return { ...attempt, header: next % this.#options.headerNames.length, isLastHeader: true };
    }
    this.#giveUp(token, error);
    return undefined;
  }

  /** Another call has renewed it already, or it is worth a login: not after one that was no help. */
  #mayRenew(token: Token): boolean {
    if (token !== this.#token) return true;
    const mayLogIn = isOver(this.#futileAtMs, this.#options.monotonicMs());
    return (token.accepted || token.refused) && mayLogIn;
  }

  /**
   * A token from a login is kept for a minute, since other endpoints may take what this one refuses; one from a
   * file is forgotten, so that the file is read again.
   */
  #giveUp(token: Token, error: RequestError): void {
    if (this.#options.credentials !== undefined) {
      token.refused = true;
      this.#futileAtMs = Math.max(this.#futileAtMs ?? -Infinity, token.sinceMs);
    } else if (!token.accepted) {
      if (this.#token === token) this.#token = undefined;
      this.#remember(error, token.secret, REJECTED_PAUSE_MS);
    }
  }

  /**
   * A token that was never accepted may be why a call failed: the next one gets another. No oftener than once a
   * minute, so that a server that fails all calls is not asked for a login by each of them.
   */
  #doubt(token: Token, error: unknown): void {
    if (token.accepted || wasAborted(error)) return;
    if (SAYS_NOTHING.has(classifyThrown(error, 'session').reason)) return;
    const nowMs = this.#options.monotonicMs();
    if (this.#token !== token || !isOver(this.#doubtedAtMs, nowMs)) return;
    this.#doubtedAtMs = nowMs;
    this.#token = undefined;
  }

  /** The header of the session that was created by a login here, for logging it out; then forgets it. */
  takeCreated(): Record<string, string> | undefined {
    const token = this.#token;
    if (this.#options.credentials === undefined || token === undefined) return undefined;
    this.#token = undefined;
    return { [this.#headerName(this.#header)]: token.text };
  }

  #hasToken(): boolean {
    return this.#options.credentials !== undefined || this.#options.token !== undefined;
  }

  #headerName(index: number): string {
    return this.#options.headerNames[index] ?? 'X-Cockroach-API-Session';
  }

  async #current(): Promise<Token> {
    if (this.#token !== undefined) return this.#token;
    this.#pending ??= this.#fetch().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #fetch(): Promise<Token> {
    const { credentials, token } = this.#options;
    const secret = (await (credentials?.password ?? token)?.()) ?? '';
    const rejected = this.#rejected;
    if (rejected !== undefined && rejected.secret === secret) {
      if (this.#options.monotonicMs() < rejected.untilMs) throw rejected.error;
    }
    if (credentials === undefined) checkToken(secret, 'auth', 'the session token');
    const text =
      credentials === undefined ? secret : await this.#logIn(credentials.username, secret);
    this.#rejected = undefined;
    const sinceMs = this.#options.monotonicMs();
    this.#token = { text, secret, sinceMs, accepted: false, refused: false };
    return this.#token;
  }

  async #logIn(username: string, password: string): Promise<string> {
    this.#options.loginTried();
    try {
      const token = await this.#options.login(username, password);
      checkToken(token, 'decode', 'login: the session token');
      return token;
    } catch (error) {
      const failure = classifyThrown(error, 'login');
      this.#options.loginFailed(failure);
      if (failure.reason === 'auth') this.#remember(failure, password, REJECTED_PAUSE_MS);
      if (NO_TOKEN.has(failure.reason)) this.#remember(failure, password, UNUSABLE_PAUSE_MS);
      throw failure;
    }
  }

  #remember(error: RequestError, secret: string, pauseMs: number): void {
    this.#rejected = { error, untilMs: this.#options.monotonicMs() + pauseMs, secret };
  }
}

/** Whether nobody waited for the answer any more. */
function wasAborted(error: unknown): boolean {
  return (
    error instanceof Error && error.cause instanceof Error && error.cause.name === 'AbortError'
  );
}

/** Whether a pause that began then has passed. */
function isOver(beganAtMs: number | undefined, nowMs: number): boolean {
  return beganAtMs === undefined || nowMs - beganAtMs >= REJECTED_PAUSE_MS;
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
