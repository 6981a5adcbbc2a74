import { expect, test } from 'vitest';
import type { ClusterApi } from '../../src/cockroach/cluster-api.ts';
import { object } from '../../src/json/index.ts';
import { createTestClient, testStats } from '../support/cluster.ts';
import { good, serve } from '../support/http-server.ts';

const shape = object({});
const headersMs = 50;
const ignore = (): void => undefined;

/** What a healthy server answers only after other nodes have, or after a statement, which may hang. */
const WAITING: Readonly<Record<string, (api: ClusterApi) => Promise<unknown>>> = {
  descriptors: (api) =>
    api.rangeDescriptors(AbortSignal.timeout(10_000), {
      nodeId: 3,
      rangeIds: [1],
      headersMs,
      firstUrl: 0,
      onDescriptor: ignore,
    }),
  connectivity: (api) =>
    api.connectivity(testStats(), {
      headersMs,
      firstUrl: 0,
      peer: shape,
      peerMessage: () => ({}),
      onNode: ignore,
    }),
  sessions: (api) => api.sessions(testStats(), { limit: 9, shape, onSession: ignore }),
  users: (api) => api.users(testStats(), { shape, onUser: ignore }),
  table: (api) => api.table(testStats(), { database: 'movr', table: 'rides', shape }),
  tables: (api) => api.tableMetadata(testStats(), { shape, onTable: ignore }),
  jobs: (api) => api.jobs(testStats(), { limit: 9, shape, onJob: ignore }),
};

function listNodes(api: ClusterApi): Promise<unknown> {
  return api.nodes(testStats(), { limit: 9, firstUrl: 0, shape, onNode: ignore });
}

/** The states of two URLs after the first one was asked that, and was silent. */
async function statesAfter(ask: (api: ClusterApi) => Promise<unknown>): Promise<string> {
  await using silent = await serve(ignore);
  await using other = await good();
  await using client = createTestClient({
    urls: [silent.url, other.url],
    deadlines: { headersMs },
    breakerOpenMs: 60_000,
  });
  await ask(client.api).catch(ignore);
  return client.http
    .upstreams()
    .map(({ state }) => state)
    .join(', ');
}

test.each(Object.keys(WAITING))('the silence of %s is not that of the URL', async (name) => {
  const ask = WAITING[name];
  expect(ask && (await statesAfter(ask))).toBe('closed, closed');
});

test('the silence of the list of nodes is that of the URL while another one works', async () => {
  expect(await statesAfter(listNodes)).toBe('open, closed');
});

/** Requests whose first URL is one that was silent before, so that it is soon known whether it works again. */
const TRIALS = ['sessions', 'users', 'tables', 'jobs'];
/** What each of them reads, and a node. */
const EVERY_LIST = { nodes: [{ node_id: 1 }], sessions: [], users: [], results: [], jobs: [] };

test.each(TRIALS)('%s are read while a silent URL is tried again', async (name) => {
  await using silent = await serve(ignore);
  await using other = await serve((_request, response) => {
    response.end(JSON.stringify(EVERY_LIST));
  });
  await using client = createTestClient({
    urls: [silent.url, other.url],
    deadlines: { headersMs: 300 },
    breakerOpenMs: 1,
  });
  await listNodes(client.api);
  expect(client.http.upstreams().map(({ state }) => state)).toEqual(['half_open', 'closed']);
  await WAITING[name]?.(client.api);
  expect(other.requests).toHaveLength(2);
});
