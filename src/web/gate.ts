import type { ServerResponse } from 'node:http';
import { sendText } from './text.ts';

const RETRY_AFTER_SECONDS = 1;

/** Runs the handler unless too many run already; then it answers 503 itself. */
export type Gate = (response: ServerResponse, handle: () => Promise<void>) => Promise<void>;

/**
 * Limits the handlers that run at a time; 0 for any number. `flag` names the option that sets the limit. A handler has
 * ended when the answer is handed to the socket: a client that takes it slowly counts no more, nor
 * one that has left.
 */
export function createGate(max: number, flag: string): Gate {
  let running = 0;
  return async (response, handle) => {
    if (max > 0 && running >= max) {
      const text = `too many requests at a time; try again later or raise ${flag}\n`;
      sendText(response, 503, text, { 'retry-after': String(RETRY_AFTER_SECONDS) });
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
