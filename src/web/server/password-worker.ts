import { parentPort } from 'node:worker_threads';
import { compareSync } from 'bcryptjs';

// Runs in a thread of its own, since a comparison takes as long as a hundred scrapes.

export interface Comparison {
  readonly password: string;
  readonly hash: string;
}

parentPort?.on('message', ({ password, hash }: Comparison) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
  parentPort?.postMessage(compareSync(password, hash));
});
