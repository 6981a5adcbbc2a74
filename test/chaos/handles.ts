import { setTimeout as sleep } from 'node:timers/promises';

/** What of the process a trial could leave behind. */
const KINDS = ['TCPSocketWrap', 'TCPServerWrap', 'Zlib', 'FSReqPromise'];
const PAUSE_MS = 10;
const MAX_MS = 3_000;

export type Handles = Readonly<Record<string, number>>;

export function countHandles(): Handles {
  const active = process.getActiveResourcesInfo();
  return Object.fromEntries(
    KINDS.map((kind) => [kind, active.filter((each) => each === kind).length]),
  );
}

/** Waits until no more handles are open than before; throws when they stay. */
export async function expectNoMoreHandles(before: Handles): Promise<void> {
  const startedAt = performance.now();
  for (;;) {
    const now = countHandles();
    const left = KINDS.filter((kind) => (now[kind] ?? 0) > (before[kind] ?? 0));
    if (left.length === 0) return;
    if (performance.now() - startedAt > MAX_MS) {
      throw new Error(`left open: ${left.map((kind) => `${now[kind]} ${kind}`).join(', ')}`);
    }
    await sleep(PAUSE_MS);
  }
}
