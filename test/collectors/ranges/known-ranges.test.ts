import { describe, expect, test } from 'vitest';
import { FailureDomains } from '../../../src/collectors/ranges/failure-domains.ts';
import { KnownRanges } from '../../../src/collectors/ranges/known-ranges.ts';
import type { Work } from '../../../src/collectors/ranges/range-table.ts';
import { ReplicaColumns, tableIndexOf } from '../../../src/collectors/ranges/replica.ts';
import { PROBLEMS } from '../../../src/vocabulary.ts';
import { bytesOf } from './cluster.ts';

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
function scan(
  known: KnownRanges,
  nodes: readonly (readonly Partial<Replica>[])[],
  isComplete = false,
) {
  known.beginScan();
  for (const [at, replicas] of nodes.entries()) {
    runToEnd(known.commit(at + 1, columnsOf(replicas)));
  }
  const members = { toScan: nodes.map((_, at) => at + 1), toSkip: [], localities: new Map() };
  const domains = isComplete ? new FailureDomains(members, true) : undefined;
  return runToEnd(known.endScan(domains, () => undefined));
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

test('many ranges of several nodes take at most 40 bytes each', () => {
  const known = new KnownRanges();
  const nodes = [0, 1, 2].map((node) =>
    Array.from({ length: 100_000 }, (_, at) => ({ rangeId: node * 70_000 + at + 1 })),
  );
  const { ranges, byReplicas } = scan(known, nodes);
  expect([ranges, byReplicas[1], byReplicas[2]]).toEqual([240_000, 180_000, 60_000]);
  expect(bytesOf(known.table) / ranges).toBeLessThanOrEqual(40);
});

test('a range is no sample for others when its table index shares the last number with other tables', () => {
  const known = new KnownRanges();
  const sampled: number[] = [];
  const ranges = Array.from({ length: 70_000 }, (_, at) => ({
    rangeId: at + 1,
    tableIndex: tableIndexOf(`/Table/${at + 100}/1`),
  }));
  scan(known, [ranges, ranges, ranges, ranges, ranges]);
  runToEnd(known.offerSamples(5, ({ rangeId }) => sampled.push(rangeId)));
  expect([sampled.length, Math.max(...sampled)]).toEqual([65_534, 65_534]);
});

describe('ranges that are gone', () => {
  const live = Array.from({ length: 50 }, (_, at) => ({ rangeId: at + 1 }));
  const gone = Array.from({ length: 50 }, (_, at) => ({ rangeId: at + 1001, ...held(3) }));

  function sizeAfter(scans: number, isComplete: boolean): number {
    const known = new KnownRanges();
    scan(known, [[...live, ...gone]], true);
    for (let count = 0; count < scans; count += 1) {
      scan(known, [live], isComplete);
    }
    return known.table.size;
  }

  test('are forgotten after a complete scan, once they are many', () => {
    expect(sizeAfter(1, true)).toBe(50);
  });

  test('are remembered while nodes cannot be read', () => {
    expect(sizeAfter(20, false)).toBe(100);
  });
});

const NINE = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/** Scans of one range: what its nodes report, of which others are down. */
function scanOne(
  ...scans: readonly {
    readonly seen: readonly number[];
    readonly down: number[];
    readonly problems?: number;
  }[]
) {
  const known = new KnownRanges();
  let lost: number | undefined;
  let domains = new FailureDomains({ toScan: [], toSkip: [], localities: new Map() }, true);
  for (const { seen, down, problems = 0 } of scans) {
    lost = undefined;
    known.beginScan();
    for (const nodeId of seen) runToEnd(known.commit(nodeId, columnsOf([{ problems }])));
    const live = [...NINE, 70_000].filter((id) => !down.includes(id));
    domains = new FailureDomains({ toScan: live, toSkip: down, localities: new Map() }, true);
    const endScan = known.endScan(domains, ({ nodeId }) => {
      lost = nodeId;
    });
    runToEnd(endScan);
  }
  return { lost, domains, history: known.table.historyOf(known.table.put(1)) };
}

describe('a former holder that is down', () => {
  const whole = { seen: [1, 2, 3], down: [] };
  const problems = 1 << PROBLEMS.indexOf('underreplicated');

  test('is missing until the replica in its place is a voter', () => {
    const catchingUp = { seen: [1, 2, 4], down: [3], problems };
    for (const more of [[], [catchingUp], [catchingUp, catchingUp]]) {
      const { domains } = scanOne(whole, whole, catchingUp, ...more);
      expect(domains.nodes.get(1)).toMatchObject({ quorum: 1, withoutQuorum: 0 });
    }
  });

  test('is forgotten when it was replaced', () => {
    const before = { seen: [1, 2, 3, 4, 5], down: [] };
    const replaced = { seen: [1, 2, 3, 4, 6], down: [5] };
    const { domains } = scanOne(before, before, replaced, {
      seen: [1, 2, 3, 4],
      down: [5, 6],
      problems,
    });
    expect(domains.nodes.get(1)).toMatchObject({ quorum: 0, withoutQuorum: 0 });
  });
});

describe('a holder without a column', () => {
  test.each([
    ['a ninth one', NINE],
    ['one whose id is 70,000', [1, 2, 70_000]],
  ])('%s history as a replica', (_what, seen) => {
    expect(scanOne({ seen, down: [] }).history.lastHolders).toBe(seen.length);
  });

  test('keeps its range from being reported lost', () => {
    const whole = { seen: [1, 2, 70_000], down: [] };
    expect(scanOne(whole, whole, { seen: [], down: [1, 2, 70_000] }).lost).toBeUndefined();
    const others = { seen: [1, 2, 3], down: [] };
    expect(scanOne(others, others, { seen: [], down: [1, 2, 3] }).lost).toBe(1);
  });

  test('is forgotten once a scan finds all replicas in columns', () => {
    const moved = { seen: [1, 2, 3], down: [] };
    const before = { seen: [1, 2, 70_000], down: [] };
    expect(scanOne(before, moved, moved, { seen: [], down: [1, 2, 3] }).lost).toBe(1);
  });

  test('may be the only one', () => {
    const { domains, history, lost } = scanOne({ seen: [70_000], down: [] });
    expect([history.lastHolders, lost]).toEqual([1, undefined]);
    // Its node would have to say so, and cannot.
    expect(domains.nodes.get(70_000)).toMatchObject({ quorum: 0, allReplicas: 0 });
    expect(domains.unknownVoters.node).toBe(1);
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
