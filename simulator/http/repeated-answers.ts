import type { Reply } from './answer.ts';
import type { Fault, FaultEffect } from './faults.ts';
import type { LoggedRequest } from './request-log.ts';

export function isRepeating({ kind }: FaultEffect): boolean {
  return kind === 'cached' || kind === 'old';
}

/** The response that the fault has stored for a GET, or a new one, which it stores when it is good. */
export async function repeated(
  { effect, stored }: Fault,
  { method, gateway, path }: LoggedRequest,
  answer: () => Promise<Reply>,
  nowMs: number,
): Promise<Reply> {
  const key = `${gateway} ${path}`;
  const found = method === 'GET' ? stored.get(key) : undefined;
  if (found === undefined) {
    const reply = await answer();
    if (method !== 'GET' || typeof reply === 'string' || reply.status !== 200) return reply;
    const body =
      typeof reply.body === 'string' || reply.body instanceof Uint8Array
        ? reply.body
        : [...reply.body].join('');
    stored.set(key, { answer: { ...reply, body }, atMs: nowMs });
    return { ...reply, body };
  }
  if (effect.kind === 'old') return found.answer;
  const headers = {
    ...found.answer.headers,
    Date: new Date(found.atMs).toUTCString(),
    Age: String(Math.floor((nowMs - found.atMs) / 1000)),
  };
  return { ...found.answer, headers };
}
