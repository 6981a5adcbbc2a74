import { describe, expect, test } from 'vitest';
import { CloudControl } from '../../src/cockroach/cloud-api.ts';
import { RequestError } from '../../src/cockroach/http/errors.ts';
import type { PollStats } from '../../src/cockroach/http/poll-stats.ts';
import { object, string } from '../../src/json/index.ts';
import { createTestHttp, testStats } from '../support/cluster.ts';
import { serve } from '../support/http-server.ts';

const shape = object({ id: string() });

/** What a call of the Cloud API at this URL came to. */
async function call(
  url: string,
  work: (api: CloudControl, stats: PollStats) => Promise<unknown>,
  stats = testStats(),
) {
  await using http = createTestHttp({ urls: [url] });
  const decodeErrors: unknown[] = [];
  const api = new CloudControl({
    http,
    clusterId: 'a/b',
    token: () => Promise.resolve('secret'),
    apiVersion: '2024-09-16',
    decodeErrors: (...error) => decodeErrors.push(error),
  });
  const outcome: unknown = await work(api, stats).catch((error: unknown) => error);
  return { outcome, decodeErrors, items: stats.items };
}

/** The same with a server that answers all requests so; also what it was sent. */
async function callWith(
  status: number,
  text: string,
  work: (api: CloudControl, stats: PollStats) => Promise<unknown>,
  stats = testStats(),
) {
  const sent: unknown[] = [];
  await using server = await serve((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += String(chunk);
    });
    request.on('end', () => {
      const { authorization, 'cc-version': version, 'content-type': type } = request.headers;
      expect([authorization, version]).toEqual(['Bearer secret', '2024-09-16']);
      sent.push([`${request.method} ${request.url}`, type, body]);
      response.writeHead(status).end(text);
    });
  });
  return { ...(await call(server.url, work, stats)), sent };
}

/** Why it failed, else what it brought. */
function reasonOf({ outcome }: { readonly outcome: unknown }): unknown {
  return outcome instanceof RequestError ? outcome.reason : outcome;
}

const BASE = '/api/v1/clusters/a%2Fb';
const JSON_TYPE = 'application/json';
const ASSISTANT = `${BASE}/migration-assistant`;
const CA_CERT = `${ASSISTANT}/source-ca-cert`;
const AN_ID = '{"id":"x"}';
const A_PEM = '{"x509_pem_cert":"PEM"}';
const RENAMED = '{"name":"new","table_count":"7"}';
const names = { name: 'old', newName: 'new' };

type Call = (api: CloudControl, stats: PollStats) => Promise<unknown>;

function change(api: CloudControl, stats: PollStats): Promise<unknown> {
  return api.deleteAssistant(stats, shape);
}

function provision(api: CloudControl, stats: PollStats, region?: string): Promise<unknown> {
  return api.provisionAssistant(stats, { region, shape });
}

describe('the Cloud API', () => {
  test.each<readonly [line: string, body: string, answer: string, outcome: unknown, work: Call]>([
    [`GET ${ASSISTANT}`, '', AN_ID, { id: 'x' }, (api, stats) => api.assistant(stats, shape)],
    [`POST ${ASSISTANT}`, '{}', AN_ID, { id: 'x' }, (api, stats) => provision(api, stats)],
    [
      `POST ${ASSISTANT}`,
      '{"region":"us"}',
      AN_ID,
      { id: 'x' },
      (api, stats) => provision(api, stats, 'us'),
    ],
    [`DELETE ${ASSISTANT}`, '', AN_ID, { id: 'x' }, change],
    [
      `PATCH ${BASE}/databases`,
      '{"name":"old","new_name":"new"}',
      RENAMED,
      JSON.parse(RENAMED),
      (api, stats) => api.renameDatabase(stats, names),
    ],
    [`GET ${CA_CERT}`, '', A_PEM, 'PEM', (api, stats) => api.caCertificate(stats)],
    [
      `PATCH ${CA_CERT}`,
      A_PEM,
      A_PEM,
      undefined,
      (api, stats) => api.setCaCertificate(stats, 'PEM'),
    ],
    [`DELETE ${CA_CERT}`, '', A_PEM, 'PEM', (api, stats) => api.deleteCaCertificate(stats)],
  ])('is sent %s with the body "%s"', async (line, body, answer, outcome, work) => {
    const type = body === '' ? undefined : JSON_TYPE;
    const sent = [[line, type, body]];
    const endpoint = line.endsWith('/migration-assistant') ? 'assistant' : 'other';
    const decodeErrors = [[endpoint, 0]];
    expect(await callWith(200, answer, work)).toEqual({ outcome, decodeErrors, items: 1, sent });
    // No content is an answer to a change only.
    const empty = await callWith(204, '', work);
    const unread = line.startsWith('GET') ? 'decode' : undefined;
    expect({ ...empty, outcome: reasonOf(empty) }).toEqual({
      outcome: unread,
      decodeErrors: [],
      items: 1,
      sent,
    });
  });

  test.each([
    ['{"code":5,"message":"no migration assistant","details":[]}', true],
    ['{"code":5,"message":"no ASSISTANT in the cluster"}', true],
    ['{"code":5,"message":"cluster not found"}', false],
    ['{"code":5,"message":"Cluster a not found","details":"assistant"}', false],
    // The id of the cluster that was asked for.
    ['{"code":5,"message":"a/b: not found"}', false],
    ['{"code":5,"message":"a/b has no assistant"}', true],
    // Another server, as a wrong URL leads to one.
    ['{"message":"no Route matched with those values"}', false],
    ['{"code":5}', false],
    ['{}', false],
    ['', false],
    ['404 page not found', false],
    ['\n<html>404 Not Found</html>', false],
    // The gateway does not know the path.
    ['{"code": 5, "message": "Not Found"}', false],
  ])('says with a 404 of %j that there is no assistant: %s', async (text, isNone) => {
    const { outcome } = await callWith(404, text, (api, stats) => api.assistant(stats, shape));
    expect(reasonOf({ outcome })).toBe(isNone ? undefined : 'not_available');
  });

  test('fails with another status, whatever its text, and for anything but the assistant', async () => {
    const read = await callWith(403, '{}', (api, stats) => api.assistant(stats, shape));
    expect(read.outcome).toMatchObject({ status: 403 });
    const { outcome } = await callWith(404, '{}', (api, stats) => api.caCertificate(stats));
    expect(outcome).toMatchObject({ status: 404 });
  });

  test.each<readonly [kind: string, body: string, work: Call]>([
    ['an error', '{"code":5,"message":"x"}', (api, stats) => api.assistant(stats, shape)],
    ['{}', '{}', (api, stats) => api.assistant(stats, shape)],
    ['an id of another type', '{"id":7}', (api, stats) => api.assistant(stats, shape)],
    ['an error', '{"code":7,"message":"x"}', (api, stats) => provision(api, stats)],
    ['null', 'null', change],
    ['another list', '{"databases":[]}', (api, stats) => api.renameDatabase(stats, names)],
    ['{}', '{}', (api, stats) => api.setCaCertificate(stats, 'PEM')],
    ['an error', '{"code":7,"message":"x"}', (api, stats) => api.deleteCaCertificate(stats)],
  ])('fails with status 200 and %s: %s', async (_, body, work) => {
    const stats = testStats();
    const { outcome, sent } = await callWith(200, body, work, stats);
    expect(reasonOf({ outcome })).toBe('decode');
    const isRead = JSON.stringify(sent).includes('GET ');
    expect(stats.mayHaveChanged).toBe(!isRead);
  });

  test('takes an empty bundle for the roots of the system', async () => {
    const { outcome } = await callWith(200, '{"x509_pem_cert":""}', (api, stats) =>
      api.caCertificate(stats),
    );
    expect(outcome).toBe('');
  });

  test.each([
    [true, 'auth'],
    [false, 'http'],
  ])('does not understand the token with a 400 to a read: %s', async (isRead, reason) => {
    const { outcome } = await callWith(400, 'bad token', (api, stats) =>
      isRead ? api.caCertificate(stats) : api.setCaCertificate(stats, 'PEM'),
    );
    expect(outcome).toMatchObject({ reason, status: 400 });
  });
});

describe('a change', () => {
  test('is sent three times when the service limits the rate', async () => {
    const stats = testStats();
    const { outcome, sent } = await callWith(429, '', change, stats);
    expect(outcome).toMatchObject({ status: 429 });
    expect(sent).toHaveLength(3);
    expect(stats.mayHaveChanged).toBe(false);
  });
});
