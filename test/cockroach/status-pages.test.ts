import { expect, test } from 'vitest';
import { object } from '../../src/json/index.ts';
import { createTestClient, testStats } from '../support/cluster.ts';
import { serve } from '../support/http-server.ts';

/** Two URLs; the first one, or both, refuse the pages beside the API. Returns what each was asked, and how the requests ended. */
async function read(status: number, refusing: number) {
  const open = (at: number) =>
    serve((_request, response) => {
      if (at < refusing) response.writeHead(status).end();
      else response.end('{"ranges":[],"connections":{},"jobs":[]}');
    });
  await using first = await open(0);
  await using second = await open(1);
  await using client = createTestClient({ urls: [first.url, second.url] });
  const { api } = client;
  const ended = await Promise.allSettled([
    api.rangeDescriptors(AbortSignal.timeout(10_000), {
      nodeId: 1,
      rangeIds: [1],
      headersMs: 5_000,
      firstUrl: 0,
      onDescriptor: () => undefined,
    }),
    api.connectivity(testStats(), {
      headersMs: 5_000,
      firstUrl: 0,
      peer: object({}),
      peerMessage: () => ({}),
      onNode: () => undefined,
    }),
    api.jobs(testStats(), { limit: 1, shape: object({}), onJob: () => undefined }),
  ]);
  return {
    asked: [first, second].map(({ requests }) => requests.length),
    ended: ended.map((each) => each.status),
  };
}

test.each([403, 404, 501])(
  'pages beside the API that a proxy answers with %i are read at the next URL',
  async (status) => {
    const { asked, ended } = await read(status, 1);
    expect(ended).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
    expect(asked).toEqual([3, 3]);
    const none = await read(status, 2);
    expect(none.ended).toEqual(['rejected', 'rejected', 'rejected']);
    expect(none.asked).toEqual([3, 3]);
  },
);
