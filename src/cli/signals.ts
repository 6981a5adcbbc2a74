import { EXIT } from './exit.ts';

const SIGNALS = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated } as const;

export type EndSignal = keyof typeof SIGNALS;

/** An orderly end that has not come by then is not going to come. */
const LONGEST_STOP_MS = 4_500;
/** One Ctrl-C can arrive twice: from the terminal, and once more from npm or the launcher. */
const SAME_SIGNAL_MS = 500;

/**
 * Calls back at the first signal that asks the process to stop. From then on a second one ends it at
 * once, as does a stop that hangs. Disposing of it gives the signals back.
 */
export function onEndSignal(callback: (signal: EndSignal, exitCode: number) => void): Disposable {
  const listening = new DisposableStack();
  let firstAtMs: number | undefined;
  const take = (signal: EndSignal): void => {
    const exitCode = SIGNALS[signal];
    if (firstAtMs === undefined) {
      firstAtMs = performance.now();
      const timer = setTimeout(() => process.exit(EXIT.failed), LONGEST_STOP_MS).unref();
      listening.defer(() => clearTimeout(timer));
      callback(signal, exitCode);
    } else if (performance.now() - firstAtMs > SAME_SIGNAL_MS) {
      process.exit(exitCode);
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const listener = (): void => take(signal);
    process.on(signal, listener);
    listening.defer(() => process.off(signal, listener));
  }
  return listening;
}

/** Resolves to the first signal that asks the process to stop; it is then listened for until the end. */
export function untilSignal(): Promise<EndSignal> {
  return new Promise((resolve) => {
    onEndSignal(resolve);
  });
}
