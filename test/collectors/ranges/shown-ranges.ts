import { expect } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { encodeKey, type FakeCluster, LAST_KEY, pollRanges, replica } from './cluster.ts';

const MINUTE = 60_000;
export const [DEAD, DECOMMISSIONING] = [1, 4];

export interface World {
  /** Nodes that list each range; the first holds the lease. */
  readonly holders: readonly (readonly number[])[];
  /** Status by node that is not live. */
  readonly down?: Readonly<Record<number, number>>;
  readonly problems?: Readonly<Record<string, true>>;
  readonly nodes?: readonly number[];
}

/** Ranges that join from the first key to the last. */
export function show(
  cluster: FakeCluster,
  { holders, down = {}, problems = {}, nodes = [1, 2, 3, 4, 5] }: World,
): void {
  cluster.nodes = nodes.map((nodeId) => ({
    nodeId,
    status: down[nodeId] ?? 3,
    ranges: holders.flatMap((ids, index) => {
      if (!ids.includes(nodeId)) return [];
      const [start, end] = [
        index === 0 ? undefined : encodeKey(index),
        index === holders.length - 1 ? LAST_KEY : encodeKey(index + 1),
      ];
      return [
        replica({
          rangeId: index + 1,
          nodeId,
          storeId: nodeId,
          lease: ids[0] ?? 0,
          sequence: 1,
          keys: [start, end],
          problems: nodeId === ids[0] ? problems : {},
        }),
      ];
    }),
  }));
}

export function many(count: number, ids: readonly number[]): readonly (readonly number[])[] {
  return Array.from({ length: count }, () => ids);
}

/** The clock of a poll at this minute. */
export function minutes(minute: number): { readonly monotonicMs: () => number } {
  return { monotonicMs: () => performance.now() + minute * MINUTE };
}

/** A scan at this minute, and the work until the next one. */
export async function scan(
  cluster: FakeCluster,
  state = ranges.createState(),
  minute = 0,
  options = {},
) {
  const polled = await pollRanges(cluster.api, { state, clock: minutes(minute), options });
  expect(polled.failure).toBeUndefined();
  await ranges.workBetweenPolls?.(cluster.api, polled.context);
  const dependent = Object.fromEntries(
    polled.of('crdb_node_dependent_ranges').flatMap((line) => {
      const [, id = '', effect = '', count = ''] =
        /node_id="(\d+)",effect="(\w+)"\} (\d+)/.exec(line) ?? [];
      return count === '0' ? [] : [[`${id} ${effect}`, Number(count)]];
    }),
  );
  const [unverified] = polled.of('crdb_ranges_unverified').map(Number);
  return { ...polled, dependent, unverified };
}
