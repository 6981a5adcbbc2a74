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
