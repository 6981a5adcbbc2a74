import { describe, expect, test } from 'vitest';
import { FailureDomains } from '../../../src/collectors/ranges/failure-domains.ts';
import {
  KnownRanges,
  type ReportedRange,
  stage,
} from '../../../src/collectors/ranges/known-ranges.ts';
import {
  createStagingTable,
  MAX_RANGES,
  RangeLimitError,
  type RangeTable,
  type Work,
} from '../../../src/collectors/ranges/range-table.ts';
import { bytesOf } from './cluster.ts';

const [NONE, EPOCH, EXPIRATION, LEADER] = [0, 1, 2, 3];
/** Nodes that were read. */
const READ = new Set([1]);

/** What a scan that read all nodes sees. */
function wholeView(nodeIds: ReadonlySet<number>) {
  const nodes = { toScan: [...nodeIds], toSkip: [], localities: new Map() };
  return { domains: new FailureDomains(nodes, true), onLost: () => undefined };
}

type Replica = ReportedRange;

function stageReplica(staged: RangeTable, replica: Partial<Replica>): boolean {
  const unknown = { rangeId: 1, problems: 0, lease: NONE, sequence: 0, tableIndex: 0 };
  return stage(staged, { ...unknown, ...replica });
}

/** Does the work without pauses. */
function runToEnd<Result>(work: Work<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** One scan; each list is what one store reports. */
function scan(
  known: KnownRanges,
  stores: readonly (readonly Partial<Replica>[])[],
  isComplete = false,
) {
  runToEnd(known.beginScan());
  for (const [at, replicas] of stores.entries()) {
    const staged = createStagingTable(0);
    for (const replica of replicas) stageReplica(staged, replica);
    runToEnd(known.commit(staged, at + 1));
  }
  return runToEnd(known.endScan(READ, isComplete ? wholeView(READ) : undefined));
}

function changesOver(scans: readonly (readonly (readonly Partial<Replica>[])[])[]): number {
  const known = new KnownRanges();
  for (const stores of scans) scan(known, stores);
  return known.leaseChanges;
}

const held = (sequence: number, lease = EPOCH): Partial<Replica> => ({ sequence, lease });

describe('lease changes', () => {
  test('are the increases of the sequence where the lease is held', () => {
    expect(changesOver([[[held(5)]], [[held(5)]], [[held(8)]], [[held(9)]]])).toBe(4);
  });

  test('are not counted at first sight', () => {
    expect(changesOver([[[held(40)]]])).toBe(0);
  });

  test('of one range that two stores claim at the same time count once', () => {
    expect(changesOver([[[held(5)]], [[held(5)], [held(7)]]])).toBe(2);
    expect(changesOver([[[held(5)]], [[held(7)], [held(5)]]])).toBe(2);
  });

  test('while the holder could not be read are counted when it is read again', () => {
    expect(changesOver([[[held(5)]], [[{}]], [[held(9)]]])).toBe(4);
  });

  test('are counted by the shard that a lease moved to, from the sequence that its replica knew', () => {
    expect(changesOver([[[{ sequence: 5 }]], [[held(6)]]])).toBe(1);
  });

  test('are not counted by the shard that a lease left, also when it returns', () => {
    expect(changesOver([[[held(5)]], [[{ sequence: 6 }]], [[held(7)]]])).toBe(1);
  });

  test('do not count a replica that is behind at first sight', () => {
    expect(changesOver([[[{ sequence: 3 }], [held(9)]]])).toBe(0);
  });

  test('never go back when a sequence does', () => {
    expect(changesOver([[[held(9)]], [[held(4)]], [[held(10)]]])).toBe(1);
  });

  test('ignore sequences that no server sends', () => {
    const odd = [-1, 0, 2 ** 32, Number.MAX_SAFE_INTEGER].map((sequence) => [[held(sequence)]]);
    expect(changesOver([[[held(3)]], ...odd, [[held(4)]]])).toBe(1);
  });
});

describe('the summary of a scan', () => {
  test('counts a range once, its replicas and its problems from all stores', () => {
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

  test('holds nothing of the scan before', () => {
    const known = new KnownRanges();
    scan(known, [[{ ...held(5), problems: 1 }, { rangeId: 2 }]]);
    const summary = scan(known, [[{ rangeId: 3 }]]);
    expect(summary.ranges).toBe(1);
    expect(summary.byProblem.every((count) => count === 0)).toBe(true);
    expect(summary.byLeaseKind).toEqual([1, 0, 0, 0]);
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

test('many ranges are committed to an empty table without crowding at one end of it', () => {
  const known = new KnownRanges();
  runToEnd(known.beginScan());
  for (let store = 0; store < 3; store += 1) {
    const staged = createStagingTable(0);
    for (let id = 1; id <= 300_000; id += 1) {
      stageReplica(staged, { rangeId: store * 200_000 + id });
    }
    runToEnd(known.commit(staged, store + 1));
  }
  const { ranges, byReplicas } = runToEnd(known.endScan(READ));
  expect([ranges, byReplicas[1], byReplicas[2]]).toEqual([700_000, 500_000, 200_000]);
  expect(bytesOf(known.table) / ranges).toBeLessThanOrEqual(40);
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

  test('are forgotten after three complete scans', () => {
    expect(sizeAfter(2, true)).toBe(100);
    expect(sizeAfter(3, true)).toBe(50);
  });

  test('are remembered much longer while nodes cannot be read', () => {
    expect(sizeAfter(14, false)).toBe(100);
    expect(sizeAfter(15, false)).toBe(50);
  });

  test('lose their age once they are seen', () => {
    const known = new KnownRanges();
    for (const isSeen of [true, false, false, true, false, false]) {
      scan(known, [isSeen ? [...live, ...gone] : live], true);
    }
    expect(known.table.size).toBe(100);
  });
});

test('a store that repeats a range on a later page is recognized', () => {
  const staged = createStagingTable(0);
  expect(stageReplica(staged, { rangeId: 7 })).toBe(true);
  expect(stageReplica(staged, { rangeId: 6 })).toBe(true);
  expect(stageReplica(staged, { rangeId: 7, problems: 1 })).toBe(false);
});

test('ranges beyond 5,000,000 are refused, in a table of one store and in that of all', () => {
  const staged = createStagingTable(0);
  const known = new KnownRanges();
  staged.size = MAX_RANGES;
  known.table.size = MAX_RANGES;
  expect(() => stageReplica(staged, {})).toThrow(RangeLimitError);
  const one = createStagingTable(0);
  stageReplica(one, {});
  expect(() => runToEnd(known.commit(one, 1))).toThrow('more than 5,000,000 ranges');
});
