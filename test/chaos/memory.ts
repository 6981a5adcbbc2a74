import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of the heap that are really held: what a collection of garbage leaves. */
export function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new TypeError('the garbage cannot be collected');
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
