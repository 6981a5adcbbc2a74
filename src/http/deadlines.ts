import { setTimeout as sleep } from 'node:timers/promises';
import { RequestError, type RequestTarget, toRequestError } from './errors.ts';

/** How long one request may take, part by part. */
export interface RequestDeadlines {
  /** From the start until the response's headers. */
  readonly headersMs: number;
  /** The deadline to the headers after a request that got no response: 5 s, or 16 s where the last response took 8 s. */
  readonly headersAfterSilenceMs: number;
  /** Between two chunks of the response. */
  readonly idleMs: number;
  /** On the average, once `rateGraceMs` have passed; 0 = any. */
  readonly minBytesPerSecond: number;
  readonly rateGraceMs: number;
}

/**
 * Watches one request: the signal aborts with a RequestError (timeout) when headers, the next chunk or the minimum rate
 * are missing, or with the reason of `parent` when that aborts. A silent or dripping server so costs one request, never a slot.
 */
export function watchDeadlines(
  parent: AbortSignal,
  deadlines: Omit<RequestDeadlines, 'headersAfterSilenceMs'>,
  what: string,
  target: RequestTarget = {},
) {
  const controller = new AbortController();
  const signal: AbortSignal = controller.signal;
  const fail = (text: string): void => {
    controller.abort(new RequestError('timeout', `${what}: ${text}`, target));
  };
  const onParentAbort = (): void => controller.abort(parent.reason);
  parent.addEventListener('abort', onParentAbort, { once: true });

  const { headersMs, idleMs, minBytesPerSecond, rateGraceMs } = deadlines;
  let timer = setTimeout(() => fail(`no headers within ${headersMs / 1000} s`), headersMs);
  let startedAt = performance.now();
  let received = 0;
  return {
    signal,
    headersArrived() {
      clearTimeout(timer);
      startedAt = performance.now();
      timer = setTimeout(() => fail(`no data for ${idleMs / 1000} s`), idleMs);
    },
    chunkArrived(bytes: number) {
      received += bytes;
      timer.refresh();
      const elapsedMs = performance.now() - startedAt;
      if (elapsedMs < rateGraceMs) return;
      if (received * 1000 < minBytesPerSecond * elapsedMs) {
        fail(`slower than ${minBytesPerSecond} bytes per second`);
      }
    },
    stop() {
      clearTimeout(timer);
      parent.removeEventListener('abort', onParentAbort);
    },
  };
}

/**
 * Waits for shared work (a slot, a login) no longer than `signal` allows. The work itself goes on for others that wait
 * for it.
 */
export function abortable<T>(
  work: Promise<T>,
  signal: AbortSignal,
  what: string,
  target: RequestTarget = {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(toRequestError(signal.reason, what, target));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

export async function delay(
  ms: number,
  signal: AbortSignal,
  what: string,
  target: RequestTarget = {},
): Promise<void> {
  await abortable(sleep(ms, undefined, { signal }), signal, what, target);
}
