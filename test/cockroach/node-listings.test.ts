import { describe, expect, test } from 'vitest';
import { ClusterIdentity, NodeListings } from '../../src/cockroach/node-listings.ts';
import { testStats } from '../support/cluster.ts';

const DATE = 1_800_000_000_000;

describe('a page of nodes', () => {
  test.each([
    [undefined, undefined],
    [5, undefined],
    [
      6,
      'nodes: the response was kept for 6 s (header Age): a cache in front of the cluster answered',
    ],
  ])('that was kept for %s s is refused: %s', (ageSeconds, message) => {
    for (const isFirst of [true, false]) {
      const error = new NodeListings().checkPage(
        { status: 200, dateMs: DATE, ageSeconds },
        isFirst,
      );
      expect(error?.message).toBe(message);
      expect(error?.reason).toBe(message && 'decode');
    }
  });

  test('with the Date of an earlier poll is refused when more than 5 s have passed', () => {
    let nowMs = 0;
    const listings = new NodeListings(() => nowMs);
    const reasonAt = (ms: number, dateMs: number | undefined, isFirst = true) => {
      nowMs = ms;
      return listings.checkPage({ status: 200, dateMs }, isFirst)?.message;
    };
    expect(reasonAt(0, DATE)).toBeUndefined();
    expect(reasonAt(5_000, DATE)).toBeUndefined();
    expect(reasonAt(5_001, DATE)).toBe(
      'nodes: the same response as 5 s ago (header Date): a cache in front of the cluster answered',
    );
    expect(reasonAt(9_000, DATE, false)).toBeUndefined();
    expect(reasonAt(9_000, undefined)).toBeUndefined();
    expect(reasonAt(9_000, DATE)).toContain('9 s ago');
    expect(reasonAt(9_000, DATE + 9_000)).toBeUndefined();
    expect(reasonAt(12_000, DATE + 12_000)).toBeUndefined();
  });
});

interface Process {
  readonly id: number;
  readonly start?: number;
  readonly host?: string;
  readonly name?: string;
}

function identityOf(...processes: readonly Process[]): ClusterIdentity {
  const identity = new ClusterIdentity();
  for (const { id, start = 7, host = 'a', name = 'east' } of processes) {
    identity.add({
      node_id: id,
      started_at: start,
      address: { address_field: host },
      cluster_name: name,
    });
  }
  return identity;
}

describe('another cluster is noticed', () => {
  const before = [{ id: 1 }, { id: 2 }, { id: 3 }];

  test.each<readonly [string, readonly Process[], boolean]>([
    ['the same nodes', before, false],
    ['a node fewer and a new one', [{ id: 2 }, { id: 3 }, { id: 4 }], false],
    ['all but one restarted', [{ id: 1, start: 8 }, { id: 2, start: 9 }, { id: 3 }], false],
    ['all restarted', before.map((one) => ({ ...one, start: 8 })), true],
    ['all at other addresses', before.map((one) => ({ ...one, host: 'b' })), true],
    ['other ids', [{ id: 4 }, { id: 5 }], true],
    ['another name', before.map((one) => ({ ...one, name: 'west' })), true],
    ['another name on one node', [{ id: 1, name: 'west' }, { id: 2 }], false],
  ])('by %s: %#', (_what, after, isReplaced) => {
    const listings = new NodeListings();
    const stats = testStats();
    const seen: unknown[] = [];
    listings.onReplaced((...args) => seen.push(args));
    listings.listed(stats, identityOf(...before));
    expect(seen).toEqual([]);
    listings.listed(stats, identityOf(...after));
    const names = { before: 'east', after: after[0]?.name ?? 'east' };
    expect(seen).toEqual(isReplaced ? [[stats, names]] : []);
  });

  test('once, and names are cut', () => {
    const listings = new NodeListings();
    const lengths: number[] = [];
    listings.onReplaced((_stats, { after }) => lengths.push(after.length));
    listings.listed(testStats(), identityOf(...before));
    for (let times = 0; times < 2; times += 1) {
      listings.listed(testStats(), identityOf({ id: 1, name: 'x'.repeat(9_999) }));
    }
    expect(lengths).toEqual([128]);
  });
});
