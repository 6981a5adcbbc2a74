import { describe, expect, test } from 'vitest';
import {
  CachedResponseError,
  ClusterIdentity,
  freshnessOf,
  listNodes,
  livenessOf,
  NodeListings,
} from '../../src/cockroach/node.ts';
import type { HttpResponse } from '../../src/http/request.ts';
import { LIVENESS_BY_CODE } from '../../src/vocabulary.ts';
import { answering } from '../collectors/support.ts';
import { testStats } from '../support/cluster.ts';

test('the liveness is `other` where its code is unknown or absent', () => {
  const codes = [0, 1, 2, 3, 4, 5, 6, 7, -1, undefined];
  const statuses = codes.map((livenessCode) => livenessOf({ livenessCode }));
  expect(statuses).toEqual([...LIVENESS_BY_CODE, 'other', 'other', 'other']);
});

test('nodes that answer are scanned, others are skipped, by id, also one that died while decommissioning', async () => {
  const codes = { 20: 3, 19: 5, 11: 9, 10: 6, 9: 0, 8: 1, 7: 2, 3: 4 };
  const nodes = Object.entries(codes).map(([id, code]) => ({
    node_id: Number(id),
    liveness_status: code,
    locality: { tiers: [{ key: 'zone', value: `z${id}` }] },
  }));
  const { api } = answering(() => ({ nodes: [{ node_id: 0 }, ...nodes.toReversed()] }));
  const { toScan, toSkip, localities } = await listNodes(api, testStats());
  expect([toScan, toSkip]).toEqual([
    [3, 10, 20],
    [7, 8, 9, 11, 19],
  ]);
  expect(localities.get(7)).toEqual([{ key: 'zone', value: 'z7' }]);
});

describe('the record of a node is fresh', () => {
  const LIVE = 3;
  const DEAD = 1;

  test.each([
    ['in a listing without a time, a minute before the median', undefined, [1_000, 940, 879.9], 2],
    ['in a listing of then', 1_000_000, [1_000, 940, 939.9], 2],
    ['in a listing a minute later', 1_060_000, [1_000, 940, 939.9], 2],
    ['in a later listing, for two minutes', 1_110_000, [1_000, 990, 989.9], 2],
    ['in a listing more than two minutes later, never', 1_120_001, [1_000, 940], 0],
    ['before a clock that is behind all records, as without', 500_000, [1_000, 940, 879.9], 2],
    ['by the newest that is not in the future', 1_000_000, [9_000, 1_005, 945, 944.9], 3],
    ['by the mean of the middle two where none is early', 500_000, [1_000, 960, 940, 889.9], 3],
    ['when it was ever written', undefined, [30, 1, 0, -1], 2],
  ])('%s', (_when, answeredMs, updated, fresh) => {
    const records = updated.map((updatedSeconds) => ({ livenessCode: LIVE, updatedSeconds }));
    const isFresh = freshnessOf(records, answeredMs);
    expect(records.map(isFresh)).toEqual(records.map((_, at) => at < fresh));
  });

  test.each([
    [1, 'dead'],
    [2, 'unavailable'],
    [undefined, 'of another state'],
  ] as const)(
    'whatever the record of a node that is %s (%s) says of the time',
    (livenessCode, _what) => {
      const present = { livenessCode: LIVE, updatedSeconds: 1_000 };
      const records = [
        present,
        { livenessCode, updatedSeconds: 1_004 },
        { livenessCode, updatedSeconds: 9e9 },
      ];
      expect(freshnessOf(records, undefined)(present)).toBe(true);
      expect(freshnessOf(records, 1_001_000)(present)).toBe(true);
    },
  );

  test.each([4, 6])('as against a node with status %i, which serves', (livenessCode) => {
    const old = { livenessCode: LIVE, updatedSeconds: 900 };
    expect(freshnessOf([old, { livenessCode, updatedSeconds: 1_000 }], 1_000_000)(old)).toBe(false);
  });

  test('unless the node is dead', () => {
    const records = [LIVE, DEAD, undefined].map((livenessCode) => {
      return { livenessCode, updatedSeconds: 1_000 };
    });
    expect(records.map(freshnessOf(records, undefined))).toEqual([true, false, true]);
  });
});

const DATE = 1_800_000_000_000;

/** Why a page is refused, or fine. */
function checkPage(
  listings: NodeListings,
  page: Pick<HttpResponse, 'dateMs' | 'ageSeconds'>,
  isFirst = true,
): string {
  try {
    listings.checkPage({ status: 200, ...page }, isFirst);
    return 'fine';
  } catch (error) {
    return error instanceof CachedResponseError ? `${error.reason}: ${error.message}` : 'other';
  }
}

describe('a page of nodes', () => {
  test.each([
    [undefined, 'fine'],
    [5, 'fine'],
    [
      6,
      'decode: nodes: the response was kept for 6 s (header Age): a cache in front of the cluster answered',
    ],
  ])('that was kept for %s s is refused: %s', (ageSeconds, message) => {
    for (const isFirst of [true, false]) {
      const outcome = checkPage(new NodeListings(), { dateMs: DATE, ageSeconds }, isFirst);
      expect(outcome).toBe(message);
    }
  });

  test('with the Date of an earlier poll is refused when more than 5 s have passed', () => {
    let nowMs = 0;
    const listings = new NodeListings(() => nowMs);
    const reasonAt = (ms: number, dateMs: number | undefined, isFirst = true) => {
      nowMs = ms;
      return checkPage(listings, { dateMs }, isFirst);
    };
    expect(reasonAt(0, DATE)).toBe('fine');
    expect(reasonAt(5_000, DATE)).toBe('fine');
    expect(reasonAt(5_001, DATE)).toBe(
      'decode: nodes: the same response as 5 s ago (header Date): a cache in front of the cluster answered',
    );
    expect(reasonAt(9_000, DATE, false)).toBe('fine');
    expect(reasonAt(9_000, undefined)).toBe('fine');
    expect(reasonAt(9_000, DATE)).toContain('9 s ago');
    expect(reasonAt(9_000, DATE + 9_000)).toBe('fine');
    expect(reasonAt(12_000, DATE + 12_000)).toBe('fine');
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
});
