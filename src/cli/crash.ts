import type { Log } from '../log.ts';
import { EXIT } from './exit.ts';

/**
 * An error that nobody caught leaves a process of which nobody knows what still works: it is logged like
 * everything else, and the process ends. Disposing of it leaves such errors to Node again.
 */
export function endOnCrash(log: Log): Disposable {
  const end = (thrown: unknown): void => {
    const err = thrown instanceof Error ? thrown : new Error(String(thrown));
    log.fatal({ err, stack: err.stack }, 'unexpected error, the process ends: please report it');
    process.exit(EXIT.failed);
  };
  // Rejections that nobody handles arrive here, too.
  process.on('uncaughtException', end);
  return { [Symbol.dispose]: () => void process.off('uncaughtException', end) };
}
