import { bytesOf, hashOf } from '../random.ts';

/** The server's table of web sessions. */
export interface Tokens {
  /** A new token for the user, valid on every node until it expires. */
  issue(user: string): string;
  /** The user of a token that is known, not revoked, not expired and has the right secret. */
  userOf(token: Token): string | undefined;
  /** Returns false when there is no such session. */
  revoke(token: Token): boolean;
  expireAll(): void;
  revokeAll(): void;
}

/** The content of a session token: the id of the session and its secret. */
export interface Token {
  readonly id: bigint;
  readonly secret: Buffer;
}

interface Issued {
  readonly user: string;
  readonly secret: Buffer;
  expiresAtMs: number;
  revoked: boolean;
}

export function createTokens(seed: number, timeoutMs: number, now: () => number): Tokens {
  const issued = new Map<bigint, Issued>();
  return {
    issue: (user) => {
      const number = issued.size;
      const id = (BigInt(hashOf('token', seed, number)) << 30n) + BigInt(number) + 1n;
      const secret = bytesOf(16, 'secret', seed, number, now());
      issued.set(id, { user, secret, expiresAtMs: now() + timeoutMs, revoked: false });
      return encodeToken({ id, secret });
    },
    userOf: (token) => {
      const session = issued.get(token.id);
      if (session === undefined || session.revoked || session.expiresAtMs <= now())
        return undefined;
      return session.secret.equals(token.secret) ? session.user : undefined;
    },
    revoke: (token) => {
      const session = issued.get(token.id);
      if (session === undefined) return false;
      session.revoked = true;
      return true;
    },
    expireAll: () => {
      for (const session of issued.values()) session.expiresAtMs = now();
    },
    revokeAll: () => {
      for (const session of issued.values()) session.revoked = true;
    },
  };
}

const ID_FIELD = 0x08;
const SECRET_FIELD = 0x12;

/** Base64 of the protobuf {1: varint id, 2: secret}. */
function encodeToken(token: Token): string {
  const bytes = [ID_FIELD];
  let rest = token.id;
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  bytes.push(Number(rest), SECRET_FIELD, token.secret.length);
  return Buffer.concat([Buffer.from(bytes), token.secret]).toString('base64');
}

/** Decodes the protobuf; other bytes give a token of no session, as on the server. */
export function decodeToken(bytes: Buffer): Token {
  let id = 0n;
  let at = 1;
  for (let shift = 0n; at < bytes.length; shift += 7n) {
    const byte = bytes[at++] ?? 0;
    id |= BigInt(byte & 127) << shift;
    if (byte < 128) break;
  }
  return { id, secret: bytes.subarray(at + 2) };
}

/** The bytes, or the text of Go's error with the offset of the first invalid byte. */
export function decodeBase64(text: string): Buffer | string {
  const padding = /={0,2}$/.exec(text)?.[0].length ?? 0;
  const digits = text.slice(0, text.length - padding);
  const wrong = digits.search(/[^A-Za-z0-9+/]/);
  if (wrong >= 0) return corruptAt(wrong);
  if (text.length % 4 !== 0) return corruptAt(text.length - (text.length % 4));
  return Buffer.from(text, 'base64');
}

function corruptAt(offset: number): string {
  return `illegal base64 data at input byte ${offset}`;
}
