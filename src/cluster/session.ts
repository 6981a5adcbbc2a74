import { RequestError } from '../http/errors.ts';

/** How one logs in; the text of the password is asked for each time, since its file may change. */
export interface Credentials {
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

interface Token {
  readonly text: string;
  /** What it came from: the password of the login, or the ready token itself. */
  readonly secret: string;
  /** True once the server has taken it. */
  accepted: boolean;
}

interface Rejection {
  readonly error: RequestError;
  readonly atMs: number;
  readonly secret: string;
}

/** The token of one cluster: one login for any number of waiting calls, one header name found out. */
export class Session {
  readonly #options: SessionOptions;
  #token: Token | undefined;
  #pending: Promise<Token> | undefined;
  #header = 0;
  #rejected: Rejection | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /**
   * Runs `call` with the session header. After a refusal it is repeated: once with a new token when
   * the old one had been good before, once under the next header name when a fresh one is refused.
   */
  async run<T>(call: (headers: Record<string, string>) => Promise<T>): Promise<T> {
    if (!this.#hasToken()) return call({});
    let token = await this.#current();
    let renewed = false;
    let header = this.#header;
    for (let tries = 0; ; tries += 1) {
      try {
        const answer = await call({ [this.#headerName(header)]: token.text });
        token.accepted = true;
        this.#header = header;
        return answer;
      } catch (error) {
        if (!(error instanceof RequestError) || error.reason !== 'auth' || tries === 2) throw error;
        if (!renewed && (token.accepted || this.#token !== token)) {
          token = await this.#renew(token);
          renewed = true;
        } else if (header === this.#header && this.#options.headerNames.length > 1) {
          header = (header + 1) % this.#options.headerNames.length;
        } else {
          this.#reject(token, error);
          throw error;
        }
      }
    }
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

  /** A fresh token that no header makes acceptable: another login would not help either. */
  #reject(token: Token, error: RequestError): void {
    this.#drop(token);
    this.#remember(error, token.secret);
  }

  /** A new token in place of one that was refused; another call may have fetched it already. */
  async #renew(refused: Token): Promise<Token> {
    this.#drop(refused);
    return this.#current();
  }

  #drop(refused: Token): void {
    if (this.#token === refused) this.#token = undefined;
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
      if (this.#options.monotonicMs() - rejected.atMs < REJECTED_PAUSE_MS) throw rejected.error;
    }
    const text =
      credentials === undefined ? secret : await this.#logIn(credentials.username, secret);
    this.#rejected = undefined;
    this.#token = { text, secret, accepted: false };
    return this.#token;
  }

  async #logIn(username: string, password: string): Promise<string> {
    this.#options.loginTried();
    try {
      return await this.#options.login(username, password);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      this.#options.loginFailed(error);
      if (error.reason === 'auth') this.#remember(error, password);
      throw error;
    }
  }

  #remember(error: RequestError, secret: string): void {
    this.#rejected = { error, atMs: this.#options.monotonicMs(), secret };
  }
}
