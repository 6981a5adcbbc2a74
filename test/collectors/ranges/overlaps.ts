import { expect } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { encodeKey, type FakeCluster, LAST_KEY, pollRanges, replica } from './cluster.ts';

/** The keys from 0, the first, to 100, the last. */
export const LAST = 100;
const DEAD = 1;
export const STUCK = { no_raft_leader: true, circuit_breaker_error: true } as const;

export interface Shown {
  readonly id: number;
  readonly from: number;
  readonly to: number;
  readonly nodes: readonly number[];
  readonly problems?: Readonly<Record<string, true>>;
  /** The node that holds the last lease that the replicas know; 0 for none. */
  readonly lease?: number;
  /** The nodes of its descriptor; default: those that list it. */
  readonly described?: readonly number[];
  /** The node that answers with a valid lease; 0 for none. */
  readonly holder?: number;
  readonly generation?: number;
}

/** A range that serves, on nodes 1, 2 and 3. */
export function healthy(id: number, from: number, to: number): Shown {
  return { id, from, to, nodes: [1, 2, 3], lease: 1, holder: 1 };
}

/** What a merge left on node 2 of a range that had been on nodes 1, 2 and 3. */
export function leftOver(id: number, from: number, to: number, more: Partial<Shown> = {}): Shown {
  const described = [1, 2, 3];
  return { id, from, to, nodes: [2], problems: STUCK, lease: 0, described, holder: 0, ...more };
}

export const A = healthy(10, 0, 50);
export const B = healthy(11, 50, LAST);

export function show(
  cluster: FakeCluster,
  shown: readonly Shown[],
  down: readonly number[] = [],
): void {
  cluster.nodes = [1, 2, 3, 4, 5].map((nodeId) => ({
    nodeId,
    ...(down.includes(nodeId) && { status: DEAD }),
    ranges: shown
      .filter(({ nodes }) => nodes.includes(nodeId))
      .map(({ id, from, to, problems = {}, lease = 0 }) =>
        replica({
          rangeId: id,
          nodeId,
          storeId: nodeId,
          problems,
          keys: [from === 0 ? undefined : encodeKey(from), to === LAST ? LAST_KEY : encodeKey(to)],
          ...(lease > 0 && { lease, sequence: 1 }),
        }),
      ),
  }));
  cluster.describe = (rangeId, nodeId) => {
    const range = shown.find(({ id }) => id === rangeId);
    if (range === undefined || !range.nodes.includes(nodeId)) return undefined;
    const { nodes, described = nodes, holder = 0, generation = 7 } = range;
    return {
      types: Object.fromEntries(described.map((id) => [id, 0])),
      generation,
      isLeaseholder: holder === nodeId,
    };
  };
}

/** The figures of the last of these scans. */
export async function scan(cluster: FakeCluster, scans = 1, state = ranges.createState()) {
  for (let left = scans - 1; left > 0; left -= 1) await pollRanges(cluster.api, { state });
  const polled = await pollRanges(cluster.api, { state });
  expect(polled.failure).toBeUndefined();
  const [complete, gap] = ['complete', 'gap'].map((name) =>
    Number(polled.of(`crdb_range_key_space_${name}`)[0]),
  );
  const figures = ['unverified', 'serving_nothing', 'left_over', 'without_live_replica'];
  const [unverified, servingNothing, left, lost] = figures.map((name) =>
    Number(polled.of(`crdb_ranges_${name}`)[0]),
  );
  return { ...polled, figures: { complete, gap, unverified, servingNothing, left, lost } };
}

export const NOTHING_WRONG = { complete: 1, gap: 0, unverified: 0, servingNothing: 0, lost: 0 };

/** Shows that the replica of B on node 3 reports the problem, and lists that name no lease of B. */
export function showStuck(
  cluster: FakeCluster,
  problem: string,
  holder: number,
  others: readonly Shown[] = [A],
): void {
  show(cluster, [...others, { ...B, lease: 0, holder }]);
  cluster.nodes = cluster.nodes.map((node) => {
    const listed: readonly object[] = Array.isArray(node.ranges) ? node.ranges : [];
    if (node.nodeId !== 3) return node;
    const stuck = { ...listed.at(-1), problems: { [problem]: true } };
    return { ...node, ranges: [...listed.slice(0, -1), stuck] };
  });
}
