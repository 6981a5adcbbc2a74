import { parentPort } from 'node:worker_threads';
import { compareSync } from 'bcryptjs';

// Runs in a thread of its own, since a comparison takes as long as a hundred scrapes.

parentPort?.on('message', ({ password, hash }: { password: string; hash: string }) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
  parentPort?.postMessage(compareSync(password, hash));
});
