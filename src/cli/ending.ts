import { EXIT } from './exit.ts';
import { onEndSignal } from './signals.ts';
import { onBrokenPipe } from './standard-output.ts';

/** What may end a command before it is done: a signal, or a reader of its output that has seen enough. */
export interface Ending extends Disposable {
  /** Aborts then; everything that waits takes it. */
  readonly signal: AbortSignal;
  /** The exit code that follows; undefined while nothing has happened. */
  readonly exitCode: () => number | undefined;
}

/** Watches for the end until it is disposed of. */
export function watchForEnding(): Ending {
  const stopping = new AbortController();
  const watching = new DisposableStack();
  let exitCode: number | undefined;
  const end = (code: number): void => {
    exitCode ??= code;
    stopping.abort();
  };
  watching.use(onEndSignal((_signal, code) => end(code)));
  watching.use(onBrokenPipe(() => end(EXIT.good)));
  return {
    signal: stopping.signal,
    exitCode: () => exitCode,
    [Symbol.dispose]: () => watching.dispose(),
  };
}
