import { expect, onTestFinished, test } from 'vitest';
import { integer, object } from '../../src/json/shape.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { createTestClient, testStats } from '../support/cluster.ts';
import { serve } from '../support/http-server.ts';

const LIMIT = 2;
const session = object({ node_id: integer() });

/** One answer: ids of its sessions, nodes in `errors`, and `next`. */
interface Page {
  readonly ids: readonly string[];
  readonly failed?: readonly number[];
  readonly next?: string | undefined;
}

interface Listed {
  readonly starts: readonly (string | null)[];
  readonly sessions: number;
  readonly failedNodes: readonly number[];
  readonly limits: readonly string[];
}

/** A token as real servers write it. */
function tokenOf(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/** Lists the sessions of a server that answers each `start` with the page that `pageAt` gives. */
async function list(pageAt: (start: string | null) => Page): Promise<Listed> {
  const starts: (string | null)[] = [];
  await using server = await serve((request, response) => {
    const start = new URL(`http://x${request.url}`).searchParams.get('start');
    starts.push(start);
    const { ids, failed = [], next } = pageAt(start);
    const errors = failed.map((id) => ({ node_id: id, message: 'failed to dial' }));
    const sessions = ids.map((id) => ({ id: Buffer.from(id).toString('base64'), node_id: 1 }));
    response.end(JSON.stringify({ sessions, errors, next }));
  });
  await using client = createTestClient({ urls: [server.url] });
  const stats = testStats();
  let sessions = 0;
  const { failedNodes } = await client.api.sessions(stats, {
    limit: LIMIT,
    shape: session,
    onSession: () => {
      sessions += 1;
    },
  });
  return { starts, sessions, failedNodes: [...failedNodes], limits: [...stats.limits] };
}

/** Pages by the token that asks for them; the first is that of no token. */
function pages(first: Page, others: Readonly<Record<string, Page>> = {}) {
  return (start: string | null): Page => {
    const page = start === null ? first : others[start];
    if (page === undefined) throw new Error(`nobody should ask for ${String(start)}`);
    return page;
  };
}

const HALF_OF_NODE_2 = tokenOf('1,|2|3|3,');
const NODE_2_IN_PROGRESS = tokenOf('1,|2|3|');
const LAST_IN_PROGRESS = tokenOf('1,2,|3|0|');
const FINISHED = tokenOf('1,2,3,|0|0|');

test.each<readonly [string, Page]>([
  ['no `next`', { ids: ['a', 'b'] }],
  ['an empty `next`', { ids: ['a', 'b'], next: '' }],
  ['a token that says that all nodes were queried', { ids: ['a', 'b'], next: FINISHED }],
  ['a token that would start over', { ids: ['a', 'b'], next: tokenOf('|0|0|') }],
  ['only the failed node in progress', { ids: ['a', 'b'], failed: [3], next: LAST_IN_PROGRESS }],
  [
    'only failed nodes in progress and to query',
    { ids: ['a', 'b'], failed: [3, 2], next: tokenOf('1,|2|0|3,') },
  ],
])('a full page with %s is the end', async (_what, page) => {
  expect(await list(pages(page))).toMatchObject({ starts: [null], sessions: 2, limits: [] });
});

test.each([
  ['full', ['a', 'b']],
  ['short', ['a']],
  ['empty', []],
])('a %s page is not the end while a node is in progress or to query', async (_length, ids) => {
  const listed = await list(
    pages(
      { ids, next: HALF_OF_NODE_2 },
      {
        [HALF_OF_NODE_2]: { ids: ['c'], next: NODE_2_IN_PROGRESS },
        [NODE_2_IN_PROGRESS]: { ids: ['d'], next: FINISHED },
      },
    ),
  );
  expect(listed.starts).toEqual([null, HALF_OF_NODE_2, NODE_2_IN_PROGRESS]);
  expect(listed.sessions).toBe(ids.length + 2);
});

test('a failed node does not end the listing while another is left', async () => {
  const listed = await list(
    pages(
      { ids: ['a'], failed: [2], next: HALF_OF_NODE_2 },
      { [HALF_OF_NODE_2]: { ids: ['b'], failed: [3], next: LAST_IN_PROGRESS } },
    ),
  );
  expect(listed).toMatchObject({ sessions: 2, failedNodes: [2, 3] });
});

test('a repeated token is the end and no failure', async () => {
  const page = { ids: [], next: LAST_IN_PROGRESS };
  const listed = await list(
    pages({ ids: ['a'], next: LAST_IN_PROGRESS }, { [LAST_IN_PROGRESS]: page }),
  );
  expect(listed).toMatchObject({ starts: [null, LAST_IN_PROGRESS], sessions: 1, limits: [] });
});

test('tokens of an unknown form are followed until they are absent or repeat', async () => {
  const next = new Map([
    ['first', 'v9:p2'],
    ['v9:p2', '{"page":3}'],
    ['{"page":3}', 'v9:p2'],
  ]);
  const ids = new Map([
    ['first', ['a', 'b']],
    ['v9:p2', ['c']],
    ['{"page":3}', ['d', 'e']],
  ]);
  const listed = await list((start) => {
    const at = start ?? 'first';
    return { ids: ids.get(at) ?? [], next: next.get(at) };
  });
  expect(listed).toMatchObject({ starts: [null, 'v9:p2', '{"page":3}'], sessions: 5, limits: [] });
});

test('a server that starts over is not counted twice', async () => {
  const page = { ids: ['a', 'b'], next: 'opaque' };
  expect(await list(() => page)).toMatchObject({ starts: [null, 'opaque'], sessions: 2 });
});

test.each([
  ['an endless listing', 1_000, (page: number) => `page-${page}`],
  ['a token of half a megabyte', 1, () => 'x'.repeat(512 * 1024)],
])('%s fails with reason limit', async (_what, asked, nextOf) => {
  let page = 0;
  const listed = list(() => {
    page += 1;
    return { ids: [], next: nextOf(page) };
  });
  await expect(listed).rejects.toMatchObject({ reason: 'limit' });
  expect(page).toBe(asked);
});

test.each([1, 2, 3, 7, 1_000])(
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
      shape: session,
      onSession: ({ node_id: id = 0 }) => byNode.set(id, (byNode.get(id) ?? 0) + 1),
    });
    const expected = simulator
      .truth()
      .sessions.byNode.map((row): [number, number] => [
        row.nodeId,
        row.active + row.idleInTransaction + row.idle,
      ]);
    expect(byNode).toEqual(new Map(expected));
  },
);
