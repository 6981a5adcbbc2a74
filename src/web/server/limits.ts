import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { WebConfig } from '../../config/web-config.ts';
import { SENDING, sendTooManyRequests } from '../respond.ts';
import { clientNetwork, firstOfLargest } from './connections.ts';

/** Responses that clients have not taken yet. */
const MAX_UNSENT = 100;
/** An idle turn of the event loop takes microseconds and accepts one connection. */
const TURNS_BETWEEN_TASKS = 20;

/** A token bucket: `burst` tokens at first, one more for each interval, one spent for each request. */
export function createRateLimiter(
  monotonicMs: () => number,
): (limit: NonNullable<WebConfig['rateLimit']>) => boolean {
  let last: WebConfig['rateLimit'];
  let tokens = 0;
  let atMs = 0;
  return (limit) => {
    const nowMs = monotonicMs();
    const earned = (nowMs - atMs) / 1000 / limit.intervalSeconds;
    tokens = isDeepStrictEqual(limit, last) ? Math.min(limit.burst, tokens + earned) : limit.burst;
    last = limit;
    atMs = nowMs;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}

/**
 * Runs a handler unless `max` of them run already; then it sends 503. 0 is no limit, `flag` names the option that sets
 * it. A handler has ended when the response is handed to the socket or its client has left: one that reads slowly no
 * longer counts.
 */
export function createConcurrencyLimit(max: number, flag: string) {
  let running = 0;
  return async (response: ServerResponse, handle: () => Promise<void>): Promise<void> => {
    if (max > 0 && running >= max) {
      sendTooManyRequests(response, flag);
      return;
    }
    running += 1;
    const closed = new Promise<void>((resolve) => response.once('close', resolve));
    try {
      await Promise.race([handle(), closed]);
    } finally {
      running -= 1;
    }
  };
}

/**
 * Runs one task in several turns of the event loop, so that new connections and cheap requests are served between
 * expensive ones. Round robin over clients: one that sends many requests delays only itself.
 */
export function createFairQueue(): (client: string, task: () => void) => void {
  /** The next client first. */
  const waiting = new Map<string, (() => void)[]>();
  let isRunning = false;

  async function run(): Promise<void> {
    isRunning = true;
    for (let [next] = waiting; next !== undefined; [next] = waiting) {
      const [client, [task, ...others]] = next;
      waiting.delete(client);
      if (others.length > 0) waiting.set(client, others);
      task?.();
      for (let turn = 0; turn < TURNS_BETWEEN_TASKS; turn += 1) await setImmediate();
    }
    isRunning = false;
  }

  return (client, task) => {
    waiting.set(client, [...(waiting.get(client) ?? []), task]);
    if (!isRunning) void run();
  };
}

/**
 * Aborts a response that its client has not taken after `sendMs`. When too many wait, the client with the most of them
 * loses the one without progress for the longest time: slow clients cost neither unbounded memory nor the responses
 * of others.
 */
export function createUnsentLimit(sendMs: number): (response: ServerResponse) => void {
  /** The longest without progress first. */
  const unsent = new Set<{ readonly response: ServerResponse; readonly network: string }>();
  return (response) => {
    const one = { response, network: clientNetwork(response.req.socket.remoteAddress) };
    const watch = (): void => {
      if (unsent.has(one) || response.closed) return;
      const timer = setTimeout(() => response.destroy(), sendMs).unref();
      unsent.add(one);
      response.on('drain', () => {
        if (unsent.delete(one)) unsent.add(one);
      });
      response.on('close', () => {
        clearTimeout(timer);
        unsent.delete(one);
      });
      const aborted = unsent.size > MAX_UNSENT && firstOfLargest(unsent);
      if (!aborted) return;
      unsent.delete(aborted);
      aborted.response.destroy();
    };
    response.once(SENDING, watch);
    // Emitted when all of the response has been handed to the socket.
    response.once('prefinish', watch);
  };
}
