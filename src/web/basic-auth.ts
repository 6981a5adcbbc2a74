import { createHmac, randomBytes } from 'node:crypto';
import type { PasswordChecker } from './password-checker.ts';

/** `busy`: so many comparisons wait that this one must come later. */
type Verdict = 'good' | 'bad' | 'busy';

export interface Authenticator {
  /** Judges an Authorization header; `client` is the address it comes from. */
  judge(authorization: string | undefined, client: string): Promise<Verdict>;
}

/** Comparisons take a tenth of a second each: whoever guesses must not keep others waiting for long. */
const MOST_WAITING = 50;
const MOST_WAITING_PER_CLIENT = 3;
/** More than anybody has users; a password that was right once need not be compared again. */
const MOST_KNOWN = 100;
/** What the password of an unknown user is compared with, so that it takes the same time: 53 characters. */
const NOBODY = '......................0123456789012345678901234567890';
const BASIC = /^basic ([A-Za-z\d+/]+={0,2})$/i;

interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** Judges passwords by the bcrypt hashes of the users there are at the moment. */
export function createAuthenticator(
  users: () => ReadonlyMap<string, string>,
  checker: PasswordChecker,
): Authenticator {
  const secret = randomBytes(32);
  const known = new Set<string>();
  const waiting = new Map<string, Promise<boolean>>();
  const waitingOfClient = new Map<string, number>();

  async function compare({ user, password }: Credentials, key: string): Promise<boolean> {
    const hash = users().get(user);
    const isRight = await checker.isRight({ password, hash: hash ?? hashOfNobody(users()) });
    if (!isRight || hash === undefined) return false;
    if (known.size >= MOST_KNOWN) known.clear();
    known.add(key);
    return true;
  }

  async function compareInTurn(credentials: Credentials, key: string, client: string) {
    const count = waitingOfClient.get(client) ?? 0;
    if (waiting.size >= MOST_WAITING || count >= MOST_WAITING_PER_CLIENT) return 'busy';
    waitingOfClient.set(client, count + 1);
    const comparison = compare(credentials, key);
    waiting.set(key, comparison);
    try {
      return (await comparison) ? 'good' : 'bad';
    } finally {
      waiting.delete(key);
      const left = (waitingOfClient.get(client) ?? 1) - 1;
      if (left > 0) waitingOfClient.set(client, left);
      else waitingOfClient.delete(client);
    }
  }

  return {
    async judge(authorization, client) {
      const credentials = parseBasic(authorization);
      if (credentials === undefined) return 'bad';
      const { user, password } = credentials;
      // The hash is part of the key: with another one, the password must be compared again.
      const parts = JSON.stringify([user, users().get(user), password]);
      const key = createHmac('sha256', secret).update(parts).digest('base64');
      if (known.has(key)) return 'good';
      const sameQuestion = waiting.get(key);
      if (sameQuestion !== undefined) return (await sameQuestion) ? 'good' : 'bad';
      return compareInTurn(credentials, key, client);
    },
  };
}

function parseBasic(authorization = ''): Credentials | undefined {
  const [, encoded] = BASIC.exec(authorization) ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString();
  const colon = text.indexOf(':');
  if (colon === -1) return undefined;
  return { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** As slow as the slowest of the real ones. */
function hashOfNobody(users: ReadonlyMap<string, string>): string {
  const costs = Array.from(users.values(), (hash) => hash.split('$')[2] ?? '10');
  return `$2b$${costs.toSorted().at(-1) ?? '10'}$${NOBODY}`;
}
