import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WebConfig } from '../../config/web-config.ts';
import { sendText } from '../respond.ts';
import { clientNetwork } from './connections.ts';
import type { PasswordChecker } from './password-checker.ts';

/** Far more than there are users; a password that was accepted once is not compared again. */
const MAX_ACCEPTED = 100;
/** Compared for unknown users, so that they take the same time: 53 characters. */
const UNKNOWN_USER_HASH = '......................0123456789012345678901234567890';
const BASIC = /^basic ([A-Za-z\d+/]+={0,2})$/i;
/** A client that is dropped from the queue and retries at once would displace others without end. */
const BUSY_SECONDS = 1;
/** Each waiting request holds a connection: these are few of the connections that a listener accepts. */
const MAX_WAITING = 200;
/** Clients whose last comparison is remembered; the least recent are forgotten first. */
const MAX_CLIENTS = 10_000;

/** `busy`: too many comparisons wait for this one to be made, or its client has left. */
type Outcome = 'accepted' | 'rejected' | 'busy';

/** Requires the password of one of the present users; resolves to false when it has sent 401 or 429 itself. */
export function createAuthenticator(users: () => WebConfig['users'], checker: PasswordChecker) {
  const checkLogin = createLoginCheck(users, checker);
  return async ({ headers, socket }: IncomingMessage, response: ServerResponse) => {
    if (users().size === 0) return true;
    const closed = new AbortController();
    response.once('close', () => closed.abort());
    const result = await checkLogin(headers.authorization, socket.remoteAddress, closed.signal);
    if (result === 'rejected') {
      sendText(response, 401, 'Unauthorized\n', { 'www-authenticate': 'Basic' });
    } else if (result === 'busy') {
      // Ends early only when the client has left, which then needs no response.
      const options = { signal: closed.signal, ref: false };
      await sleep(BUSY_SECONDS * 1000, undefined, options).catch(() => undefined);
      const retry = { 'retry-after': String(BUSY_SECONDS) };
      sendText(response, 429, 'too many concurrent logins\n', retry);
    }
    return result === 'accepted';
  };
}

/** Checks Authorization headers against the bcrypt hashes of the present users, until `left` is aborted. */
export function createLoginCheck(users: () => WebConfig['users'], checker: PasswordChecker) {
  const secret = randomBytes(32);
  const accepted = new Set<string>();
  const queue = new LoginQueue();

  /** The hash is part of the key: when it changes, the password must be compared again. */
  function keyOf(user: string, password: string): string {
    const parts = JSON.stringify([user, users().get(user), password]);
    return createHmac('sha256', secret).update(parts).digest('base64');
  }

  async function compare(user: string, password: string): Promise<Outcome> {
    const key = keyOf(user, password);
    const hash = users().get(user);
    const isMatch = await checker.matches(password, hash ?? hashOfUnknownUser(users()));
    if (!isMatch || hash === undefined) return 'rejected';
    if (accepted.size >= MAX_ACCEPTED) accepted.clear();
    accepted.add(key);
    return 'accepted';
  }

  return async (
    authorization: string | undefined,
    address: string | undefined,
    left: AbortSignal,
  ): Promise<Outcome> => {
    const credentials = parseBasic(authorization);
    if (credentials === undefined) return 'rejected';
    const { user, password } = credentials;
    const key = keyOf(user, password);
    if (accepted.has(key)) return 'accepted';
    const login = { key, client: clientNetwork(address), compare: () => compare(user, password) };
    return queue.compare(login, left);
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

/** As slow as the slowest of the users. */
function hashOfUnknownUser(users: WebConfig['users']): string {
  const costs = Array.from(users.values(), (hash) => hash.split('$')[2] ?? '10');
  return `$2b$${costs.toSorted().at(-1) ?? '10'}$${UNKNOWN_USER_HASH}`;
}

/** A login whose password must be compared. */
interface Login {
  /** The same for the same user and password. */
  readonly key: string;
  readonly client: string;
  readonly compare: () => Promise<Outcome>;
}

interface Attempt extends Login {
  readonly result: PromiseWithResolvers<Outcome>;
  /** Requests that wait for the result. */
  requests: number;
}

/**
 * Logins that wait for their comparison, one at a time. The next one belongs to the client whose last comparison is the
 * least recent, so the guesses of one client do not keep out another; among the attempts of one client, and among
 * clients without a comparison yet, the choice is random. When the queue is full, an attempt of the client with the
 * most is dropped.
 */
class LoginQueue {
  /** By key. */
  readonly #waiting = new Map<string, Attempt>();
  readonly #lastTurns = new Map<string, number>();
  #turn = 0;
  #current: Attempt | undefined;

  async compare(login: Login, left: AbortSignal): Promise<Outcome> {
    if (left.aborted) return 'busy';
    const current = this.#current?.key === login.key ? this.#current : undefined;
    const attempt = current ?? this.#waiting.get(login.key) ?? this.#add(login);
    attempt.requests += 1;
    const leave = (): void => {
      attempt.requests -= 1;
      if (attempt.requests === 0) this.#drop(attempt);
    };
    left.addEventListener('abort', leave, { once: true });
    try {
      return await attempt.result.promise;
    } finally {
      left.removeEventListener('abort', leave);
    }
  }

  #add(login: Login): Attempt {
    if (this.#waiting.size >= MAX_WAITING) {
      const bySize = Map.groupBy(this.#byClient().values(), ({ length }) => length);
      this.#drop(pickRandom(pickRandom(bySize.get(Math.max(...bySize.keys())))));
    }
    const attempt = { ...login, result: Promise.withResolvers<Outcome>(), requests: 0 };
    this.#waiting.set(attempt.key, attempt);
    void this.#run();
    return attempt;
  }

  #byClient(): ReadonlyMap<string, readonly Attempt[]> {
    return Map.groupBy(this.#waiting.values(), ({ client }) => client);
  }

  /** Does nothing when the comparison has begun. */
  #drop(attempt: Attempt): void {
    if (this.#waiting.get(attempt.key) !== attempt) return;
    this.#waiting.delete(attempt.key);
    attempt.result.resolve('busy');
  }

  async #run(): Promise<void> {
    if (this.#current !== undefined) return;
    while (this.#waiting.size > 0) {
      const attempt = this.#takeNext();
      this.#current = attempt;
      await attempt.compare().then(attempt.result.resolve, attempt.result.reject);
      this.#current = undefined;
    }
  }

  #takeNext(): Attempt {
    const attempts = this.#byClient();
    const clients = Map.groupBy(attempts.keys(), (client) => this.#lastTurns.get(client) ?? 0);
    const client = pickRandom(clients.get(Math.min(...clients.keys())));
    const attempt = pickRandom(attempts.get(client));
    this.#waiting.delete(attempt.key);
    this.#turn += 1;
    this.#lastTurns.delete(client);
    this.#lastTurns.set(client, this.#turn);
    const [leastRecent = client] = this.#lastTurns.keys();
    if (this.#lastTurns.size > MAX_CLIENTS) this.#lastTurns.delete(leastRecent);
    return attempt;
  }
}

function pickRandom<T>(items: readonly T[] = []): T {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}
