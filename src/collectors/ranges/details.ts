import type { NodeFigures } from './tally.ts';

/** Newer servers send requests, reads, bytes and CPU beside queries and writes. */
export interface DetailsMemory {
  /** A node of this cluster has sent them, in this scan or an earlier one. */
  sendsDetails: boolean;
}

/**
 * A server leaves zeros out, so a node without any load does not tell whether it would send details. It
 * is taken for what others of its cluster have been found to be.
 */
export function settleDetails(memory: DetailsMemory, read: readonly NodeFigures[]): void {
  memory.sendsDetails ||= read.some(({ isDetailed }) => isDetailed);
  if (!memory.sendsDetails) return;
  for (const figures of read) figures.isDetailed ||= isIdle(figures);
}

function isIdle({ stores }: NodeFigures): boolean {
  return [...stores.values()].every(({ queries, writes }) => queries === 0 && writes === 0);
}
