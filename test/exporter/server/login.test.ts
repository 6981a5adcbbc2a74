import { setImmediate } from 'node:timers/promises';
import { hashSync } from 'bcryptjs';
import { describe, expect, test } from 'vitest';
import { createLoginCheck, PasswordThread } from '../../../src/exporter/server/login.ts';

const HASH = `$2b$10$${'a'.repeat(53)}`;
const OTHER = `$2b$12$${'b'.repeat(53)}`;

interface Bench {
  readonly check: (authorization: string | undefined, left?: AbortSignal) => Promise<string>;
  readonly users: Map<string, string>;
  /** The comparisons that were requested; each waits for its result. */
  readonly comparisons: {
    readonly password: string;
    readonly hash: string;
    readonly resolve: (isMatch: boolean) => void;
  }[];
}

/** A login check whose comparisons are made by the test. */
function prepare(): Bench {
  const users = new Map([['ops', HASH]]);
  const comparisons: Bench['comparisons'] = [];
  const check = createLoginCheck(
    () => users,
    (password, hash) => new Promise((resolve) => comparisons.push({ password, hash, resolve })),
  );
  return {
    check: (authorization, left = new AbortController().signal) => check(authorization, left),
    users,
    comparisons,
  };
}

function basic(credentials: string): string {
  return `Basic ${btoa(credentials)}`;
}

describe('a login', () => {
  test('that was right once is not compared again, a wrong one is', async () => {
    const { check, comparisons } = prepare();
    const first = check(basic('ops:right'));
    comparisons[0]?.resolve(true);
    expect(await first).toBe('accepted');
    expect(await check(basic('ops:right'))).toBe('accepted');
    for (let tries = 1; tries < 3; tries += 1) {
      const wrong = check(basic('ops:wrong'));
      comparisons[tries]?.resolve(false);
      expect(await wrong).toBe('rejected');
    }
    expect(comparisons).toHaveLength(3);
  });

  test('that was right once does not wait while another one is compared', async () => {
    const { check, comparisons } = prepare();
    const first = check(basic('ops:right'));
    comparisons[0]?.resolve(true);
    await first;
    const guess = check(basic('ops:guess'));
    expect(await check(basic('ops:right'))).toBe('accepted');
    comparisons[1]?.resolve(false);
    expect(await guess).toBe('rejected');
  });

  test('is compared again when the hash of the user has changed', async () => {
    const { check, users, comparisons } = prepare();
    const first = check(basic('ops:right'));
    comparisons[0]?.resolve(true);
    await first;
    users.set('ops', OTHER);
    const second = check(basic('ops:right'));
    expect(comparisons[1]).toMatchObject({ password: 'right', hash: OTHER });
    comparisons[1]?.resolve(false);
    expect(await second).toBe('rejected');
    users.delete('ops');
    const third = check(basic('ops:right'));
    comparisons[2]?.resolve(true);
    expect(await third).toBe('rejected');
  });

  test('of an unknown user costs the comparison with a hash of the highest cost, and is rejected', async () => {
    const { check, users, comparisons } = prepare();
    users.set('slow', OTHER);
    const result = check(basic('nobody:right'));
    expect(comparisons[0]?.hash).toMatch(/^\$2b\$12\$[./A-Za-z\d]{53}$/);
    comparisons[0]?.resolve(true);
    expect(await result).toBe('rejected');
  });

  test('has a password that may contain colons or be empty', async () => {
    const { check, comparisons } = prepare();
    for (const password of ['a:b:', '']) {
      const result = check(basic(`ops:${password}`));
      comparisons.at(-1)?.resolve(true);
      expect(await result).toBe('accepted');
    }
    expect(comparisons.map(({ password, hash }) => [password, hash])).toEqual([
      ['a:b:', HASH],
      ['', HASH],
    ]);
  });

  test('without credentials costs nothing', async () => {
    const { check, comparisons } = prepare();
    const right = basic('ops:right');
    const strange = ['Basic', 'Bearer x', 'Basic !', `x${right}`, `${right} x`, `${right}=!`];
    for (const header of [undefined, '', ...strange, basic('ops')]) {
      expect(await check(header)).toBe('rejected');
    }
    expect(comparisons).toEqual([]);
  });
});

describe('many logins', () => {
  test('with the same right password are compared once', async () => {
    const { check, comparisons } = prepare();
    const results = Array.from({ length: 40 }, () => check(basic('ops:x')));
    expect(comparisons).toHaveLength(1);
    comparisons[0]?.resolve(true);
    expect(new Set(await Promise.all(results))).toEqual(new Set(['accepted']));
    expect(comparisons).toHaveLength(1);
  });

  test('are bounded: one that waits is dropped, never the newest', async () => {
    const { check, comparisons } = prepare();
    const outcomes: string[] = [];
    const login = (password: string) => {
      const result = check(basic(`ops:${password}`));
      void result.then((outcome) => outcomes.push(`${password}: ${outcome}`));
      return result;
    };
    for (let guess = 0; guess < 300; guess += 1) void login(`${guess}`);
    const newest = login('newest');
    await setImmediate();
    // One is being compared, and a hundred wait.
    expect(outcomes).toHaveLength(200);
    expect(outcomes.filter((outcome) => !outcome.endsWith(': busy'))).toEqual([]);
    while (outcomes.length < 301) await resolveNext(comparisons, false);
    expect(await newest).toBe('rejected');
  });

  test('of clients that have left are not compared', async () => {
    const { check, comparisons } = prepare();
    const left = new AbortController();
    const first = check(basic('ops:first'), left.signal);
    const second = check(basic('ops:second'), left.signal);
    left.abort();
    expect(await second).toBe('busy');
    expect(await check(basic('ops:third'), left.signal)).toBe('busy');
    await resolveNext(comparisons, false);
    expect(await first).toBe('rejected');
    expect(comparisons.map(({ password }) => password)).toEqual(['first']);
  });
});

/** Ends the running comparison, and waits until the next one is requested. */
async function resolveNext(comparisons: Bench['comparisons'], isMatch: boolean): Promise<void> {
  comparisons.at(-1)?.resolve(isMatch);
  await setImmediate();
}

describe('the thread that compares passwords', () => {
  const slow = hashSync('p:ä "ß"', 10);

  test('works while other work goes on', async () => {
    await using thread = new PasswordThread();
    const compareAll = async (): Promise<readonly boolean[]> => [
      await thread.compare('p:ä "ß"', slow),
      await thread.compare('p:a "ß"', slow),
      await thread.compare('p:ä "ß"', slow.replace('$2b$', '$2y$')),
    ];
    const over = new AbortController();
    const all = compareAll().finally(() => over.abort());
    let turns = 0;
    for (; !over.signal.aborted; turns += 1) await setImmediate();
    expect(await all).toEqual([true, false, true]);
    expect(turns).toBeGreaterThan(100);
  });

  test('is replaced when it has ended, and the comparison that it made fails', async () => {
    await using thread = new PasswordThread();
    const cut = thread.compare('x', slow).catch(String);
    await setImmediate();
    await thread[Symbol.asyncDispose]();
    expect(await cut).toMatch(/thread .* has ended/);
    expect(await thread.compare('p:ä "ß"', slow)).toBe(true);
  });
});
