import { describe, expect, test } from 'vitest';
import { object } from '../../src/json/shape.ts';
import { createTestClient, testStats } from '../support/cluster.ts';
import { ask, connect } from '../support/http-client.ts';
import { good, refusing } from '../support/http-server.ts';
import { breakable, IMPATIENT, NODES, OF_NODE_3, RANGES, SESSIONS, states } from './breakable.ts';

describe('an endpoint that fails', () => {
  test('says when it is tried again', async () => {
    await using server = await breakable();
    server.faults.set('/sessions/', 503);
    const options = { ...IMPATIENT, breakerOpenMs: 1_200_000, monotonicMs: () => 0 };
    await using client = connect([server.url], options);
    for (let poll = 0; poll < 3; poll += 1) {
      await expect(ask(client, SESSIONS)).rejects.toMatchObject({ name: 'RequestError' });
    }
    await expect(ask(client, SESSIONS)).rejects.toThrow('the next attempt is in 1200 s');
  });

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

  test('at one URL is read at another', async () => {
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

  test('is read where its breaker is closed rather than half open', async () => {
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

  test('is open for a time counted from the start of its trial', async () => {
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
  test('does not keep the others from being read', async () => {
    await using server = await breakable();
    server.faults.set('/slow', 'silence');
    await using client = createTestClient({
      urls: [server.url],
      ...IMPATIENT,
      breakerOpenMs: 60_000,
    });
    for (let poll = 0; poll < 4; poll += 1) {
      const question = { database: 'db', table: `slow${poll}`, shape: object({}) };
      const read = client.api.table(testStats(), question);
      await expect(read).rejects.toMatchObject({ reason: 'timeout' });
    }
  });
});

test('a URL that refuses is left alone, whatever was requested', async () => {
  await using client = connect([await refusing()], { breakerOpenMs: 60_000 });
  for (const request of [OF_NODE_3, SESSIONS]) await ask(client, request).catch(() => undefined);
  expect(states(client)).toEqual(['open']);
  expect(client.finished).toHaveLength(3);
});
