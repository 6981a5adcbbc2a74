import { setTimeout as sleep } from 'node:timers/promises';
import { classifyThrown } from './errors.ts';

/**
 * Waits for shared work (a slot, a login) no longer than `signal` allows. The work itself goes on
 * for those who still wait for it.
 */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal, what: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(classifyThrown(signal.reason, what));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Lets time pass, no longer than `signal` allows. */
export async function pass(milliseconds: number, signal: AbortSignal, what: string): Promise<void> {
  await orAborted(sleep(milliseconds, undefined, { signal }), signal, what);
}
