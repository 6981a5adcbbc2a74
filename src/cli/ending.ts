import { EXIT } from './exit.ts';
import { untilSignal } from './signals.ts';
import { onBrokenPipe } from './standard-output.ts';

/** What may end a command before it is done: a signal, or a reader of its output that has seen enough. */
export interface Ending {
  /** Aborts then; everything that waits takes it. */
  readonly signal: AbortSignal;
  /** The exit code that follows; undefined while nothing has happened. */
  readonly exitCode: () => number | undefined;
}

/** Watches for the end; call it once in a process. */
export function watchForEnding(): Ending {
  const stopping = new AbortController();
  let exitCode: number | undefined;
  const end = (code: number): void => {
    exitCode ??= code;
    stopping.abort();
  };
  void untilSignal().then((signal) => {
    end(signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated);
  });
  onBrokenPipe(() => end(EXIT.good));
  return { signal: stopping.signal, exitCode: () => exitCode };
}
