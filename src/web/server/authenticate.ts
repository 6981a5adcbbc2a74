import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WebConfig } from '../../config/web-config.ts';
import { sendText } from '../respond.ts';
import { clientNetwork } from './connections.ts';
import { LoginQueue, type LoginOutcome } from './login-queue.ts';
import type { PasswordChecker } from './password-checker.ts';

/** Far more than there are users; a password that was accepted once is not compared again. */
const MAX_ACCEPTED = 100;
/** Compared for unknown users, so that they take the same time: 53 characters. */
const UNKNOWN_USER_HASH = '......................0123456789012345678901234567890';
const BASIC = /^basic ([A-Za-z\d+/]+={0,2})$/i;
/** A client that is dropped from the queue and retries at once would displace others without end. */
const BUSY_SECONDS = 1;
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

  async function compare(user: string, password: string): Promise<LoginOutcome> {
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
  ): Promise<LoginOutcome> => {
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
