import { Worker } from 'node:worker_threads';

/** Compares passwords with bcrypt hashes in another thread, one at a time. */
export type PasswordChecker = ReturnType<typeof createPasswordChecker>;

/** Beside this file, and TypeScript or JavaScript as this file is. */
const WORKER = import.meta.url.replace(/password-checker(?=\.\w+$)/, 'password-worker');

/** Starts the thread when a first password must be compared. */
export function createPasswordChecker() {
  let worker: Worker | undefined;
  let result = Promise.withResolvers<boolean>();

  function startWorker(): Worker {
    // It needs nothing of the process: neither flags nor variables, which may contain secrets.
    const started = new Worker(new URL(WORKER), { argv: [], env: {}, execArgv: [] });
    started.on('message', (isMatch: unknown) => result.resolve(isMatch === true));
    started.on('error', (error) => result.reject(error));
    started.on('exit', () => {
      worker = undefined;
      result.reject(new Error('the thread that compares passwords has ended'));
    });
    started.unref();
    return started;
  }

  return {
    /** To be called again only when the comparison has ended. Rejects when the thread ends meanwhile. */
    matches(password: string, hash: string): Promise<boolean> {
      result = Promise.withResolvers();
      worker ??= startWorker();
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
      worker.postMessage({ password, hash });
      return result.promise;
    },
    async [Symbol.asyncDispose]() {
      await worker?.terminate();
    },
  };
}
