import { parentPort } from 'node:worker_threads';
import { compareSync } from 'bcryptjs';

// Runs in a thread of its own, since a comparison takes as long as a hundred scrapes.

/** A comparison that is asked for. */
export interface PasswordQuestion {
  readonly password: string;
  readonly hash: string;
}

parentPort?.on('message', ({ password, hash }: PasswordQuestion) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
  parentPort?.postMessage(compareSync(password, hash));
});
