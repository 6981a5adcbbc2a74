import { createHmac, randomBytes } from 'node:crypto';
import { clientNetwork } from './client-network.ts';
import { LoginQueue } from './login-queue.ts';
import type { PasswordChecker } from './password-checker.ts';

/** `busy`: so many comparisons wait that this one must come later. */
type Verdict = 'good' | 'bad' | 'busy';

/** Where a request comes from. */
export interface Client {
  /** None on a unix socket. */
  readonly address: string | undefined;
  /** Aborted when it has left: then nothing more is done for it. */
  readonly left: AbortSignal;
}

export interface Authenticator {
  /** Judges an Authorization header. */
  judge(authorization: string | undefined, client: Client): Promise<Verdict>;
}

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
  const queue = new LoginQueue();

  /** The hash is part of the key: with another one, the password must be compared again. */
  function keyOf({ user, password }: Credentials): string {
    const parts = JSON.stringify([user, users().get(user), password]);
    return createHmac('sha256', secret).update(parts).digest('base64');
  }

  async function compare(credentials: Credentials): Promise<boolean> {
    const { user, password } = credentials;
    const key = keyOf(credentials);
    const hash = users().get(user);
    const isRight = await checker.isRight({ password, hash: hash ?? hashOfNobody(users()) });
    if (!isRight || hash === undefined) return false;
    if (known.size >= MOST_KNOWN) known.clear();
    known.add(key);
    return true;
  }

  return {
    async judge(authorization, { address, left }) {
      const credentials = parseBasic(authorization);
      if (credentials === undefined) return 'bad';
      const key = keyOf(credentials);
      if (known.has(key)) return 'good';
      const client = clientNetwork(address);
      const login = { key, client, compare: () => compare(credentials) };
      const isRight = await queue.compare(login, left);
      if (isRight === undefined) return 'busy';
      return isRight ? 'good' : 'bad';
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
