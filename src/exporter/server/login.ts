import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { isSlowHash, type WebConfig } from '#config';
import { sendText } from '../routes/respond.ts';

/** Number of accepted logins that are remembered, so that they need no other comparison. There are far fewer users. */
const MAX_ACCEPTED = 100;
/** Number of logins that wait for their comparison; one more displaces one of them at random. */
const MAX_WAITING = 100;
/** A displaced client is answered after this time: if it tried again at once, it would displace others without end. */
const BUSY_SECONDS = 5;
/** Salt and hash, 53 characters, that are compared for unknown users, so that they take as long as known ones. */
const UNKNOWN_USER_HASH = '......................0123456789012345678901234567890';
const BASIC = /^basic ([A-Za-z\d+/]+={0,2})$/i;

/** `busy`: the login was displaced by another one, or its client has left. */
type LoginOutcome = 'accepted' | 'rejected' | 'busy';

/** Compares a password with a bcrypt hash. */
export type ComparePassword = (password: string, hash: string) => Promise<boolean>;

/** A login whose password must be compared. */
interface WaitingLogin {
  readonly user: string;
  readonly password: string;
  readonly result: PromiseWithResolvers<LoginOutcome>;
}

/**
 * Requires the password of one of the configured users. Resolves to false once it has answered with 401 or 429. Hashes that
 * take very long have a comparison of their own, so that nobody waits for it but their users.
 */
export function createAuthenticator(
  users: () => WebConfig['users'],
  compare: ComparePassword,
  compareSlow: ComparePassword,
) {
  const checkUsual = createLoginCheck(users, compare);
  const checkSlow = createLoginCheck(users, compareSlow);
  const checkLogin: typeof checkUsual = (authorization, clientLeft) => {
    const hash = users().get(parseBasic(authorization)?.user ?? '');
    const check = hash !== undefined && isSlowHash(hash) ? checkSlow : checkUsual;
    return check(authorization, clientLeft);
  };
  return async ({ headers }: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    if (users().size === 0) return true;
    const closed = new AbortController();
    response.once('close', () => closed.abort());
    const result = await checkLogin(headers.authorization, closed.signal);
    if (result === 'rejected') {
      sendText(response, 401, 'Unauthorized\n', { 'www-authenticate': 'Basic' });
    } else if (result === 'busy') {
      // The wait ends early if the client leaves, which then gets no response.
      const options = { signal: closed.signal, ref: false };
      await sleep(BUSY_SECONDS * 1000, undefined, options).catch(() => undefined);
      sendText(response, 429, 'too many concurrent logins\n', { 'retry-after': '1' });
    }
    return result === 'accepted';
  };
}

/**
 * Checks Authorization headers against the bcrypt hashes of the configured users, until `clientLeft` is aborted. Comparisons are
 * slow, so there is one at a time, and the next one is chosen at random from at most 100 logins. Example: somebody guesses
 * passwords, and 99 guesses wait beside the first login of a scraper. That login is the next with a chance of 1 %, and
 * again after each comparison. So guesses delay a scraper, and cannot lock it out. An accepted login is not compared again.
 */
export function createLoginCheck(users: () => WebConfig['users'], compare: ComparePassword) {
  let secret: Buffer | undefined;
  const accepted = new Set<string>();
  const waiting = new Set<WaitingLogin>();
  let isComparing = false;

  /** The key of an accepted login. The hash is part of it, so that a new hash requires a new comparison. */
  function keyOf(user: string, password: string): string {
    const parts = JSON.stringify([user, users().get(user), password]);
    // Loaded with the first login.
    const { createHmac, randomBytes } = process.getBuiltinModule('node:crypto');
    secret ??= randomBytes(32);
    return createHmac('sha256', secret).update(parts).digest('base64');
  }

  async function compareLogin({ user, password }: WaitingLogin): Promise<LoginOutcome> {
    const key = keyOf(user, password);
    if (accepted.has(key)) return 'accepted';
    const hash = users().get(user);
    const isMatch = await compare(password, hash ?? hashOfUnknownUser(users()));
    if (!isMatch || hash === undefined) return 'rejected';
    if (accepted.size >= MAX_ACCEPTED) accepted.clear();
    accepted.add(key);
    return 'accepted';
  }

  function takeRandom(): WaitingLogin | undefined {
    const attempt = [...waiting][Math.floor(Math.random() * waiting.size)];
    if (attempt !== undefined) waiting.delete(attempt);
    return attempt;
  }

  async function compareWaiting(): Promise<void> {
    isComparing = true;
    for (let next = takeRandom(); next !== undefined; next = takeRandom()) {
      await compareLogin(next).then(next.result.resolve, next.result.reject);
    }
    isComparing = false;
  }

  return async (
    authorization: string | undefined,
    clientLeft: AbortSignal,
  ): Promise<LoginOutcome> => {
    const credentials = parseBasic(authorization);
    if (credentials === undefined) return 'rejected';
    const { user, password } = credentials;
    if (accepted.has(keyOf(user, password))) return 'accepted';
    if (clientLeft.aborted) return 'busy';
    if (waiting.size >= MAX_WAITING) takeRandom()?.result.resolve('busy');
    const attempt = { user, password, result: Promise.withResolvers<LoginOutcome>() };
    waiting.add(attempt);
    clientLeft.addEventListener('abort', () => {
      if (waiting.delete(attempt)) attempt.result.resolve('busy');
    });
    if (!isComparing) void compareWaiting();
    return attempt.result.promise;
  };
}

function parseBasic(authorization = '') {
  const [, encoded] = BASIC.exec(authorization) ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString();
  const colon = text.indexOf(':');
  if (colon === -1) return undefined;
  return { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** A hash that takes as long to compare as the slowest one of the users, but for those that take very long. */
function hashOfUnknownUser(users: WebConfig['users']): string {
  const hashes = [...users.values()].filter((hash) => !isSlowHash(hash));
  const costs = hashes.map((hash) => hash.split('$')[2] ?? '10');
  return `$2b$${costs.toSorted().at(-1) ?? '10'}$${UNKNOWN_USER_HASH}`;
}

/** The file of the thread: beside this one, and TypeScript or JavaScript as this one is. */
const WORKER = new URL(`password-worker${path.extname(import.meta.filename)}`, import.meta.url);

/** Compares passwords in a thread of its own, which starts with the first comparison. One comparison at a time. */
export class PasswordThread implements AsyncDisposable {
  #worker: Worker | undefined;
  #result = Promise.withResolvers<boolean>();

  /** Must be called again only when the comparison has ended. Rejects when the thread ends meanwhile. */
  readonly compare: ComparePassword = (password, hash) => {
    this.#result = Promise.withResolvers();
    this.#worker ??= this.#start();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
    this.#worker.postMessage({ password, hash });
    return this.#result.promise;
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker?.terminate();
  }

  #start(): Worker {
    // It needs nothing of the process: neither flags nor variables, which may contain secrets.
    const worker = new Worker(WORKER, { argv: [], env: {}, execArgv: [] });
    worker.on('message', (isMatch: unknown) => this.#result.resolve(isMatch === true));
    worker.on('error', (error) => this.#result.reject(error));
    worker.on('exit', () => {
      this.#worker = undefined;
      this.#result.reject(new Error('the thread that compares passwords has ended'));
    });
    worker.unref();
    return worker;
  }
}
