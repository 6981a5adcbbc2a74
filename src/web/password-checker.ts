import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { PasswordQuestion } from './password-worker.ts';

/** Compares passwords with bcrypt hashes in another thread, one at a time and in order. */
export interface PasswordChecker extends AsyncDisposable {
  /** Rejects when the thread ends meanwhile. */
  isRight(question: PasswordQuestion): Promise<boolean>;
}

/** Beside this file, and TypeScript or JavaScript as this file is. */
const WORKER = import.meta.url.replace(/password-checker(?=\.\w+$)/, 'password-worker');

/** The thread is only started when a first password must be compared. */
export function createPasswordChecker(): PasswordChecker {
  let thread: Thread | undefined;
  let last: Promise<unknown> = Promise.resolve();

  async function compare(question: PasswordQuestion): Promise<boolean> {
    thread ??= startThread(() => {
      thread = undefined;
    });
    const { worker, ended } = thread;
    const answer = once(worker, 'message', { signal: ended });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
    worker.postMessage(question);
    const [isRight]: unknown[] = await answer;
    return isRight === true;
  }

  return {
    isRight(question) {
      const turn = last.then(() => compare(question));
      last = turn.catch(() => undefined);
      return turn;
    },
    async [Symbol.asyncDispose]() {
      await thread?.worker.terminate();
    },
  };
}

interface Thread {
  readonly worker: Worker;
  readonly ended: AbortSignal;
}

function startThread(onEnd: () => void): Thread {
  // It needs nothing of the process: neither flags nor variables, which may hold secrets.
  const worker = new Worker(new URL(WORKER), { argv: [], env: {}, execArgv: [] });
  const ended = new AbortController();
  worker.on('exit', () => {
    onEnd();
    ended.abort();
  });
  worker.unref();
  return { worker, ended: ended.signal };
}
