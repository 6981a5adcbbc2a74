import type { Answer, Reply } from './answer.ts';
import type { FaultEffect } from './faults.ts';

const HTML = '<html><head><title>Sign in</title></head><body>Please sign in.</body></html>';

/** The reply after an effect; effects on the transfer of the body are applied by the sender. */
export function applyEffect(effect: FaultEffect, original: Reply): Reply {
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
      return typeof original === 'string' ? original : corrupted(effect.kind, original);
    default:
      return original;
  }
}

const TEXT = { 'Content-Type': 'text/plain; charset=utf-8' };
const JSON_TYPE = { 'Content-Type': 'application/json' };
/** Announced in Content-Length but never sent. */
const MISSING_BYTES = 100;

function plain(status: number, headers: Readonly<Record<string, string>>, body: string): Answer {
  return { status, headers, body };
}

function corrupted(
  kind: 'bad-json' | 'wrong-length' | 'huge' | 'gzip-bomb',
  original: Answer,
): Answer {
  const text = typeof original.body === 'string' ? original.body : [...original.body].join('');
  if (kind === 'bad-json') return { ...original, body: text.slice(0, text.length / 2) };
  if (kind === 'wrong-length') {
    const length = String(Buffer.byteLength(text) + MISSING_BYTES);
    const headers = { ...original.headers, 'Content-Length': length, Connection: 'close' };
    return { ...original, headers, body: text };
  }
  return { ...original, body: endless(text, kind === 'huge' ? '{},' : ' ') };
}

/** The original text up to its first list, then endless filler. */
function* endless(text: string, filler: string): Generator<string> {
  const list = text.indexOf('[');
  yield list < 0 ? '{"text":"' : text.slice(0, list + 1);
  const piece = filler.repeat(20_000);
  for (;;) yield piece;
}

/** A body at a limited rate, in ten steps a second. */
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

/** The first bytes of a body, then nothing until the client disconnects; a shorter body never ends either. */
export async function* stalled(
  source: AsyncIterable<Buffer>,
  bytes: number,
  disconnected: () => Promise<unknown>,
): AsyncGenerator<Buffer> {
  let left = bytes;
  for await (const chunk of source) {
    if (left > 0) yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) break;
  }
  await disconnected();
}
