import { describe, expect, test } from 'vitest';
import { ask, connect } from '../support/http-client.ts';
import { good, serve } from '../support/http-server.ts';
import {
  breakable,
  IMPATIENT,
  NODES,
  OF_NODE_3,
  RANGES,
  SESSIONS,
  states,
  USERS,
} from './breakable.ts';

describe('silence', () => {
  test('of two endpoints without an answer in between opens the URL', async () => {
    await using server = await breakable();
    server.faults.set('', 'silence');
    await using client = connect([server.url], { ...IMPATIENT, breakerOpenMs: 60_000 });
    for (const request of [NODES, NODES, OF_NODE_3]) {
      await expect(ask(client, request)).rejects.toMatchObject({ reason: 'timeout' });
    }
    expect(states(client)).toEqual(['closed']);
    await expect(ask(client, SESSIONS)).rejects.toMatchObject({ reason: 'timeout' });
    expect(states(client)).toEqual(['open']);
    expect(client.http.blockedMs()).toBeGreaterThan(0);
  });

  test('of the ranges of the URL’s own node counts against the URL', async () => {
    await using server = await breakable();
    server.faults.set('', 'silence');
    await using client = connect([server.url], { ...IMPATIENT, breakerOpenMs: 60_000 });
    await expect(ask(client, RANGES)).rejects.toMatchObject({ reason: 'timeout' });
    await expect(ask(client, SESSIONS)).rejects.toMatchObject({ reason: 'timeout' });
    expect(states(client)).toEqual(['open']);
  });

  test.each([
    ['an answer came between the two', [SESSIONS, NODES, USERS]],
    ['one of them was silent while the URL answered', [SESSIONS, NODES, SESSIONS, USERS]],
  ])('of two endpoints does not open the URL when %s', async (_when, requests) => {
    await using server = await breakable();
    server.faults.set('/sessions/', 'silence');
    server.faults.set('/users/', 'silence');
    await using client = connect([server.url], IMPATIENT);
    for (const request of requests) await ask(client, request).catch(() => undefined);
    expect(states(client)).toEqual(['closed']);
    expect(await ask(client, NODES)).toBe('{"fine":true}');
  });

  test('gets a short deadline the next time, and the full one at every third', async () => {
    await using server = await breakable();
    server.faults.set('', 'silence');
    await using client = connect([server.url], {
      deadlines: { headersMs: 1_000, headersAfterSilenceMs: 100 },
      breakerOpenMs: 0,
    });
    const said: string[] = [];
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      await ask(client, NODES).catch((error: Error) => said.push(error.message.slice(-5)));
    }
    expect(said).toEqual(['n 1 s', '0.1 s', 'n 1 s', '0.1 s', '0.1 s', 'n 1 s']);
  });

  test('gets twice the time that the last answer took', async () => {
    let isSilent = false;
    await using server = await serve((_request, response) => {
      if (!isSilent) setTimeout(() => response.end('{}'), 100);
    });
    await using client = connect([server.url], {
      deadlines: { headersMs: 2_000, headersAfterSilenceMs: 20 },
    });
    await ask(client, NODES);
    isSilent = true;
    await expect(ask(client, NODES)).rejects.toThrow('within 2 s');
    const waited = await ask(client, NODES).catch((error: Error) => error.message);
    const seconds = Number(/within ([\d.]+) s/.exec(waited)?.[1]);
    expect(seconds).toBeGreaterThanOrEqual(0.19);
  });

  test('of a half-open URL fails over to the next one after the short deadline', async () => {
    await using first = await breakable();
    await using second = await good();
    first.faults.set('', 'silence');
    let now = 0;
    await using client = connect([first.url, second.url], {
      deadlines: { headersMs: 1_000, headersAfterSilenceMs: 400 },
      breakerOpenMs: 1_000,
      monotonicMs: () => now,
    });
    for (const request of [NODES, SESSIONS]) await ask(client, request);
    expect(states(client)).toEqual(['open', 'closed']);
    now = 1_000;
    for (const request of [NODES, SESSIONS]) {
      expect(await ask(client, request)).toBe('{"fine":true}');
    }
    expect(first.requests).toHaveLength(4);
    first.faults.clear();
    now = 2_000;
    await ask(client, NODES);
    expect(first.requests).toHaveLength(5);
    expect(states(client)).toEqual(['closed', 'closed']);
  });

  test.each([
    ['that is half open leaves', [NODES, SESSIONS], 500, 600],
    ['leaves', [], 300, 1_000],
  ])(
    'of a URL %s time for the next one before the poll is over',
    async (_what, before, headersAfterSilenceMs, pollMs) => {
      await using first = await breakable();
      await using second = await good();
      first.faults.set('', 'silence');
      let now = 0;
      await using client = connect([first.url, second.url], {
        deadlines: { headersMs: 1_000, headersAfterSilenceMs },
        breakerOpenMs: 1_000,
        monotonicMs: () => now,
      });
      for (const request of before) await ask(client, request);
      now = 1_000;
      const endsAtMs = now + pollMs;
      const signal = AbortSignal.timeout(pollMs);
      expect(await ask(client, { endsAtMs, signal })).toBe('{"fine":true}');
      expect(first.requests).toHaveLength(before.length + 1);
    },
  );

  test('of all URLs but one leaves time for that one', async () => {
    const silent = [await breakable(), await breakable()];
    await using third = await good();
    for (const { faults } of silent) faults.set('', 'silence');
    let skippedMs = 0;
    const now = (): number => performance.now() + skippedMs;
    await using client = connect(
      [...silent, third].map(({ url }) => url),
      { ...IMPATIENT, breakerOpenMs: 60_000, monotonicMs: now },
    );
    for (const request of [NODES, SESSIONS]) await ask(client, request);
    expect(states(client)).toEqual(['open', 'open', 'closed']);
    skippedMs += 60_000;
    const pollMs = 900;
    const signal = AbortSignal.timeout(pollMs);
    expect(await ask(client, { endsAtMs: now() + pollMs, signal })).toBe('{"fine":true}');
    for (const server of silent) await server[Symbol.asyncDispose]();
  });

  test('of one endpoint’s trial does not keep another endpoint from trying', async () => {
    await using server = await breakable();
    server.faults.set('', 'silence');
    let now = 0;
    await using client = connect([server.url], {
      ...IMPATIENT,
      breakerOpenMs: 1_000,
      monotonicMs: () => now,
    });
    for (const request of [NODES, SESSIONS]) await ask(client, request).catch(() => undefined);
    server.faults.clear();
    server.faults.set('/sessions/', 'silence');
    now = 1_000;
    const [sessions, nodes] = await Promise.allSettled([ask(client, SESSIONS), ask(client, NODES)]);
    expect([sessions.status, nodes.status]).toEqual(['rejected', 'fulfilled']);
    expect(states(client)).toEqual(['closed']);
  });
});
