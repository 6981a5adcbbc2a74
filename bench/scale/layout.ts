/** The size of a cluster that is too large to be kept as objects. */
export interface ScaleOptions {
  /** A multiple of three: every three nodes hold the replicas of the same ranges. */
  readonly nodes: number;
  readonly replicasPerNode: number;
  readonly storesPerNode: number;
  readonly sessionsPerNode: number;
  readonly metricKeys: 'full' | 'useful';
  /** Each range begins in a table of its own, whose id is that of the range; otherwise there are 30 tables. */
  readonly tablePerRange: boolean;
  /** Each group of three nodes has some ranges with a problem. */
  readonly hasProblems: boolean;
}

/**
 * Ids have one width each, so that a ready text fits every node once some digits are overwritten: nodes from 101,
 * stores from 1001, ranges from 1000001.
 */
export interface Layout extends ScaleOptions {
  readonly replicasPerStore: number;
  readonly groups: number;
}

export const REPLICATION = 3;
export const FIRST_NODE_ID = 101;
export const FIRST_STORE_ID = 1001;
export const FIRST_RANGE_ID = 1_000_001;

const DEFAULTS: ScaleOptions = {
  nodes: 99,
  replicasPerNode: 20_000,
  storesPerNode: 1,
  sessionsPerNode: 50,
  metricKeys: 'full',
  tablePerRange: false,
  hasProblems: true,
};

/** The layout for these options; throws a RangeError for a number that does not fit. */
export function layoutOf(given: Partial<ScaleOptions>): Layout {
  const options = { ...DEFAULTS, ...given };
  const { nodes, replicasPerNode, storesPerNode } = options;
  const groups = nodes / REPLICATION;
  requireFit('nodes', nodes, Number.isInteger(groups) && nodes > 0 && nodes <= 898);
  requireFit('storesPerNode', storesPerNode, storesPerNode > 0 && nodes * storesPerNode <= 8998);
  requireFit('replicasPerNode', replicasPerNode, Number.isInteger(replicasPerNode / storesPerNode));
  requireFit('replicasPerNode', replicasPerNode, groups * replicasPerNode < 8_999_999);
  return { ...options, groups, replicasPerStore: replicasPerNode / storesPerNode };
}

function requireFit(name: string, value: number, fits: boolean): void {
  if (!fits)
    throw new RangeError(`${name}: ${value} does not fit the layout of the scale simulator`);
}

export function nodeIdAt(node: number): number {
  return FIRST_NODE_ID + node;
}

/** The store of the replica at a position in the list of a node. */
export function storeIdAt(layout: Layout, node: number, position: number): number {
  const store = Math.floor(position / layout.replicasPerStore);
  return FIRST_STORE_ID + node * layout.storesPerNode + store;
}

/** The range at a position: the same on the three nodes of a group. */
export function rangeIdAt(layout: Layout, node: number, position: number): number {
  return FIRST_RANGE_ID + Math.floor(node / REPLICATION) * layout.replicasPerNode + position;
}

export function lastRangeId(layout: Layout): number {
  return FIRST_RANGE_ID + layout.groups * layout.replicasPerNode - 1;
}

/** The position of a range in the list of a node; undefined when the node does not hold it. */
export function positionOf(layout: Layout, node: number, rangeId: number): number | undefined {
  const position = rangeId - rangeIdAt(layout, node, 0);
  return position >= 0 && position < layout.replicasPerNode ? position : undefined;
}

/** The nodes that are dead, from 0. */
export type DeadNodes = Pick<ReadonlySet<number>, 'has'>;

/** The node of the group that holds the lease of the range at a position: another one while that is dead. */
export function holderAt(node: number, position: number, dead: DeadNodes): number {
  const first = node - (node % REPLICATION);
  for (let turn = position; turn < position + REPLICATION; turn++) {
    const holder = first + (turn % REPLICATION);
    if (!dead.has(holder)) return holder;
  }
  return first + (position % REPLICATION);
}
