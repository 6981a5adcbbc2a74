/**
 * Begins the time that something may take. Until it is disposed, its signal aborts when that time is over, as one of `AbortSignal.timeout` does,
 * or with `parent`. The timer of `AbortSignal.timeout` cannot be cleared: of polls every 10 s with a timeout of 5 minutes 30 would be set.
 */
export function beginDeadline(
  milliseconds: number,
  parent?: AbortSignal,
): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const onTimeout = (): void => {
    controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  };
  const onParentAbort = (): void => controller.abort(parent?.reason);
  const timer = setTimeout(onTimeout, milliseconds).unref();
  if (parent?.aborted === true) onParentAbort();
  parent?.addEventListener('abort', onParentAbort, { once: true });
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      clearTimeout(timer);
      parent?.removeEventListener('abort', onParentAbort);
    },
  };
}
