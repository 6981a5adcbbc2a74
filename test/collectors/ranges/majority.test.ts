import { describe, expect, test } from 'vitest';
import { keepsMajority } from '../../../src/collectors/ranges/majority.ts';

/** A mask of places, counted from 1: `places(1, 3)` is 0b101. */
function places(...list: readonly number[]): number {
  return list.reduce((mask, place) => mask | (1 << (place - 1)), 0);
}

function countOf(mask: number): number {
  return mask.toString(2).replaceAll('0', '').length;
}

describe('a majority', () => {
  const three = places(1, 2, 3);
  const five = places(1, 2, 3, 4, 5);

  interface Given {
    readonly voters: number;
    readonly before?: number;
    readonly serving: number;
  }
  /** Whether there is one, and the places without any one of which there is none. */
  type Case = readonly [string, Given, hasMajority: boolean, needed?: number];
  const cases: readonly Case[] = [
    ['3 voters serve: any one may go', { voters: three, serving: three }, true],
    ['2 of 3 voters: each is needed', { voters: three, serving: places(1, 3) }, true, places(1, 3)],
    ['1 of 3 voters', { voters: three, serving: places(2) }, false],
    ['none of 3 voters', { voters: three, serving: 0 }, false],
    ['3 of 5 voters: each is needed', { voters: five, serving: three }, true, three],
    ['4 of 5 voters', { voters: five, serving: places(1, 2, 3, 5) }, true],
    ['2 of 5 voters', { voters: five, serving: places(4, 5) }, false],
    ['3 of 4 voters: it is 3', { voters: places(1, 2, 3, 4), serving: three }, true, three],
    ['1 voter and 2 non-voters', { voters: places(1), serving: three }, true, places(1)],
    ['1 voter alone', { voters: places(1), serving: places(1) }, true, places(1)],
    ['only non-voters are left', { voters: places(1), serving: places(2, 3) }, false],
    [
      '3 voters and 2 non-voters, a voter is down',
      { voters: three, serving: places(1, 2, 4, 5) },
      true,
      places(1, 2),
    ],
    [
      '3 voters and 2 non-voters, a non-voter is down',
      { voters: three, serving: places(1, 2, 3, 4) },
      true,
    ],
    [
      'a change from 1, 2, 3 to 1, 2, 4: 3 and 4 may go, not both of the others',
      { voters: places(1, 2, 4), before: three, serving: places(1, 2, 3, 4) },
      true,
    ],
    [
      'the same while 3 is down: the old voters need 1 and 2',
      { voters: places(1, 2, 4), before: three, serving: places(1, 2, 4) },
      true,
      places(1, 2),
    ],
    [
      'a change from 1, 2, 3 to 3, 4, 5 while 4 and 5 are down: none of the new voters',
      { voters: places(3, 4, 5), before: three, serving: three },
      false,
    ],
  ];

  test.each(cases.map((each) => [each[0], each] as const))(
    '%s',
    (_what, [, { voters, before = voters, serving }, expected, needed = 0]) => {
      const range = { voters, votersBefore: before, serving };
      const singles = [1, 2, 3, 4, 5].map((place) => places(place) & serving);
      const ends = singles.filter((place) => expected && !keepsMajority(range, place));
      const found = [keepsMajority(range, 0), ends.reduce((mask, place) => mask | place, 0)];
      expect(found).toEqual([expected, needed]);
    },
  );

  test('agrees with counting, for all voters of up to 5 places before and after a change', () => {
    let disagreements = 0;
    for (let voters = 1; voters < 32; voters += 1) {
      for (let before = 1; before < 32; before += 1) {
        for (let serving = 0; serving < 32; serving += 1) {
          const range = { voters, votersBefore: before, serving };
          const isMajority = (of: number, left: number) => 2 * countOf(of & left) > countOf(of);
          const keeps = (left: number) => isMajority(voters, left) && isMajority(before, left);
          const isRight = [0, 1, 2, 4, 8, 16, 3, 24].every(
            (stopped) => keepsMajority(range, stopped) === keeps(serving & ~stopped),
          );
          if (!isRight) disagreements += 1;
        }
      }
    }
    expect(disagreements).toBe(0);
  });
});
