import { describe, expect, test } from 'vitest';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import { ask, connect } from '../../support/http-client.ts';
import { good, refusing, serve } from '../../support/http-server.ts';
import { NODES, OF_NODE_3, SESSIONS, states } from './breakable.ts';

/** Answers with these statuses in turn, the last for ever. */
function answering(...statuses: readonly number[]) {
  const left = [...statuses];
  return serve((_request, response) => {
    const status = (left.length > 1 ? left.shift() : left[0]) ?? 200;
    response.writeHead(status).end('{"fine":true}');
  });
}

const FINE = '{"fine":true}';
const RETRY = { endpoint: 'nodes', reason: 'http' };

describe('one URL', () => {
  test('is sent a failing request three times', async () => {
    await using server = await answering(503);
    await using client = connect([server.url]);
    await expect(ask(client)).rejects.toMatchObject({ status: 503 });
    expect(client.retried).toEqual([RETRY, RETRY]);
    expect(client.finished).toEqual(
      Array.from({ length: 3 }, () => ({ endpoint: 'nodes', code: 503 })),
    );
  });

  test('is healthy again after each success', async () => {
    await using server = await answering(503, 503, 200, 503, 503, 200);
    await using client = connect([server.url]);
    for (let poll = 0; poll < 2; poll += 1) expect(await ask(client)).toBe(FINE);
    expect(server.requests).toHaveLength(6);
    expect(client.http.failedMs()).toBe(0);
  });

  test('that refuses connections is left alone, and says until when and why', async () => {
    const url = await refusing();
    const { host: name } = new URL(url);
    await using client = connect([url], { breakerOpenMs: 1_001, runningMs: () => 0 });
    expect(client.http.upstreams()).toEqual([
      { name, state: 'closed', lastFailure: undefined, isTried: false },
    ]);
    expect([client.http.failedMs(), client.http.pausedMs()]).toEqual([0, 0]);
    const lastFailure: unknown = await ask(client).catch((error: unknown) => error);
    expect(lastFailure).toMatchObject({ reason: 'network' });
    expect(client.http.upstreams()).toEqual([{ name, state: 'open', lastFailure, isTried: true }]);
    expect(client.http.failedMs()).toBe(1_001);
    await expect(ask(client, { endpoint: 'users', path: '/users/' })).rejects.toMatchObject({
      reason: 'breaker_open',
      retryInMs: 1_001,
      message: 'users: failed too often; the next attempt is in 2 s',
    });
    expect(client.finished).toHaveLength(3);
  });
});

describe('several URLs', () => {
  test.each([
    [4, 4, 0],
    [2, 3, 1],
  ])('%i of them get %i requests and %i retries', async (count, requests, retries) => {
    await using server = await answering(503);
    const urls = Array.from({ length: count }, () => server.url);
    await using client = connect(urls);
    await expect(ask(client)).rejects.toMatchObject({ status: 503 });
    expect([client.finished.length, client.retried.length]).toEqual([requests, retries]);
  });

  test.each([
    [[500, 200], true, 200, 2],
    [[500, 200], false, 500, 1],
    [[500, 500, 200], true, 500, 2],
    [[503, 500, 200], true, 200, 3],
    [[404, 200], true, 404, 1],
    [[502, 200], false, 200, 2],
  ])(
    'that answer %j (asked again after 500: %s) lead to %i',
    async (statuses, retryOn500, status, requests) => {
      const servers = await Promise.all(statuses.map((each) => answering(each)));
      await using client = connect(servers.map(({ url }) => url));
      const outcome: unknown = await ask(client, { retryOn500 }).catch((error: unknown) => error);
      expect(outcome instanceof RequestError ? outcome.status : 200).toBe(status);
      expect(client.finished).toHaveLength(requests);
      for (const server of servers) await server[Symbol.asyncDispose]();
    },
  );

  test('are left alone one by one', async () => {
    await using server = await good();
    await using client = connect([await refusing(), server.url], { breakerOpenMs: 60_000 });
    for (const request of [OF_NODE_3, NODES, SESSIONS])
      expect(await ask(client, request)).toBe(FINE);
    expect(states(client)).toEqual(['open', 'closed']);
    expect(client.finished.map(({ code }) => code)).toEqual(['error', 200, 200, 200]);
    expect(client.http.failedMs()).toBe(0);
  });
});

test('a poll that is over waits for nothing', async () => {
  await using server = await good();
  await using client = connect([server.url]);
  const signal = AbortSignal.abort(new DOMException('x', 'TimeoutError'));
  await expect(ask(client, { signal })).rejects.toMatchObject({ reason: 'timeout' });
  expect(server.requests).toEqual([]);
});
