import { describe, expect, test } from 'vitest';
import { LIVENESS_BY_CODE } from '../../src/base/vocabulary.ts';
import { listNodes } from '../../src/cockroach/list-nodes.ts';
import { freshnessOf, livenessOf } from '../../src/cockroach/node.ts';
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
    ['by the newest that is not in the future', 1_000_000, [1_065, 1_005, 945, 944.9, 1_065.1], 3],
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
