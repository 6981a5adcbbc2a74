import type { Answer, Reply } from './answer.ts';
import type { FaultEffect } from './faults.ts';

const HTML = '<html><head><title>Sign in</title></head><body>Please sign in.</body></html>';

/** The reply that an effect makes of the right one; effects on the way of the body are left to the sender. */
export function replyUnder(effect: FaultEffect, right: Reply): Reply {
  switch (effect.kind) {
    case 'hang':
      return 'silence';
    case 'reset':
      return 'reset';
    case 'status':
      return plain(
        effect.status,
        effect.headers ?? TEXT,
        effect.body ?? `status ${effect.status}\n`,
      );
    case 'text':
      return plain(200, TEXT, 'upstream connect error or disconnect/reset before headers\n');
    case 'html':
      return plain(200, { 'Content-Type': 'text/html' }, HTML);
    case 'redirect':
      return plain(302, { Location: effect.location }, '');
    case 'empty':
      return plain(200, JSON_TYPE, '');
    case 'no-content':
      return plain(204, {}, '');
    case 'bad-json':
    case 'wrong-length':
    case 'huge':
    case 'gzip-bomb':
      return typeof right === 'string' ? right : spoiled(effect.kind, right);
    default:
      return right;
  }
}

const TEXT = { 'Content-Type': 'text/plain; charset=utf-8' };
const JSON_TYPE = { 'Content-Type': 'application/json' };
/** Announced, but never sent. */
const MISSING_BYTES = 100;

function plain(status: number, headers: Readonly<Record<string, string>>, body: string): Answer {
  return { status, headers, body };
}

function spoiled(kind: 'bad-json' | 'wrong-length' | 'huge' | 'gzip-bomb', right: Answer): Answer {
  const text = typeof right.body === 'string' ? right.body : [...right.body].join('');
  if (kind === 'bad-json') return { ...right, body: text.slice(0, text.length / 2) };
  if (kind === 'wrong-length') {
    const length = String(Buffer.byteLength(text) + MISSING_BYTES);
    const headers = { ...right.headers, 'Content-Length': length, Connection: 'close' };
    return { ...right, headers, body: text };
  }
  return { ...right, body: endless(text, kind === 'huge' ? '{},' : ' ') };
}

/** The right text up to its first list, then the filler for ever. */
function* endless(text: string, filler: string): Generator<string> {
  const list = text.indexOf('[');
  yield list < 0 ? '{"text":"' : text.slice(0, list + 1);
  const piece = filler.repeat(20_000);
  for (;;) yield piece;
}

/** A body that arrives at that speed, in ten steps a second. */
export async function* dripped(
  source: AsyncIterable<Buffer>,
  bytesPerSecond: number,
  wait: (ms: number) => Promise<unknown>,
): AsyncGenerator<Buffer> {
  const step = Math.max(1, Math.round(bytesPerSecond / 10));
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length; at += step) {
      yield chunk.subarray(at, at + step);
      await wait(100);
    }
  }
}

/** The first bytes of a body, then nothing until the client has gone; a shorter body never ends either. */
export async function* stalled(
  source: AsyncIterable<Buffer>,
  bytes: number,
  gone: () => Promise<unknown>,
): AsyncGenerator<Buffer> {
  let left = bytes;
  for await (const chunk of source) {
    if (left > 0) yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) break;
  }
  await gone();
}
