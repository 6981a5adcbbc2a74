import { describe, expect, test } from 'vitest';
import type { Tier } from '../../../src/cockroach/node.ts';
import { FailureDomains } from '../../../src/collectors/ranges/failure-domains.ts';
import type { ReplicaHistory } from '../../../src/collectors/ranges/range-table.ts';
import type { FailureDomain } from '../../../src/collectors/ranges/result.ts';
import { PROBLEMS } from '../../../src/vocabulary.ts';

const UNDER = 1 << PROBLEMS.indexOf('underreplicated');
const UNAVAILABLE = 1 << PROBLEMS.indexOf('unavailable');
const NODES = [1, 2, 3, 4, 5];

interface Given extends Partial<ReplicaHistory> {
  /** Known for ranges of so many intended replicas: [voters, intended]. */
  readonly voters?: readonly [voters: number, intended: number];
  /** Of the holders, those without a column. */
  readonly unplaced?: number;
  /** Former holders that are not live. */
  readonly down?: number;
  readonly problems?: number;
  readonly isFirst?: boolean;
}

interface Judged {
  /** Of its nodes, how many have to stop until the range loses its quorum and its last live replica; 0: not counted. */
  readonly quorum: number;
  readonly all: number;
  readonly after: ReplicaHistory;
  readonly uncertain: number;
  readonly uncertainLocality: number;
  /** 1: it is without quorum, as each of its nodes says. */
  readonly withoutQuorum: number;
}

/** The localities of a node: nodes 1 to 5, 1 to 4 and so on. */
function tiersOf(node: number): readonly Tier[] {
  const sizes = [5, 4, 3, 2].filter((size) => node <= size);
  return sizes.map((size) => ({ key: `to${size}`, value: 'x' }));
}

function votersOf([voters, intended]: readonly [number, number]) {
  return (tableIndex: number, replicas: number): number | undefined =>
    tableIndex === 7 && replicas === intended ? voters : undefined;
}

/** Judges a range that `count` nodes, 1 to `count`, report. */
function judge(
  count: number,
  {
    problems = 0,
    isFirst = false,
    lastHolders = 0,
    intended = 0,
    wasUnderreplicated = false,
    voters,
    unplaced = 0,
    down = 0,
  }: Given,
): Judged {
  const localities = new Map(NODES.map((node) => [node, tiersOf(node)]));
  const known = voters && votersOf(voters);
  const domains = new FailureDomains({ toScan: NODES, toSkip: [], localities }, isFirst, known);
  const history = { lastHolders, intended, wasUnderreplicated };
  const seen = { holders: NODES, reporting: count - unplaced, unplaced, down, history };
  const after = domains.addRange({ ...seen, problems, tableIndexNumber: 7 });
  const bySize = [domains.nodes.get(1), ...domains.localities.toReversed()];
  const smallest = (effect: keyof FailureDomain): number => {
    const losing = bySize.filter((domain) => domain?.[effect] === 1).length;
    return losing === 0 ? 0 : bySize.length + 1 - losing;
  };
  const { node: uncertain, locality: uncertainLocality } = domains.unknownVoters;
  const withoutQuorum = domains.nodes.get(1)?.withoutQuorum ?? 0;
  const [quorum, all] = [smallest('quorum'), smallest('allReplicas')];
  return { quorum, all, after, uncertain, uncertainLocality, withoutQuorum };
}

describe('what a range depends on', () => {
  test.each<readonly [string, number, Given, number, number, number]>([
    ['one at first sight of a cluster', 1, { isFirst: true }, 1, 1, 1],
    ['one at first sight later: it was split off', 1, {}, 0, 0, 0],
    ['one twice', 1, { lastHolders: 1 }, 1, 1, 1],
    ['one, twice seen by a new exporter', 1, { lastHolders: 1, isFirst: true }, 1, 1, 1],
    ['one of three: it was dropped', 1, { lastHolders: 3, intended: 3 }, 0, 0, 3],
    ['one of three in the first scan', 1, { lastHolders: 3, intended: 3, isFirst: true }, 0, 0, 3],
    ['two at first sight: one moved', 2, {}, 2, 0, 0],
    ['two of three: one moved', 2, { lastHolders: 3, intended: 3 }, 2, 0, 3],
    ['two of five: three moved, which are a quorum', 2, { lastHolders: 3, intended: 5 }, 0, 0, 5],
    ['two twice', 2, { lastHolders: 2, intended: 3 }, 1, 2, 2],
    ['two again, which may be three', 2, { lastHolders: 3, intended: 2 }, 2, 0, 2],
    ['three at first sight', 3, {}, 2, 3, 0],
    ['three twice', 3, { lastHolders: 3, intended: 3 }, 2, 3, 3],
    ['three after two', 3, { lastHolders: 2, intended: 3 }, 2, 3, 3],
    ['four of five: one moved', 4, { lastHolders: 5, intended: 5 }, 3, 0, 5],
    ['four twice', 4, { lastHolders: 4, intended: 5 }, 2, 4, 4],
    ['five of three: two moved', 5, { lastHolders: 3, intended: 3 }, 3, 5, 3],
  ])('%s', (_what, count, given, quorum, all, intended) => {
    const after = { lastHolders: count, intended, wasUnderreplicated: false };
    expect(judge(count, given)).toMatchObject({ quorum, all, after, uncertain: 0 });
  });
});

type Case = readonly [
  what: string,
  count: number,
  given: Given,
  quorum: number,
  all: number,
  uncertain: number,
  withoutQuorum: number,
];
const UNDER_REPLICATED: readonly Case[] = [
  ['one', 1, {}, 0, 0, 0, 0],
  ['one in the first scan', 1, { isFirst: true }, 0, 1, 0, 1],
  ['one of one', 1, { lastHolders: 1, intended: 1 }, 1, 1, 0, 0],
  ['one of three', 1, { lastHolders: 1, intended: 3 }, 0, 1, 0, 1],
  ['one of three, of which three were there', 1, { lastHolders: 3, intended: 3 }, 0, 1, 0, 1],
  ['two of what are three as a rule', 2, {}, 1, 2, 0, 0],
  ['two of three', 2, { lastHolders: 3, intended: 3 }, 1, 2, 0, 0],
  ['two of what was one', 2, { lastHolders: 1, intended: 1 }, 1, 2, 0, 0],
  ['three of what was one', 3, { lastHolders: 2, intended: 1 }, 1, 3, 1, 0],
  ['two of two', 2, { lastHolders: 2, intended: 2 }, 1, 2, 0, 0],
  ['two of five, which are no quorum', 2, { lastHolders: 5, intended: 5 }, 0, 2, 1, 1],
  ['three of what are five as a rule', 3, {}, 1, 3, 1, 0],
  ['three of three', 3, { lastHolders: 2, intended: 3 }, 2, 3, 0, 0],
  ['four of what are five as a rule', 4, {}, 2, 4, 1, 0],
  ['five of three', 5, { lastHolders: 3, intended: 3 }, 3, 5, 0, 0],
  ['three of three, of which one has to catch up', 3, { intended: 3, down: 1 }, 1, 3, 0, 0],
  ['four of five, of which one has to catch up', 4, { intended: 5, down: 2 }, 1, 4, 1, 0],
];

describe('what an under-replicated range depends on', () => {
  test.each(UNDER_REPLICATED)(
    '%s',
    (_what, count, given, quorum, all, uncertain, withoutQuorum) => {
      const after = { lastHolders: count, intended: given.intended ?? 0, wasUnderreplicated: true };
      const expected = { quorum, all, after, uncertain, withoutQuorum };
      expect(judge(count, { ...given, problems: UNDER })).toMatchObject(expected);
    },
  );

  test.each(UNDER_REPLICATED.filter(([, count]) => count > 1))(
    '%s, of which the replica that reports it moves',
    (_what, count, given, quorum, all, uncertain, withoutQuorum) => {
      const lastHolders = Math.max(count, given.lastHolders ?? 0);
      const intended = given.intended ?? 0;
      const after = { lastHolders: count, intended, wasUnderreplicated: false };
      const expected = { quorum, all, after, uncertain, withoutQuorum };
      const before = { ...given, lastHolders, wasUnderreplicated: true };
      expect(judge(count, before)).toMatchObject(expected);
    },
  );

  test('is that of a whole one once it has more replicas and nobody reports it', () => {
    const given = { lastHolders: 2, intended: 3, wasUnderreplicated: true };
    expect(judge(3, given)).toEqual(judge(3, { ...given, wasUnderreplicated: false }));
  });
});

test.each([UNAVAILABLE, UNAVAILABLE | UNDER])(
  'an unavailable range has no quorum to lose, only its last replicas',
  (problems) => {
    const given = { problems, lastHolders: 3, intended: 3 };
    expect(judge(3, given)).toMatchObject({ quorum: 0, all: 3, withoutQuorum: 1 });
    // A single holder is not one that was split off.
    expect(judge(1, given)).toMatchObject({ quorum: 0, all: 1, withoutQuorum: 1 });
  },
);

describe('what a range with non-voters depends on', () => {
  const given = { lastHolders: 5, intended: 5, problems: UNDER };

  test.each<Case>([
    // 3 voters and 2 non-voters, one missing: in the worst case 2 of 3 voters are live, a quorum and none to spare.
    ['one of five missing', 4, { voters: [3, 5] }, 1, 4, 0, 0],
    // In the worst case 1 of 3 voters is live, but the server would say `unavailable`.
    ['two of five missing', 3, { voters: [3, 5] }, 1, 3, 0, 0],
    ['three of five missing', 2, { voters: [3, 5] }, 1, 2, 0, 0],
    ['one left, which is no quorum of 3', 1, { voters: [3, 5] }, 0, 1, 0, 1],
    ['five voters, one missing', 4, { voters: [5, 5] }, 2, 4, 0, 0],
    ['types of another number of replicas', 4, { voters: [3, 4] }, 2, 4, 1, 0],
    ['no types', 4, {}, 2, 4, 1, 0],
    ['one missing, and one in no column', 4, { voters: [5, 5], unplaced: 1 }, 2, 0, 1, 0],
  ])('%s', (_what, count, more, quorum, all, uncertain, withoutQuorum) => {
    const expected = { quorum, all, uncertain, withoutQuorum };
    expect(judge(count, { ...given, ...more })).toMatchObject(expected);
  });

  test('with all replicas is one voter to spare, so a locality counts that holds two', () => {
    const whole = { lastHolders: 5, intended: 5, voters: [3, 5] } as const;
    const expected = { quorum: 2, all: 5, uncertain: 0, uncertainLocality: 0 };
    expect(judge(5, whole)).toMatchObject(expected);
  });

  test('is not known for localities that hold two or more, but not all, without its types', () => {
    const whole = { lastHolders: 5, intended: 5 };
    expect(judge(5, whole)).toMatchObject({ uncertain: 0, uncertainLocality: 1 });
    expect(judge(3, { lastHolders: 3, intended: 3 })).toMatchObject({ uncertainLocality: 0 });
    expect(judge(3, { lastHolders: 3, intended: 3, unplaced: 1 })).toMatchObject({
      uncertain: 0,
      uncertainLocality: 1,
    });
  });
});
