import { RequestError } from './errors.ts';

/** How long one request may take, part by part. */
export interface RequestDeadlines {
  /** From the start until the answer's headers. */
  readonly headersMs: number;
  /** The same after a request that got no answer, unless the last answer took more than half of it. */
  readonly headersAfterSilenceMs: number;
  /** Between two chunks of the answer. */
  readonly idleMs: number;
  /** On the average, once `rateGraceMs` have passed; 0 = any. */
  readonly minBytesPerSecond: number;
  readonly rateGraceMs: number;
}

export interface RequestWatch {
  /** Aborted with a RequestError (timeout) or with the caller's reason. */
  readonly signal: AbortSignal;
  headersArrived(): void;
  chunkArrived(bytes: number): void;
  stop(): void;
}

/**
 * Watches one request: the signal aborts when headers, the next chunk or the promised rate stay
 * away, or when `parent` aborts. A silent or dripping server so costs one request, never a slot.
 */
export function watchRequest(
  parent: AbortSignal,
  deadlines: Omit<RequestDeadlines, 'headersAfterSilenceMs'>,
  what: string,
): RequestWatch {
  const controller = new AbortController();
  const fail = (text: string): void => {
    controller.abort(new RequestError('timeout', `${what}: ${text}`));
  };
  const onParentAbort = (): void => controller.abort(parent.reason);
  if (parent.aborted) onParentAbort();
  else parent.addEventListener('abort', onParentAbort, { once: true });

  let timer = setTimeout(
    () => fail(`no headers within ${deadlines.headersMs / 1000} s`),
    deadlines.headersMs,
  );
  const askedAt = performance.now();
  let startedAt: number | undefined;
  let received = 0;
  return {
    signal: controller.signal,
    headersArrived() {
      clearTimeout(timer);
      startedAt = performance.now();
      timer = setTimeout(
        () => fail(`nothing more came for ${deadlines.idleMs / 1000} s`),
        deadlines.idleMs,
      );
    },
    chunkArrived(bytes) {
      received += bytes;
      timer.refresh();
      const elapsedMs = performance.now() - (startedAt ?? askedAt);
      if (elapsedMs < deadlines.rateGraceMs) return;
      if (received * 1000 < deadlines.minBytesPerSecond * elapsedMs) {
        fail(`slower than ${deadlines.minBytesPerSecond} bytes per second`);
      }
    },
    stop() {
      clearTimeout(timer);
      parent.removeEventListener('abort', onParentAbort);
    },
  };
}
