import { describe, expect, test } from 'vitest';
import { RequestError } from '../../src/cockroach/http/errors.ts';
import { ClusterIdentity, NodeListings } from '../../src/cockroach/identity.ts';
import { assertOneCluster } from '../../src/cockroach/list-nodes.ts';
import { createTestClient, type TestClientOptions, testStats } from '../support/cluster.ts';
import { refusing, serve, type TestServer } from '../support/http-server.ts';

interface Process {
  readonly id: number;
  readonly start?: number;
  readonly host?: string;
  readonly name?: string;
}

function identityOf(...processes: readonly Process[]): ClusterIdentity {
  const identity = new ClusterIdentity();
  for (const { id, start = 7, host = 'a', name = 'east' } of processes) {
    identity.add({
      node_id: id,
      started_at: start,
      address: { address_field: host },
      cluster_name: name,
    });
  }
  return identity;
}

describe('another cluster is noticed', () => {
  const before = [{ id: 1 }, { id: 2 }, { id: 3 }];

  test.each<readonly [string, readonly Process[], boolean]>([
    ['the same nodes', before, false],
    ['a node fewer and a new one', [{ id: 2 }, { id: 3 }, { id: 4 }], false],
    ['all but one restarted', [{ id: 1, start: 8 }, { id: 2, start: 9 }, { id: 3 }], false],
    ['all restarted', before.map((one) => ({ ...one, start: 8 })), true],
    ['all at other addresses', before.map((one) => ({ ...one, host: 'b' })), true],
    ['other ids', [{ id: 4 }, { id: 5 }], true],
    ['another name', before.map((one) => ({ ...one, name: 'west' })), true],
    ['another name on one node', [{ id: 1, name: 'west' }, { id: 2 }], false],
  ])('by %s: %#', (_what, after, isReplaced) => {
    const listings = new NodeListings();
    const stats = testStats();
    const seen: unknown[] = [];
    listings.onReplaced((names) => seen.push(names));
    listings.listed(stats, identityOf(...before));
    expect(seen).toEqual([]);
    listings.listed(stats, identityOf(...after));
    const names = { before: 'east', after: after[0]?.name ?? 'east' };
    expect(seen).toEqual(isReplaced ? [names] : []);
    expect(listings.noticedBy).toBe(isReplaced ? stats.pollId : undefined);
  });
});

test('two clusters of equal names, ids and addresses are told apart by their starts', () => {
  const listings = new NodeListings();
  listings.onReplaced(() => undefined);
  const startMs = Date.parse('2026-03-01T12:00:00Z');
  const [one, other] = [0, 90_000].map((laterMs) =>
    identityOf({ id: 1, start: (startMs + laterMs) * 1e6 }),
  );
  for (const identity of [one, other, one]) {
    if (identity !== undefined) listings.listed(testStats(), identity);
  }
  expect(listings.alternation?.message).toBe(
    'two clusters answer by turns: node 1 at a of the cluster east, one started at 2026-03-01 12:01:30 UTC and one at 2026-03-01 12:00:00 UTC',
  );
});

test('two clusters answer by turns when the former one is back, until twenty listings in a row are of one', () => {
  const listings = new NodeListings();
  let replacements = 0;
  listings.onReplaced(() => (replacements += 1));
  const [east, west] = [identityOf({ id: 1 }), identityOf({ id: 1, name: 'west' })];
  const list = (identity: ClusterIdentity, times = 1): string | undefined => {
    for (let time = 0; time < times; time += 1) listings.listed(testStats(), identity);
    return listings.alternation?.message;
  };
  expect([list(east), list(west, 20), list(east)]).toEqual([undefined, undefined, undefined]);
  const text =
    'two clusters answer by turns: node 1 at a of the cluster east and node 1 at a of the cluster west';
  expect([list(west), list(east), list(west, 19)]).toEqual([text, text, text]);
  expect(listings.alternation?.remedy).toMatch(
    /; polls succeed after 20 lists in a row of one cluster$/,
  );
  expect(list(west)).toBeUndefined();
  expect(replacements).toBe(3);
});

test('a listing of another cluster fails where nobody listens to that, as in a command', () => {
  const listings = new NodeListings();
  listings.listed(testStats(), identityOf({ id: 1 }));
  expect(() => listings.listed(testStats(), identityOf({ id: 1, host: 'b' }))).toThrow(
    expect.objectContaining({
      message:
        'two clusters answer, or all nodes restarted meanwhile: node 1 at a of the cluster east and node 1 at b of the cluster east',
      remedy: expect.not.stringContaining('polls'),
    }),
  );
});

/** Lists this as the first of several nodes. */
function lists(first: () => Process, sick?: (path: string) => number | undefined) {
  return serve((request, response) => {
    const { id, start = 7, host = 'a', name = 'east' } = first();
    const node = { node_id: id, started_at: start, cluster_name: name };
    response.statusCode = sick?.(request.url ?? '') ?? 200;
    response.end(
      JSON.stringify({ nodes: [{ ...node, address: { address_field: host } }], next: 1 }),
    );
  });
}

/** Why the cluster is not one, or `one`. */
async function check(urls: readonly string[], options: Partial<TestClientOptions> = {}) {
  await using client = createTestClient({ ...options, urls });
  return await assertOneCluster(client.api, testStats(), urls.length).then(
    () => 'one',
    (error: unknown) =>
      error instanceof RequestError && error.remedy !== undefined ? error.message : String(error),
  );
}

const IDENTITY = '/api/v2/nodes/?limit=1&offset=0';

describe('the URLs of a cluster', () => {
  test.each<readonly [string, Process]>([
    ['another name', { id: 1, name: 'west' }],
    ['another address', { id: 1, host: 'b' }],
    ['another start', { id: 1, start: 8 }],
    ['another first node', { id: 2 }],
  ])(
    'lead to two of them when the first node of one has %s, and it is asked twice',
    async (...row) => {
      const [, process] = row;
      await using first = await lists(() => ({ id: 1 }));
      await using second = await lists(() => ({ id: 1 }));
      await using other = await lists(() => process);
      const { id, host = 'a', name = 'east' } = process;
      const [one, two] = [first, other].map(({ url }) => new URL(url).host);
      expect(await check([first.url, second.url, other.url])).toBe(
        `the URLs lead to different clusters: ${one} (node 1 at a of the cluster east) and ${two} (node ${id} at ${host} of the cluster ${name})`,
      );
      for (const { requests } of [first, second, other])
        expect(requests).toEqual([IDENTITY, IDENTITY]);
    },
  );

  test('lead to one when all list the same node first, with one request each', async () => {
    await using first = await lists(() => ({ id: 1 }));
    await using second = await lists(() => ({ id: 1 }));
    expect(await check([first.url, second.url])).toBe('one');
    for (const { requests } of [first, second]) expect(requests).toEqual([IDENTITY]);
  });

  test('are not compared when there is one', async () => {
    await using only = await lists(() => ({ id: 1 }));
    expect(await check([only.url])).toBe('one');
    expect(only.requests).toEqual([]);
  });

  test('lead to one when a node restarted between two of the requests', async () => {
    let answers = 0;
    const restarting = (): Process => ({ id: 1, start: (answers += 1) === 1 ? 7 : 8 });
    await using first = await lists(restarting);
    await using second = await lists(() => ({ id: 1, start: 8 }));
    expect(await check([first.url, second.url])).toBe('one');
    expect(first.requests).toHaveLength(2);
  });

  test.each<readonly [string, () => Promise<TestServer | string>]>([
    ['refuses connections', refusing],
    [
      'fails',
      () =>
        lists(
          () => ({ id: 9 }),
          () => 503,
        ),
    ],
    ['has no nodes', () => lists(() => ({ id: 0 }))],
    ['answers in HTML', () => serve((_request, response) => response.end('<html>'))],
  ])('lead to one when a URL %s', async (_how, begin) => {
    await using first = await lists(() => ({ id: 1 }));
    const second = await begin();
    const url = typeof second === 'string' ? second : second.url;
    expect([await check([first.url, url]), await check([url, first.url])]).toEqual(['one', 'one']);
    if (typeof second !== 'string') await second[Symbol.asyncDispose]();
  });

  test('cost no login when one of them refuses the token', async () => {
    let logins = 0;
    const withLogin = (status: number): Promise<TestServer> =>
      lists(
        () => ({ id: 1 }),
        (path) => {
          if (path.includes('/login/')) logins += 1;
          else return status;
          return undefined;
        },
      );
    await using first = await withLogin(200);
    await using second = await withLogin(401);
    const token = { token: () => Promise.resolve('t') };
    expect(await check([first.url, second.url], token)).toBe('one');
    expect(logins).toBe(0);
  });

  test('are read within the poll', async () => {
    await using first = await serve(() => undefined);
    await using client = createTestClient({ urls: [first.url, first.url] });
    const stats = testStats(AbortSignal.timeout(100));
    await expect(assertOneCluster(client.api, stats, 2)).rejects.toMatchObject({
      reason: 'timeout',
    });
  });
});
