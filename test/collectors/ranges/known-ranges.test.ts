import { describe, expect, test } from 'vitest';
import { KnownRanges } from '../../../src/collectors/ranges/known-ranges.ts';
import type { Work } from '../../../src/collectors/ranges/range-map.ts';
import { ReplicaColumns } from '../../../src/collectors/ranges/replica.ts';
import type { RangeCounts } from '../../../src/collectors/ranges/scan-result.ts';

const [NONE, EPOCH, EXPIRATION, LEADER] = [0, 1, 2, 3];

interface Replica {
  readonly rangeId: number;
  readonly problems: number;
  readonly lease: number;
  readonly sequence: number;
  readonly tableIndex: number;
}

function columnsOf(replicas: readonly Partial<Replica>[]): ReplicaColumns {
  const columns = new ReplicaColumns();
  for (const replica of replicas) {
    const { rangeId = 1, problems = 0, lease = NONE, sequence = 0, tableIndex = 0 } = replica;
    const index = columns.append();
    columns.rangeIds[index] = rangeId;
    columns.tableIndexes[index] = tableIndex;
    columns.problems[index] = problems;
    columns.leases[index] = lease;
    columns.sequences[index] = sequence;
  }
  return columns;
}

/** Does the work without pauses. */
function runToEnd<Result>(work: Work<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** One scan; each list is what one node reports. */
function scan(known: KnownRanges, nodes: readonly (readonly Partial<Replica>[])[]): RangeCounts {
  runToEnd(known.beginScan());
  for (const [at, replicas] of nodes.entries()) {
    runToEnd(known.commit(at + 1, columnsOf(replicas)));
  }
  return runToEnd(known.count());
}

const held = (sequence: number, lease = EPOCH): Partial<Replica> => ({ sequence, lease });

describe('lease changes', () => {
  type Scans = readonly (readonly (readonly Partial<Replica>[])[])[];
  const oddScans = [-1, 0, 2 ** 32, Number.MAX_SAFE_INTEGER].map((sequence) => [[held(sequence)]]);

  test.each<readonly [what: string, changes: number, scans: Scans]>([
    ['increases where the lease is held', 4, [[[held(5)]], [[held(5)]], [[held(8)]], [[held(9)]]]],
    ['one range that two nodes claim', 2, [[[held(5)]], [[held(5)], [held(7)]]]],
    ['one range that two nodes claim, the younger first', 2, [[[held(5)]], [[held(7)], [held(5)]]]],
    ['a holder that could not be read for one scan', 4, [[[held(5)]], [[{}]], [[held(9)]]]],
    ['a lease that moved to this shard', 1, [[[{ sequence: 5 }]], [[held(6)]]]],
    [
      'a lease that left this shard and returns',
      1,
      [[[held(5)]], [[{ sequence: 6 }]], [[held(7)]]],
    ],
    ['a replica that is behind at first sight', 0, [[[{ sequence: 3 }], [held(9)]]]],
    ['a sequence that goes back', 1, [[[held(9)]], [[held(4)]], [[held(10)]]]],
    ['sequences that no server sends', 1, [[[held(3)]], ...oddScans, [[held(4)]]]],
  ])('of %s are %d', (_what, changes, scans) => {
    const known = new KnownRanges();
    for (const nodes of scans) scan(known, nodes);
    expect(known.leaseChanges).toBe(changes);
  });
});

describe('the summary of a scan', () => {
  test('counts a range once, its replicas and its problems from all nodes', () => {
    const known = new KnownRanges();
    const summary = scan(known, [
      [{ rangeId: 1, problems: 0b1 }, { rangeId: 2 }],
      [{ rangeId: 1, problems: 0b1000_0000_0001 }],
      [{ rangeId: 1 }],
    ]);
    expect(summary.ranges).toBe(2);
    expect(summary.byReplicas.slice(0, 5)).toEqual([0, 1, 0, 1, 0]);
    expect(summary.byProblem).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
  });

  test('takes the kind of the younger of two claims to a lease', () => {
    const claims = [[held(5, EPOCH)], [held(6, LEADER)]];
    expect(scan(new KnownRanges(), claims).byLeaseKind).toEqual([0, 0, 0, 1]);
    expect(scan(new KnownRanges(), claims.toReversed()).byLeaseKind).toEqual([0, 0, 0, 1]);
    const older = [[held(6, EXPIRATION)], [held(5, EPOCH)]];
    expect(scan(new KnownRanges(), older).byLeaseKind).toEqual([0, 0, 1, 0]);
  });

  test('takes the kind of the one claim, also when another replica knows of a younger lease', () => {
    expect(scan(new KnownRanges(), [[{ sequence: 9 }], [held(5)]]).byLeaseKind).toEqual([
      0, 1, 0, 0,
    ]);
  });

  test('counts all high numbers of replicas as the maximum', () => {
    const summary = scan(
      new KnownRanges(),
      Array.from({ length: 40 }, () => [{}]),
    );
    expect(summary.ranges).toBe(1);
    expect(summary.byReplicas.at(-1)).toBe(1);
  });
});

test('the columns of a node keep all values of replicas beyond their first capacity', () => {
  const columns = new ReplicaColumns();
  const names = [
    'rangeIds',
    'storeIds',
    'problems',
    'leases',
    'sequences',
    'tableIndexes',
  ] as const;
  const loads = ['queries', 'writes', 'cpuNanos'] as const;
  const expected = Array.from({ length: 3_000 }, (_, at) => at % 200);
  for (const value of expected) {
    const index = columns.append();
    for (const name of [...names, ...loads]) columns[name][index] = value;
  }
  for (const name of [...names, ...loads]) {
    expect(Array.from(columns[name].subarray(0, columns.length))).toEqual(expected);
  }
});
