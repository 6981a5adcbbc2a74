import { forEachProblem, type StoreTruth } from '../../simulator/truth/range-truth.ts';
import { BLOCK_ELEMENTS, type ElementFacts } from './blocks.ts';
import { nodeIdAt, storeIdAt, type Layout } from './layout.ts';
import { blockAt, type Blocks } from './range-pages.ts';

/** The correct values; sums are added in the order of the list. */
export interface ScaleTruth {
  readonly nodes: number;
  readonly replicas: number;
  readonly distinctRanges: number;
  /** Distinct ranges by problem. */
  readonly problems: Readonly<Record<string, number>>;
  readonly byLeaseKind: {
    readonly epoch: number;
    readonly expiration: number;
    readonly leader: number;
  };
  readonly maxQueriesPerSecond: number;
  readonly sessions: number;
  /** As `Truth`; created on demand. */
  store(nodeId: number, storeId: number): StoreTruth | undefined;
}

export function scaleTruth(layout: Layout, blocks: Blocks): ScaleTruth {
  const positions = layout.replicasPerNode;
  const kinds = { epoch: 0, expiration: 0, leader: 0 };
  const problems = forEachProblem(() => 0);
  let maxQueriesPerSecond = 0;
  for (let node = 0; node < layout.nodes / layout.groups; node++) {
    for (let position = 0; position < positions; position++) {
      const fact = factAt(blocks, node, position);
      if (!fact.holdsLease) continue;
      kinds[fact.kind] += layout.groups;
      maxQueriesPerSecond = Math.max(maxQueriesPerSecond, fact.load.queries);
      for (const name of fact.problems) problems[name] += layout.groups;
    }
  }
  return {
    nodes: layout.nodes,
    replicas: layout.nodes * positions,
    distinctRanges: layout.groups * positions,
    problems,
    byLeaseKind: kinds,
    maxQueriesPerSecond,
    sessions: layout.nodes * layout.sessionsPerNode,
    store: (nodeId, storeId) => storeTruth(layout, blocks, nodeId, storeId),
  };
}

function factAt(blocks: Blocks, node: number, position: number): ElementFacts {
  const fact = blockAt(blocks, node, position).facts[position % BLOCK_ELEMENTS];
  if (fact === undefined) throw new RangeError(`no element at position ${position}`);
  return fact;
}

function storeTruth(
  layout: Layout,
  blocks: Blocks,
  nodeId: number,
  storeId: number,
): StoreTruth | undefined {
  const node = nodeId - nodeIdAt(0);
  const store = storeId - storeIdAt(layout, node, 0);
  if (node < 0 || node >= layout.nodes || store < 0 || store >= layout.storesPerNode)
    return undefined;
  const truth = emptyTruth(nodeId, storeId, layout.replicasPerStore);
  const from = store * layout.replicasPerStore;
  for (let position = from; position < from + layout.replicasPerStore; position++) {
    addElement(truth, factAt(blocks, node, position));
  }
  return truth;
}

function addElement(truth: StoreTruth, fact: ElementFacts): void {
  const { load } = fact;
  if (fact.holdsLease) truth.leases++;
  for (const problem of fact.problems) truth.problems[problem]++;
  truth.queriesPerSecond += load.queries;
  truth.writesPerSecond += load.writes;
  truth.requestsPerSecond += load.requests;
  truth.readsPerSecond += load.reads;
  truth.writeBytesPerSecond += load.writeBytes;
  truth.readBytesPerSecond += load.readBytes;
  truth.cpuNanosPerSecond += load.cpuNanos;
}

/** All replicas tick, none is quiescent. */
function emptyTruth(nodeId: number, storeId: number, replicas: number): StoreTruth {
  return {
    nodeId,
    storeId,
    replicas,
    leases: 0,
    quiescent: 0,
    ticking: replicas,
    problems: forEachProblem(() => 0),
    queriesPerSecond: 0,
    writesPerSecond: 0,
    requestsPerSecond: 0,
    readsPerSecond: 0,
    writeBytesPerSecond: 0,
    readBytesPerSecond: 0,
    cpuNanosPerSecond: 0,
  };
}
