import type { RequestListener, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { CloudControl } from '../../src/cockroach/cloud-api.ts';
import type { PollStats } from '../../src/cockroach/http/poll-stats.ts';
import { object, string } from '../../src/json/index.ts';
import type { FinishedRequest } from '../../src/metrics/exporter-metrics.ts';
import {
  createTestClient,
  createTestHttp,
  type TestHttpOptions,
  testStats,
} from '../support/cluster.ts';
import { serve } from '../support/http-server.ts';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;
const shape = object({ id: string() });

/** Answers that are read as a whole, and how large they may be. */
const CASES = [
  { endpoint: 'login', path: '/login/', limit: 64 * KIBIBYTE },
  { endpoint: 'table', path: '/databases/', limit: 16 * MEBIBYTE },
  { endpoint: 'assistant', path: '/migration-assistant', limit: MEBIBYTE },
] as const;

type Case = (typeof CASES)[number];

async function callCluster(
  { endpoint }: Case,
  options: TestHttpOptions,
  stats: PollStats,
): Promise<unknown> {
  const login = { username: 'u', password: () => Promise.resolve('p') };
  await using client = createTestClient({ ...options, ...(endpoint === 'login' && login) });
  return await client.api.table(stats, { database: 'd', table: 't', shape });
}

async function callCloud(options: TestHttpOptions, stats: PollStats): Promise<unknown> {
  await using http = createTestHttp(options);
  const api = new CloudControl({
    http,
    clusterId: 'c',
    token: () => Promise.resolve('t'),
    apiVersion: '2024-09-16',
    decodeErrors: () => undefined,
  });
  return await api.assistant(stats, shape);
}

/** What the call came to, with the decoded bytes that were accepted of the answer to its endpoint. */
async function call(each: Case, answer: RequestListener) {
  await using server = await serve((request, response) => {
    if (request.url?.includes(each.path) === true) answer(request, response);
    else response.end('{}');
  });
  const finished: FinishedRequest[] = [];
  const options = {
    urls: [server.url],
    requestFinished: (one: FinishedRequest) => finished.push(one),
  };
  const stats = testStats();
  const calling =
    each.endpoint === 'assistant' ? callCloud(options, stats) : callCluster(each, options, stats);
  const outcome: unknown = await calling.catch((error: unknown) => error);
  const bytes = finished.findLast(({ endpoint }) => endpoint === each.endpoint)?.bytes ?? 0;
  return { outcome, bytes, limits: [...stats.limits] };
}

/** Never ends. */
function pour(response: ServerResponse, opening: string): void {
  const chunk = Buffer.alloc(64 * KIBIBYTE, 'a');
  response.write(opening);
  const more = (): void => {
    while (!response.destroyed && response.write(chunk)) continue;
  };
  response.on('drain', more);
  more();
}

test.each(CASES)('an answer to $endpoint over its limit is cut off there', async (each) => {
  const { outcome, bytes, limits } = await call(each, (_request, response) => {
    pour(response, '{"session":"');
  });
  expect(outcome).toMatchObject({ reason: 'limit' });
  expect(String(outcome)).toContain(`larger than ${each.limit} bytes`);
  expect(bytes).toBeLessThanOrEqual(each.limit);
  expect(limits).toEqual(['bytes']);
});
