import { describe, expect, test } from 'vitest';
import { recordResponse, type PollStats } from '../../../src/cockroach/http/poll-stats.ts';
import { object } from '../../../src/json/index.ts';
import { createTestClient, testStats } from '../../support/cluster.ts';
import { serve } from '../../support/http-server.ts';

const TABLE = { database: 'db', table: 't', shape: object({}) };

function noted(...spans: readonly (readonly [number, number])[]): readonly unknown[] {
  const stats = testStats();
  for (const [startMs, endMs] of spans) recordResponse(stats, startMs, endMs);
  return stats.responding.map(({ startMs, endMs }) => [startMs, endMs]);
}

/** What a read of a table adds, from a server that does that. */
async function readFrom(
  listener: Parameters<typeof serve>[0],
  deadlineMs = 5_000,
): Promise<PollStats> {
  await using server = await serve(listener);
  await using client = createTestClient({
    urls: [server.url],
    deadlines: { headersMs: deadlineMs, idleMs: deadlineMs },
  });
  const stats = testStats();
  await client.api.table(stats, TABLE).catch(() => undefined);
  return stats;
}

describe('the time of answers', () => {
  test('counts once where answers overlap', () => {
    expect(noted([0, 10], [20, 30])).toEqual([
      [0, 10],
      [20, 30],
    ]);
    expect(noted([5, 10], [0, 20])).toEqual([[0, 20]]);
    expect(noted([0, 10], [10, 20])).toEqual([[0, 20]]);
    expect(noted([0, 10], [20, 30], [25, 40], [5, 50])).toEqual([[0, 50]]);
  });

  test('counts successful answers and error statuses', async () => {
    const good = await readFrom((_request, response) => response.end('{}'));
    expect(good.responding).toHaveLength(1);
    const bad = await readFrom((_request, response) => {
      response.statusCode = 500;
      response.end();
    });
    expect(bad.responding).toHaveLength(1);
  });

  test.each([
    ['that never come', () => undefined],
    ['that stop on the way', (_request, response) => void response.write('{')],
    ['that break off', (_request, response) => void response.destroy()],
  ] as readonly [string, Parameters<typeof serve>[0]][])(
    'does not count answers %s',
    async (_which, listener) => {
      expect((await readFrom(listener, 100)).responding).toEqual([]);
    },
  );

  test('does not count the time of a 504 that stands for a silent node', async () => {
    await using server = await serve((_request, response) => response.writeHead(504).end());
    await using client = createTestClient({ urls: [server.url] });
    const stats = testStats();
    const question = { nodeId: 3, route: 'proxy', firstUrl: 0 } as const;
    const read = client.api.nodeRanges(stats, {
      ...question,
      shape: object({}),
      onRange: () => undefined,
    });
    await expect(read).rejects.toMatchObject({ status: 504 });
    expect(stats.responding).toEqual([]);
    expect(server.requests).toHaveLength(1);
  });
});
