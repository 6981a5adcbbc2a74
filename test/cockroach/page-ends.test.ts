import { describe, expect, test } from 'vitest';
import {
  isRepeatedPage,
  readNumberedPages,
  readOffsetPages,
  readTokenPages,
} from '../../src/cockroach/paging.ts';
import { RequestError } from '../../src/http/errors.ts';
import type { PollStats } from '../../src/http/poll-stats.ts';
import { testStats } from '../support/cluster.ts';

/** What became of a listing: what it resolved to or why it failed, and the limits that it reached. */
async function outcomeOf(
  read: (stats: PollStats) => Promise<unknown>,
): Promise<readonly unknown[]> {
  const stats = testStats();
  const outcome = await read(stats).catch((error: unknown) =>
    error instanceof RequestError ? `${error.reason}: ${error.message}` : error,
  );
  return [outcome, ...stats.limits];
}

const NO_OFFSET = 'decode: x: `next` is not an offset';

describe('pages by offset', () => {
  test.each<readonly [readonly unknown[], readonly number[], readonly unknown[]]>([
    [[undefined], [0], [undefined]],
    [[null], [0], [undefined]],
    [[2, 5, undefined], [0, 2, 5], [undefined]],
    [[0], [0], ['limit: x: `next` went from 0 to 0', 'pages']],
    [
      [5, 5],
      [0, 5],
      ['limit: x: `next` went from 5 to 5', 'pages'],
    ],
    [
      [5, 4],
      [0, 5],
      ['limit: x: `next` went from 5 to 4', 'pages'],
    ],
    [['2'], [0], [NO_OFFSET]],
    [[1.5], [0], [NO_OFFSET]],
    [[2 ** 53], [0], [NO_OFFSET]],
    [[''], [0], [NO_OFFSET]],
  ])('whose `next` is %j are asked for at %j', async (nexts, expected, outcome) => {
    const offsets: number[] = [];
    const read = async (offset: number): Promise<unknown> => nexts[offsets.push(offset) - 1];
    expect(await outcomeOf((stats) => readOffsetPages(stats, 'x', read))).toEqual(outcome);
    expect(offsets).toEqual(expected);
  });

  test.each([
    [1_000, [undefined]],
    [1_001, ['limit: x: more than 1000 pages', 'pages']],
  ])('may be a thousand: %i', async (pages, outcome) => {
    const read = async (offset: number): Promise<unknown> =>
      offset + 1 < pages ? offset + 1 : undefined;
    expect(await outcomeOf((stats) => readOffsetPages(stats, 'x', read))).toEqual(outcome);
  });
});

describe('pages by number', () => {
  const FULL = { read: 500 };

  test.each<readonly [readonly object[], readonly unknown[]]>([
    [[{ read: 0, total: 0 }], [0]],
    [[{ read: 0, total: 9 }], [0]],
    [[{ read: 3, total: 3 }], [3]],
    [[{ read: 3 }], [3]],
    [[{ read: 3, total: 2 }], [3]],
    [[{ read: 500, total: 500 }], [500]],
    [[{ read: 500, total: 1_200 }, FULL, { read: 200, total: 1_200 }], [1_200]],
    [
      [
        { read: 500, total: 1_200 },
        { read: 0, total: 0 },
      ],
      [500],
    ],
    [[FULL, FULL, { read: 499 }], [1_499]],
    [[FULL, FULL, { read: 0 }], [1_000]],
    [
      [
        { read: 10, total: 25 },
        { read: 10, total: 25 },
        { read: 5, total: 25 },
      ],
      [25],
    ],
    [Array.from({ length: 20 }, () => ({ read: 500, total: 10_000 })), [10_000]],
    [Array.from({ length: 20 }, () => ({ read: 500, total: 10_001 })), [10_001, 'items']],
    [Array.from({ length: 20 }, () => FULL), [10_000, 'items']],
  ])('with %j are a listing of %j', async (pages, outcome) => {
    const queries: string[] = [];
    const read = async (query: string) => {
      return { read: 0, ...pages[queries.push(query) - 1] };
    };
    expect(await outcomeOf((stats) => readNumberedPages(stats, read))).toEqual(outcome);
    expect(queries).toEqual(pages.map((_, at) => `pageNum=${at + 1}&pageSize=500`));
  });
});

const tokenOf = (text: string): string => Buffer.from(text).toString('base64url');

describe('pages by token', () => {
  test.each<readonly [string, readonly unknown[], readonly number[], number, readonly unknown[]]>([
    ['none', [undefined], [], 1, [undefined]],
    ['null', [null], [], 1, [undefined]],
    ['an empty one', [''], [], 1, [undefined]],
    ['a number', [7], [], 1, ['decode: x: `next` is not a token']],
    ['one that came before', ['a', 'b', 'a'], [], 3, [undefined]],
    ['the longest', ['x'.repeat(262_144)], [], 2, [undefined]],
    [
      'one that is longer',
      ['x'.repeat(262_145)],
      [],
      1,
      ['limit: x: `next` is longer than 262144 characters', 'pages'],
    ],
    ['failed nodes only', [tokenOf('1,|2|3|4,')], [2, 4], 1, [undefined]],
    ['a node in progress', [tokenOf('1,|2|3|4,')], [4], 2, [undefined]],
    ['a node to query', [tokenOf('1,|2|3|4,')], [2], 2, [undefined]],
    ['no node at all', [tokenOf('|0|0|')], [], 1, [undefined]],
    ['text before such a token', [tokenOf('x1,|0|0|')], [], 2, [undefined]],
    ['text after such a token', [tokenOf('1,|0|0|x')], [], 2, [undefined]],
  ])('end with %s', async (_what, nexts, failed, pages, outcome) => {
    const starts: (string | undefined)[] = [];
    const read = async (start: string | undefined) => {
      return { next: nexts[starts.push(start) - 1], failedNodes: new Set(failed) };
    };
    expect(await outcomeOf((stats) => readTokenPages(stats, 'x', read))).toEqual(outcome);
    expect(starts).toEqual([undefined, ...nexts].slice(0, pages));
  });

  test.each([
    [1_000, [undefined]],
    [1_001, ['limit: x: more than 1000 pages', 'pages']],
  ])('may be a thousand: %i', async (pages, outcome) => {
    let page = 0;
    const read = async () => {
      page += 1;
      return { next: page < pages ? `page ${page}` : '', failedNodes: new Set<number>() };
    };
    expect(await outcomeOf((stats) => readTokenPages(stats, 'x', read))).toEqual(outcome);
  });
});

test('a page is repeated when it begins with a session that began another one', () => {
  const seen = new Set<string>();
  const first = { id: 'a', node_id: 1, start: 't' };
  const begins = (...sessions: readonly object[]): readonly boolean[] =>
    sessions.map((session) => isRepeatedPage(seen, { ...first, ...session }));
  expect(begins({}, { id: 'b' }, { node_id: 2 }, { start: 'u' })).toEqual([
    false,
    false,
    false,
    false,
  ]);
  expect(begins({}, { id: 'b' }, { node_id: 2 }, { start: 'u' })).toEqual([true, true, true, true]);
  for (const id of [undefined, null, '']) expect(begins({ id }, { id })).toEqual([false, false]);
});
