import { EXIT } from '../command.ts';

const EXIT_CODES = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated } as const;
const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

type StopSignal = keyof typeof EXIT_CODES;

/** A stop that takes longer than this counts as hanging: the process exits. */
const MAX_STOP_MS = 4_500;
/** One Ctrl-C can arrive twice: from the terminal, and again from npm or the launcher. */
const SAME_SIGNAL_MS = 500;

/**
 * Calls back at the first signal that stops the process. From then on a second signal ends it at once, as does a stop
 * that hangs. Disposing stops listening.
 */
function onStopSignal(callback: (signal: StopSignal, exitCode: number) => void): Disposable {
  const listeners = new DisposableStack();
  let firstAtMs: number | undefined;
  const onSignal = (signal: StopSignal): void => {
    const exitCode = EXIT_CODES[signal];
    if (firstAtMs === undefined) {
      firstAtMs = performance.now();
      const timer = setTimeout(() => process.exit(EXIT.failed), MAX_STOP_MS).unref();
      listeners.defer(() => clearTimeout(timer));
      callback(signal, exitCode);
    } else if (performance.now() - firstAtMs > SAME_SIGNAL_MS) {
      process.exit(exitCode);
    }
  };
  for (const signal of STOP_SIGNALS) {
    const listener = (): void => onSignal(signal);
    process.on(signal, listener);
    listeners.defer(() => process.off(signal, listener));
  }
  return listeners;
}

/**
 * Holds a signal that arrives while modules are loaded, which takes half a second, and no one listens yet: it would
 * end the process as a failure or, sent to process 1 of a container, be lost. The returned function delivers it.
 */
export function holdStopSignals(): () => void {
  let firstSignal: StopSignal | undefined;
  const hold = (signal: StopSignal): void => {
    firstSignal ??= signal;
  };
  for (const signal of STOP_SIGNALS) process.on(signal, hold);
  return () => {
    for (const signal of STOP_SIGNALS) process.off(signal, hold);
    if (firstSignal !== undefined) process.kill(process.pid, firstSignal);
  };
}

/** Resolves at the first stop signal; listens until the process ends. */
export function untilStopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    onStopSignal(resolve);
  });
}

/**
 * Runs a command that ends early when a person cancels it or its output takes no more: then the signal aborts. Resolves
 * to the exit code of `work` or, if that fails after the signal aborted, to the one for the reason.
 */
export async function runCancellable(
  work: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const controller = new AbortController();
  let exitCode: number | undefined;
  const cancel = (code: number): void => {
    exitCode ??= code;
    controller.abort();
  };
  const onOutputEnd = (): void => cancel(EXIT.ok);
  using _signals = onStopSignal((_signal, code) => cancel(code));
  process.stdout.on('error', onOutputEnd);
  try {
    return await work(controller.signal);
  } catch (error) {
    if (exitCode === undefined) throw error;
    return exitCode;
  } finally {
    process.stdout.off('error', onOutputEnd);
  }
}
