import type { FailureReason } from '../../cluster/api.ts';
import type { NodeFigures } from './tally.ts';

/** A node that should have been read. */
export interface FailedNode {
  readonly nodeId: number;
  /** False when the time was up before its turn. */
  readonly wasAsked: boolean;
  readonly reason: FailureReason;
  readonly message: string;
}

export interface ScanResult {
  readonly read: readonly NodeFigures[];
  readonly failed: readonly FailedNode[];
  /** Whether the deadline ended the scan. */
  readonly wasCut: boolean;
}

/** Where the next scan begins. */
export interface ScanMemory {
  firstNodeId: number;
  /** Scans begun. */
  scans: number;
  /** Nodes that could not be read in the last scan. */
  failed: ReadonlySet<number>;
}

export interface ScanPlan {
  /** Ascending. */
  readonly nodeIds: readonly number[];
  /** Nodes at a time. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
  readonly memory: ScanMemory;
  /** `turn` is different from that of the node before and of the same node in the scan before. */
  readonly readNode: (nodeId: number, turn: number) => Promise<NodeFigures>;
  readonly describeFailure: (error: unknown) => Pick<FailedNode, 'reason' | 'message'>;
  readonly progress: (done: number, planned: number) => void;
}

/**
 * Reads node after node until all are done or the signal aborts; one node's failure is its own. Those that
 * could not be read the last time come last: others must not wait for their silence.
 */
export async function scanNodes(plan: ScanPlan): Promise<ScanResult> {
  const { memory, signal, progress } = plan;
  const order = failedLast(rotate(plan.nodeIds, memory.firstNodeId), memory.failed);
  const read: NodeFigures[] = [];
  const failed: FailedNode[] = [];
  const cutNodes: number[] = [];
  let begun = 0;

  async function readInTurn(): Promise<void> {
    for (;;) {
      const nodeId = order[begun];
      if (nodeId === undefined || signal.aborted) return;
      const turn = memory.scans + begun;
      begun += 1;
      try {
        read.push(await plan.readNode(nodeId, turn));
      } catch (error) {
        if (signal.aborted) cutNodes.push(nodeId);
        else failed.push({ nodeId, wasAsked: true, ...plan.describeFailure(error) });
      }
      progress(read.length + failed.length, order.length);
    }
  }

  progress(0, order.length);
  await Promise.all(Array.from({ length: plan.concurrency }, readInTurn));
  memory.failed = new Set(failed.map(({ nodeId }) => nodeId));
  const late = order.slice(begun);
  for (const nodeId of cutNodes) failed.push(outOfTime(nodeId, true));
  for (const nodeId of late) failed.push(outOfTime(nodeId, false));
  memory.scans += 1;
  const unfinished = new Set([...cutNodes, ...late]);
  memory.firstNodeId = nextFirst(order, unfinished, plan.concurrency);
  // By id, not as they came in: what is over a budget then always misses the same nodes.
  read.sort(byId);
  failed.sort(byId);
  return { read, failed, wasCut: unfinished.size > 0 };
}

function byId(a: { readonly nodeId: number }, b: { readonly nodeId: number }): number {
  return a.nodeId - b.nodeId;
}

function outOfTime(nodeId: number, wasAsked: boolean): FailedNode {
  const message = `ranges of node ${nodeId}: the time of the scan was up`;
  return { nodeId, wasAsked, reason: 'timeout', message };
}

/** The nodes from the first that is not below `firstNodeId`, then those before it. */
function rotate(nodeIds: readonly number[], firstNodeId: number): readonly number[] {
  const at = Math.max(
    0,
    nodeIds.findIndex((nodeId) => nodeId >= firstNodeId),
  );
  return [...nodeIds.slice(at), ...nodeIds.slice(0, at)];
}

function failedLast(nodeIds: readonly number[], failed: ReadonlySet<number>): readonly number[] {
  const others = nodeIds.filter((nodeId) => !failed.has(nodeId));
  return [...others, ...nodeIds.filter((nodeId) => failed.has(nodeId))];
}

/**
 * Each scan begins one node further. One that was cut goes on with the first node that it did not finish, but for
 * those that had the whole scan to themselves: they would use up the next one, too.
 */
function nextFirst(
  order: readonly number[],
  unfinished: ReadonlySet<number>,
  concurrency: number,
): number {
  const next = order.find((nodeId, at) => at >= concurrency && unfinished.has(nodeId));
  return next ?? order[1] ?? 0;
}
