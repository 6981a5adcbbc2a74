import { EXIT } from './exit.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** An orderly end that has not come by then is not going to come. */
const LONGEST_STOP_MS = 4_500;

/**
 * Resolves to the first signal that asks the process to stop. From then on a second one ends it at
 * once, as does a stop that hangs.
 */
export function untilSignal(): Promise<string> {
  return new Promise((resolve) => {
    const onSignal = (signal: string): void => {
      for (const name of SIGNALS) process.off(name, onSignal);
      setTimeout(() => process.exit(EXIT.failed), LONGEST_STOP_MS).unref();
      resolve(signal);
    };
    for (const name of SIGNALS) process.on(name, onSignal);
  });
}
