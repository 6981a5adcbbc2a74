import { EXIT } from './exit.ts';

const SIGNALS = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated } as const;

/** An orderly end that has not come by then is not going to come. */
const LONGEST_STOP_MS = 4_500;
/** One Ctrl-C can arrive twice: from the terminal, and once more from npm or the launcher. */
const SAME_SIGNAL_MS = 500;

/**
 * Resolves to the first signal that asks the process to stop. From then on a second one ends it at
 * once, as does a stop that hangs.
 */
export function untilSignal(): Promise<string> {
  return new Promise((resolve) => {
    let firstAtMs: number | undefined;
    for (const [signal, exitCode] of Object.entries(SIGNALS)) {
      process.on(signal, () => {
        if (firstAtMs === undefined) {
          firstAtMs = performance.now();
          setTimeout(() => process.exit(EXIT.failed), LONGEST_STOP_MS).unref();
          resolve(signal);
        } else if (performance.now() - firstAtMs > SAME_SIGNAL_MS) {
          process.exit(exitCode);
        }
      });
    }
  });
}
