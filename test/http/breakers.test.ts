import { describe, expect, test } from 'vitest';
import { object } from '../../src/json/shape.ts';
import { createTestClient, testReading } from '../support/cluster.ts';
import { ask, connect } from '../support/http-client.ts';
import { good, refusing, serve } from '../support/http-server.ts';
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

describe('an endpoint that fails', () => {
  test.each(['silence', 'reset', 'stall', 503, 502, 504] as const)(
    'by %s is left alone after three failures, and nothing else is',
    async (fault) => {
      await using server = await breakable();
      server.faults.set('/sessions/', fault);
      let now = 0;
      await using client = connect([server.url], {
        ...IMPATIENT,
        breakerOpenMs: 1_000,
        monotonicMs: () => now,
      });
      for (let poll = 0; poll < 3; poll += 1) {
        await expect(ask(client, SESSIONS)).rejects.toMatchObject({ name: 'RequestError' });
      }
      const open = { reason: 'breaker_open', retryInMs: 1_000 };
      await expect(ask(client, SESSIONS)).rejects.toMatchObject(open);
      expect(server.requests.filter((path) => path.includes('/sessions/'))).toHaveLength(3);
      expect(await ask(client, NODES)).toBe('{"fine":true}');
      expect(await ask(client, RANGES)).toBe('{"fine":true}');
      expect(states(client)).toEqual(['closed']);
      expect(client.http.blockedMs()).toBe(0);
      // One trial, that says what is really wrong, and no repeat.
      now = 1_000;
      await expect(ask(client, SESSIONS)).rejects.not.toMatchObject({ reason: 'breaker_open' });
      await expect(ask(client, SESSIONS)).rejects.toMatchObject(open);
      expect(server.requests.filter((path) => path.includes('/sessions/'))).toHaveLength(4);
      now = 2_000;
      server.faults.clear();
      expect(await ask(client, SESSIONS)).toBe('{"fine":true}');
    },
  );

  test('at one URL is asked for at another', async () => {
    await using first = await breakable();
    await using second = await good();
    first.faults.set('/sessions/', 503);
    await using client = connect([first.url, second.url]);
    for (let poll = 0; poll < 3; poll += 1) {
      expect(await ask(client, SESSIONS)).toBe('{"fine":true}');
    }
    expect(first.requests).toHaveLength(1);
    await ask(client, NODES);
    expect(first.requests).toHaveLength(2);
    expect(states(client)).toEqual(['closed', 'closed']);
  });

  test('is rather asked for where its breaker is closed than on trial', async () => {
    await using first = await breakable();
    await using second = await breakable();
    const both = [first, second];
    const breakBoth = (): void => both.forEach(({ faults }) => faults.set('/sessions/', 'stall'));
    let now = 0;
    await using client = connect([first.url, second.url], {
      ...IMPATIENT,
      breakerOpenMs: 1_000,
      monotonicMs: () => now,
    });
    const fail = async (): Promise<void> => void (await ask(client, SESSIONS).catch(() => 0));
    breakBoth();
    for (let poll = 0; poll < 5; poll += 1) await fail();
    expect([first.requests.length, second.requests.length]).toEqual([3, 2]);
    second.faults.clear();
    await ask(client, SESSIONS);
    breakBoth();
    await fail();
    both.forEach(({ faults }) => faults.clear());
    now = 1_000;
    await ask(client, SESSIONS);
    expect([first.requests.length, second.requests.length]).toEqual([3, 5]);
  });

  test('is open for as long as counted from the start of its trial', async () => {
    await using server = await breakable();
    server.faults.set('/sessions/', 'silence');
    let now = 0;
    await using client = connect([server.url], {
      ...IMPATIENT,
      breakerOpenMs: 1_000,
      monotonicMs: () => now,
    });
    for (let poll = 0; poll < 3; poll += 1) await ask(client, SESSIONS).catch(() => undefined);
    now = 1_000;
    const trial = ask(client, SESSIONS);
    await expect.poll(() => server.requests.length).toBe(4);
    now = 1_400;
    await expect(trial).rejects.toMatchObject({ reason: 'timeout' });
    await expect(ask(client, SESSIONS)).rejects.toMatchObject({ retryInMs: 600 });
  });
});

describe('a table that takes too long', () => {
  test('is no reason not to ask for the others', async () => {
    await using server = await breakable();
    server.faults.set('/slow', 'silence');
    await using client = createTestClient({
      urls: [server.url],
      ...IMPATIENT,
      breakerOpenMs: 60_000,
    });
    for (let poll = 0; poll < 4; poll += 1) {
      const question = { database: 'db', table: `slow${poll}`, shape: object({}) };
      const read = client.api.table(testReading(), question);
      await expect(read).rejects.toMatchObject({ reason: 'timeout' });
    }
  });
});

describe('silence', () => {
  test('of two endpoints without an answer between opens the URL', async () => {
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

  test('of the ranges of the URL itself speaks of the URL', async () => {
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

  test('of an endpoint on trial that was silent before keeps the URL on trial', async () => {
    await using server = await breakable();
    server.faults.set('/sessions/', 'silence');
    let now = 0;
    await using client = connect([server.url], {
      ...IMPATIENT,
      breakerOpenMs: 1_000,
      monotonicMs: () => now,
    });
    for (now = 1; now < 3; now += 1) {
      await ask(client, SESSIONS).catch(() => undefined);
      now += 1;
      await ask(client, NODES);
    }
    server.faults.set('', 'silence');
    for (const request of [NODES, USERS]) await ask(client, request).catch(() => undefined);
    expect(states(client)).toEqual(['open']);
    now = 2_000;
    await ask(client, SESSIONS).catch(() => undefined);
    expect(states(client)).toEqual(['half_open']);
  });

  test('is waited for with a short deadline the next time, and at the tenth with the whole one', async () => {
    await using server = await breakable();
    server.faults.set('', 'silence');
    await using client = connect([server.url], {
      deadlines: { headersMs: 1_000, headersAfterSilenceMs: 100 },
      breakerOpenMs: 0,
    });
    const said: string[] = [];
    for (let attempt = 1; attempt <= 11; attempt += 1) {
      await ask(client, NODES).catch((error: Error) => said.push(error.message.slice(-5)));
    }
    expect(said).toEqual(['n 1 s', ...Array(8).fill('0.1 s'), 'n 1 s', '0.1 s']);
  });

  test('is waited for twice as long as the last answer took', async () => {
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

  test('of a URL on trial is answered by the next one, after the short deadline', async () => {
    await using first = await breakable();
    await using second = await good();
    first.faults.set('', 'silence');
    let now = 0;
    await using client = connect([first.url, second.url], {
      deadlines: { headersMs: 1_000, headersAfterSilenceMs: 100 },
      breakerOpenMs: 1_000,
      monotonicMs: () => now,
    });
    await expect(ask(client, NODES)).rejects.toMatchObject({ reason: 'timeout' });
    await expect(ask(client, SESSIONS)).rejects.toMatchObject({ reason: 'timeout' });
    expect(states(client)).toEqual(['open', 'closed']);
    now = 1_000;
    for (const request of [NODES, SESSIONS]) {
      expect(await ask(client, request)).toBe('{"fine":true}');
    }
    expect(first.requests).toHaveLength(3);
    first.faults.clear();
    now = 2_000;
    await ask(client, NODES);
    expect(first.requests).toHaveLength(4);
    expect(states(client)).toEqual(['closed', 'closed']);
  });

  test('of one endpoint on trial does not keep another from trying', async () => {
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

test('a URL that refuses is left alone, whatever was asked of it', async () => {
  await using client = connect([await refusing()], { breakerOpenMs: 60_000 });
  for (const request of [OF_NODE_3, SESSIONS]) await ask(client, request).catch(() => undefined);
  expect(states(client)).toEqual(['open']);
  expect(client.finished).toHaveLength(3);
});
