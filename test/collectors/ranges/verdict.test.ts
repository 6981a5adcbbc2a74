import { describe, expect, test } from 'vitest';
import { judgeRange, keepsMajority } from '../../../src/collectors/ranges/verdict.ts';

/** A mask of places, counted from 1: `places(1, 3)` is 0b101. */
function places(...list: readonly number[]): number {
  return list.reduce((mask, place) => mask | (1 << (place - 1)), 0);
}

function countOf(mask: number): number {
  return mask.toString(2).replaceAll('0', '').length;
}

function hasMajority(voters: number, serving: number): boolean {
  return 2 * countOf(voters & serving) > countOf(voters);
}

describe('the verdict on a range', () => {
  const three = places(1, 2, 3);
  const five = places(1, 2, 3, 4, 5);

  interface Given {
    readonly voters: number;
    readonly before?: number;
    readonly serving: number;
  }
  type Case = readonly [string, Given, state: string, needed?: number, last?: number];
  const cases: readonly Case[] = [
    ['3 voters serve: any one may go', { voters: three, serving: three }, 'safe'],
    [
      '2 of 3 voters: each is needed',
      { voters: three, serving: places(1, 3) },
      'dependent',
      places(1, 3),
    ],
    [
      '1 of 3 voters: it is the last',
      { voters: three, serving: places(2) },
      'without_majority',
      0,
      places(2),
    ],
    ['none of 3 voters', { voters: three, serving: 0 }, 'lost'],
    ['3 of 5 voters: each is needed', { voters: five, serving: three }, 'dependent', three],
    ['4 of 5 voters', { voters: five, serving: places(1, 2, 3, 5) }, 'safe'],
    ['2 of 5 voters', { voters: five, serving: places(4, 5) }, 'without_majority'],
    [
      '3 of 4 voters: a majority of 4 is 3',
      { voters: places(1, 2, 3, 4), serving: three },
      'dependent',
      three,
    ],
    [
      '1 voter and 2 non-voters: the voter is needed',
      { voters: places(1), serving: three },
      'dependent',
      places(1),
    ],
    ['1 voter alone', { voters: places(1), serving: places(1) }, 'dependent', places(1), places(1)],
    ['only non-voters are left', { voters: places(1), serving: places(2, 3) }, 'without_majority'],
    [
      '3 voters and 2 non-voters, a voter is down',
      { voters: three, serving: places(1, 2, 4, 5) },
      'dependent',
      places(1, 2),
    ],
    [
      '3 voters and 2 non-voters, a non-voter is down',
      { voters: three, serving: places(1, 2, 3, 4) },
      'safe',
    ],
    [
      'a change from 1, 2, 3 to 1, 2, 4: 3 and 4 may go, not both of the others',
      { voters: places(1, 2, 4), before: three, serving: places(1, 2, 3, 4) },
      'safe',
    ],
    [
      'the same while 3 is down: the old voters need 1 and 2',
      { voters: places(1, 2, 4), before: three, serving: places(1, 2, 4) },
      'dependent',
      places(1, 2),
    ],
    [
      'a change from 1, 2, 3 to 3, 4, 5 while 4 and 5 are down: no majority of the new voters',
      { voters: places(3, 4, 5), before: three, serving: three },
      'without_majority',
    ],
  ];

  test.each(cases.map((each) => [each[0], each] as const))(
    '%s',
    (_what, [, given, state, needed = 0, last = 0]) => {
      const { voters, before = voters, serving } = given;
      const verdict = judgeRange({ voters, votersBefore: before, serving });
      expect({ state: verdict.state, needed: verdict.needed, last: verdict.last }).toEqual({
        state,
        needed,
        last,
      });
    },
  );

  test('agrees with counting, for all voters of up to 5 places before and after a change', () => {
    let disagreements = 0;
    for (let voters = 1; voters < 32; voters += 1) {
      for (let before = 1; before < 32; before += 1) {
        for (let serving = 1; serving < 32; serving += 1) {
          const range = { voters, votersBefore: before, serving };
          const { state, needed } = judgeRange(range);
          const keeps = (left: number) => hasMajority(voters, left) && hasMajority(before, left);
          const singles = [1, 2, 4, 8, 16].filter((place) => (place & serving) !== 0);
          const wanted = singles.filter((place) => !keeps(serving & ~place));
          const isRight =
            keeps(serving) === (state !== 'without_majority') &&
            (state === 'without_majority' ||
              needed === wanted.reduce((sum, place) => sum + place, 0)) &&
            singles.every((place) => keepsMajority(range, place) === keeps(serving & ~place));
          if (!isRight) disagreements += 1;
        }
      }
    }
    expect(disagreements).toBe(0);
  });
});
