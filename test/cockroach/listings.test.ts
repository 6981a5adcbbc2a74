import { describe, expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { RequestError } from '../../src/cockroach/http/errors.ts';
import type { PollStats } from '../../src/cockroach/http/poll-stats.ts';
import {
  readNumberedPages,
  readOffsetPages,
  readTokenPages,
} from '../../src/cockroach/listings.ts';
import { integer, object } from '../../src/json/index.ts';
import { createTestClient, testStats } from '../support/cluster.ts';

/** What became of a listing: why it failed, or undefined, and the limits that it reached. */
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
const TOO_MANY = ['limit: x: more than 1000 pages', 'pages'];

describe('pages by offset', () => {
  test.each<readonly [readonly unknown[], readonly number[], readonly unknown[]]>([
    [[undefined], [0], [undefined]],
    [[null], [0], [undefined]],
    [[2, 5, undefined], [0, 2, 5], [undefined]],
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
  ])('whose `next` is %j are asked for at %j', async (nexts, expected, outcome) => {
    const offsets: number[] = [];
    const read = async (offset: number) => ({
      elements: 1,
      next: nexts[offsets.push(offset) - 1],
    });
    expect(await outcomeOf((stats) => readOffsetPages(stats, 'x', read))).toEqual(outcome);
    expect(offsets).toEqual(expected);
  });

  test.each([
    [1_000, [undefined]],
    [1_001, TOO_MANY],
  ])('may be a thousand: %i', async (pages, outcome) => {
    const read = async (offset: number) => ({
      elements: 1,
      next: offset + 1 < pages ? offset + 1 : undefined,
    });
    expect(await outcomeOf((stats) => readOffsetPages(stats, 'x', read))).toEqual(outcome);
  });

  test('end with an empty one: a server that sends a next one does not count its elements', async () => {
    const offsets: number[] = [];
    const read = async (offset: number) => {
      offsets.push(offset);
      return { elements: offset < 20 ? 10 : 0, next: offset + 10 };
    };
    expect(await outcomeOf((stats) => readOffsetPages(stats, 'x', read))).toEqual([
      'limit: x: a page is empty and has `next`',
      'pages',
    ]);
    expect(offsets).toEqual([0, 10, 20]);
  });
});

/** Twenty full pages of a listing of this many elements. */
function full(total: number) {
  return Array.from({ length: 20 }, () => ({ read: 500, total }));
}

describe('pages by number', () => {
  test.each<readonly [string, readonly { read: number; total?: number }[], readonly string[]]>([
    ['none', [{ read: 0, total: 0 }], []],
    ['one', [{ read: 3, total: 3 }], []],
    [
      'two',
      [
        { read: 500, total: 700 },
        { read: 200, total: 700 },
      ],
      [],
    ],
    [
      'an empty one, which counts nothing',
      [
        { read: 500, total: 700 },
        { read: 0, total: 0 },
      ],
      [],
    ],
    // Servers count them; a proxy, or another release, may not.
    ['an empty one without a number', [{ read: 500 }, { read: 20 }, { read: 0 }], []],
    ['an empty one after a wrong number', [{ read: 500, total: 0 }, { read: 0 }], []],
    ['the page that has all', [{ read: 10_000, total: 10_000 }], []],
    ['the page that has as many as are read', [{ read: 10_000, total: 10_001 }], ['items']],
    ['all that are read', full(10_000), []],
    ['more than are read', full(10_001), ['items']],
  ])('end after %s', async (_what, pages, limits) => {
    const queries: string[] = [];
    const read = async (query: string) => pages[queries.push(query) - 1] ?? { read: 0, total: 0 };
    const outcome = await outcomeOf((stats) =>
      readNumberedPages(stats, async (query) => ({ total: undefined, ...(await read(query)) })),
    );
    expect(outcome).toEqual([undefined, ...limits]);
    expect(queries).toEqual(pages.map((_, at) => `pageNum=${at + 1}&pageSize=10000`));
  });
});

const tokenOf = (text: string): string => Buffer.from(text).toString('base64url');

describe('pages by token', () => {
  test.each<readonly [string, readonly unknown[], readonly number[], number, readonly unknown[]]>([
    ['none', [undefined], [], 1, [undefined]],
    ['null', [null], [], 1, [undefined]],
    ['an empty one', [''], [], 1, [undefined]],
    ['a number', [7], [], 1, ['decode: sessions: `next` is not a token']],
    ['the same again', ['a', 'a'], [], 2, [undefined]],
    ['the same where nodes without sessions join', ['a', 'b', 'c', 'c'], [], 4, [undefined]],
    [
      'another after more empty pages than nodes join in between',
      ['a', 'b', 'c', 'd', 'e', 'f'],
      [],
      6,
      ['limit: sessions: 6 pages in a row are empty and have `next`', 'pages'],
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
      return { next: nexts[starts.push(start) - 1], failedNodes: new Set(failed), elements: 0 };
    };
    expect(await outcomeOf((stats) => readTokenPages(stats, read))).toEqual(outcome);
    expect(starts).toEqual([undefined, ...nexts].slice(0, pages));
  });

  test.each([
    [1_000, [undefined]],
    [1_001, ['limit: sessions: more than 1000 pages', 'pages']],
  ])('may be a thousand: %i', async (pages, outcome) => {
    let page = 0;
    const read = async () => {
      page += 1;
      return {
        next: page < pages ? `page ${page}` : '',
        failedNodes: new Set<number>(),
        elements: 1,
      };
    };
    expect(await outcomeOf((stats) => readTokenPages(stats, read))).toEqual(outcome);
  });

  test.each([
    ['aa', 5],
    ['aba', 5],
    ['abcb', 5],
    ['aba', 0],
  ])(
    'fail at the end of %s, where a token comes again: the server starts over',
    async (tokens, last) => {
      let pages = 0;
      const read = async () => {
        const next = tokens[pages++ % tokens.length];
        const elements = pages === tokens.length ? last : 5;
        return { next, failedNodes: new Set<number>(), elements };
      };
      const outcome = await outcomeOf((stats) => readTokenPages(stats, read));
      expect(outcome).toEqual(['limit: sessions: `next` repeats', 'pages']);
      expect(pages).toBe(tokens.length);
    },
  );
});

test.each([1, 3, 1_000])(
  'every session is listed once by a server that caps its pages at %i',
  async (sessionsPageCap) => {
    const simulator = await startSimulator({
      nodes: 9,
      ranges: 10,
      sessions: 8,
      metricKeys: 'useful',
      insecure: true,
      frozen: true,
      quirks: { sessionsPageCap },
    });
    onTestFinished(() => simulator.close());
    await using client = createTestClient({ urls: simulator.clusterUrls });
    const byNode = new Map<number, number>();
    await client.api.sessions(testStats(), {
      limit: 1_000,
      shape: object({ node_id: integer() }),
      onSession: ({ node_id: id = 0 }) => byNode.set(id, (byNode.get(id) ?? 0) + 1),
    });
    const { byNode: truth } = simulator.truth().sessions;
    const expected = truth.map(
      (row) => [row.nodeId, row.active + row.idleInTransaction + row.idle] as const,
    );
    expect(byNode).toEqual(new Map(expected));
  },
);
