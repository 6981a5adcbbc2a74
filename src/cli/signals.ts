import { EXIT } from './exit.ts';

const SIGNALS = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated } as const;
const END_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

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
  for (const signal of END_SIGNALS) {
    const listener = (): void => take(signal);
    process.on(signal, listener);
    listening.defer(() => process.off(signal, listener));
  }
  return listening;
}

/**
 * Keeps a signal that arrives while modules are being loaded, which takes half a second, and nobody listens yet:
 * it would end the process as if it had failed, or, sent to process 1 of a container, be lost. The answer hands it
 * over to whoever listens by then; where nobody does, it ends the process.
 */
export function holdEndSignals(): () => void {
  let held: EndSignal | undefined;
  const hold = (signal: EndSignal): void => {
    held ??= signal;
  };
  for (const signal of END_SIGNALS) process.on(signal, hold);
  return () => {
    for (const signal of END_SIGNALS) process.off(signal, hold);
    if (held !== undefined) process.kill(process.pid, held);
  };
}

/** Resolves to the first signal that asks the process to stop; it is then listened for until the end. */
export function untilSignal(): Promise<EndSignal> {
  return new Promise((resolve) => {
    onEndSignal(resolve);
  });
}
