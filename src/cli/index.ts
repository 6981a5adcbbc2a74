// The command line. Only what must happen before anything else is loaded at once.
import type { runCommandLine as run } from './program.ts';

export { holdStopSignals } from './process/signals.ts';

/** Loads the program and runs the command of these arguments; resolves to the exit code. */
export async function runCommandLine(...given: Parameters<typeof run>): Promise<number> {
  const program = await import('./program.ts');
  return program.runCommandLine(...given);
}
