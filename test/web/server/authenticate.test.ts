import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createLoginCheck } from '../../../src/web/server/authenticate.ts';

const HASH = `$2b$10$${'a'.repeat(53)}`;
const OTHER = `$2b$12$${'b'.repeat(53)}`;

interface Client {
  readonly address: string | undefined;
  readonly left: AbortSignal;
}

interface Bench {
  readonly check: (authorization: string | undefined, client: Client) => Promise<string>;
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
  const check = createLoginCheck(() => users, {
    matches: (password, hash) =>
      new Promise((resolve) => comparisons.push({ password, hash, resolve })),
    async [Symbol.asyncDispose]() {},
  });
  return {
    check: (authorization, { address, left }) => check(authorization, address, left),
    users,
    comparisons,
  };
}

function basic(credentials: string): string {
  return `Basic ${btoa(credentials)}`;
}

/** A client that stays until the signal. */
function from(address?: string, left = new AbortController().signal): Client {
  return { address, left };
}

describe('a login', () => {
  test('that was right once is not compared again, a wrong one is', async () => {
    const { check, comparisons } = prepare();
    const first = check(basic('ops:right'), from('10.0.0.1'));
    comparisons[0]?.resolve(true);
    expect(await first).toBe('accepted');
    expect(await check(basic('ops:right'), from('10.0.0.2'))).toBe('accepted');
    for (let tries = 1; tries < 3; tries += 1) {
      const wrong = check(basic('ops:wrong'), from('10.0.0.1'));
      comparisons[tries]?.resolve(false);
      expect(await wrong).toBe('rejected');
    }
    expect(comparisons).toHaveLength(3);
  });

  test('is compared again when the hash of the user has changed', async () => {
    const { check, users, comparisons } = prepare();
    const first = check(basic('ops:right'), from('10.0.0.1'));
    comparisons[0]?.resolve(true);
    await first;
    users.set('ops', OTHER);
    const second = check(basic('ops:right'), from('10.0.0.1'));
    expect(comparisons[1]).toMatchObject({ password: 'right', hash: OTHER });
    comparisons[1]?.resolve(false);
    expect(await second).toBe('rejected');
    users.delete('ops');
    const third = check(basic('ops:right'), from('10.0.0.1'));
    comparisons[2]?.resolve(true);
    expect(await third).toBe('rejected');
  });

  test('of an unknown user costs the comparison with a hash of the highest cost, and is rejected', async () => {
    const { check, users, comparisons } = prepare();
    users.set('slow', OTHER);
    const result = check(basic('nobody:right'), from('10.0.0.1'));
    expect(comparisons[0]?.hash).toMatch(/^\$2b\$12\$[./A-Za-z\d]{53}$/);
    comparisons[0]?.resolve(true);
    expect(await result).toBe('rejected');
  });

  test('has a password that may contain colons or be empty', async () => {
    const { check, comparisons } = prepare();
    for (const password of ['a:b:', '']) {
      const result = check(basic(`ops:${password}`), from('10.0.0.1'));
      comparisons.at(-1)?.resolve(true);
      expect(await result).toBe('accepted');
    }
    expect(comparisons.map(({ password, hash }) => [password, hash])).toEqual([
      ['a:b:', HASH],
      ['', HASH],
    ]);
  });

  test('is remembered for a hundred passwords, which are then forgotten together', async () => {
    const { check, users, comparisons } = prepare();
    for (let user = 0; user <= 100; user += 1) users.set(`u${user}`, HASH);
    const login = async (user: number): Promise<number> => {
      const before = comparisons.length;
      const result = check(basic(`u${user}:x`), from('10.0.0.1'));
      if (comparisons.length > before) comparisons.at(-1)?.resolve(true);
      expect(await result).toBe('accepted');
      return comparisons.length - before;
    };
    for (let user = 0; user < 100; user += 1) expect(await login(user)).toBe(1);
    expect([await login(0), await login(99)]).toEqual([0, 0]);
    expect(await login(100)).toBe(1);
    expect([await login(100), await login(99)]).toEqual([0, 1]);
  });

  test('of somebody while there are no users costs a comparison of the usual cost', () => {
    const { check, users, comparisons } = prepare();
    users.clear();
    void check(basic('nobody:right'), from('10.0.0.1'));
    expect(comparisons[0]?.hash).toMatch(/^\$2b\$10\$.{53}$/);
  });

  test('without credentials costs nothing', async () => {
    const { check, comparisons } = prepare();
    const right = basic('ops:right');
    const strange = ['Basic', 'Bearer x', 'Basic !', `x${right}`, `${right} x`, `${right}=!`];
    for (const header of [undefined, '', ...strange, basic('ops')]) {
      expect(await check(header, from('10.0.0.1'))).toBe('rejected');
    }
    expect(comparisons).toEqual([]);
  });
});

describe('many logins', () => {
  test('with the same password are compared once', async () => {
    const { check, comparisons } = prepare();
    const results = Array.from({ length: 40 }, () => check(basic('ops:x'), from('10.0.0.1')));
    expect(comparisons).toHaveLength(1);
    comparisons[0]?.resolve(true);
    expect(new Set(await Promise.all(results))).toEqual(new Set(['accepted']));
  });

  test('of one client do not hold up those of another', async () => {
    const { check, comparisons } = prepare();
    for (let guess = 0; guess < 50; guess += 1) {
      void check(basic(`ops:${guess}`), from('10.0.0.1'));
    }
    const other = check(basic('ops:right'), from('10.0.0.2'));
    await resolveNext(comparisons, false);
    expect(comparisons.map(({ password }) => password)).toEqual([expect.any(String), 'right']);
    await resolveNext(comparisons, true);
    expect(await other).toBe('accepted');
  });

  test('of several clients are compared in turns', async () => {
    const { check, comparisons } = prepare();
    const clients = ['a', 'b', 'c', 'd'];
    for (let turn = 0; turn < 6; turn += 1) {
      for (const [at, client] of clients.entries()) {
        void check(basic(`ops:${client}${turn}`), from(`10.0.0.${at}`));
      }
    }
    for (let turn = 1; turn < 24; turn += 1) await resolveNext(comparisons, false);
    const order = comparisons.map(({ password }) => password.charAt(0));
    const first = order.slice(0, 4);
    expect(order).toEqual(Array.from({ length: 6 }, () => first).flat());
    expect(first.toSorted()).toEqual(clients);
  });

  test.each([
    ['a /64', (n: number) => `2001:db8:0:1::${n}`, '2001:db8:0:2::1'],
    ['a /64, written out', (n: number) => `2001:0db8:0:1:${n}:0:0:1`, '2001:db8:0:2::1'],
    ['a /64 of zeros', (n: number) => `2001:db8::${n}`, '2001:db8:0:1::1'],
    ['a /64 with a zone', (n: number) => `fe80::${n}:1%eth0`, '2001:db8::1'],
    ['an IPv4 address in IPv6', () => '::ffff:10.0.0.1', '::ffff:10.0.0.2'],
    ['a unix socket', () => undefined, '10.0.0.1'],
  ])('from %s count as those of one client', async (_what, address, stranger) => {
    const { check, comparisons } = prepare();
    for (let n = 1; n <= 50; n += 1) {
      void check(basic(`ops:${n}`), from(address(n)));
    }
    void check(basic('ops:stranger'), from(stranger));
    await resolveNext(comparisons, false);
    expect(comparisons.map(({ password }) => password)).toEqual([expect.any(String), 'stranger']);
  });

  test('are bounded: then one of the busiest client is dropped, never the newest', async () => {
    const { check, comparisons } = prepare();
    const outcomes: string[] = [];
    const login = (password: string, client: Client) => {
      const result = check(basic(`ops:${password}`), client);
      void result.then((outcome) => outcomes.push(`${password}: ${outcome}`));
      return result;
    };
    const quiet = [login('quiet 1', from('10.0.0.2')), login('quiet 2', from('10.0.0.2'))];
    const guesses = Array.from({ length: 400 }, (_, guess) => login(`${guess}`, from('10.0.0.1')));
    const newest = login('newest', from('10.0.0.1'));
    await setImmediate();
    const dropped = outcomes.filter((outcome) => outcome.endsWith(': busy'));
    // One is being compared, and two hundred wait.
    expect(dropped).toHaveLength(guesses.length + 3 - 201);
    expect(outcomes).toEqual(dropped);
    expect(dropped.filter((outcome) => /^(?:quiet|newest)/.test(outcome))).toEqual([]);
    while (outcomes.length < guesses.length + 3) await resolveNext(comparisons, false);
    expect(new Set(await Promise.all([...quiet, newest]))).toEqual(new Set(['rejected']));
  });

  test('of clients that have left are not compared, unless somebody else waits for them', async () => {
    const { check, comparisons } = prepare();
    const left = new AbortController();
    const leaver = from('10.0.0.1', left.signal);
    const first = check(basic('ops:first'), leaver);
    const second = check(basic('ops:second'), leaver);
    void check(basic('ops:shared'), leaver);
    const shared = check(basic('ops:shared'), from('10.0.0.2'));
    left.abort();
    expect(await second).toBe('busy');
    expect(await check(basic('ops:third'), leaver)).toBe('busy');
    await resolveNext(comparisons, false);
    await resolveNext(comparisons, true);
    expect(await Promise.all([first, shared])).toEqual(['rejected', 'accepted']);
    expect(comparisons.map(({ password }) => password)).toEqual(['first', 'shared']);
  });
});

/** Ends the running comparison, and waits until the next one is requested. */
async function resolveNext(comparisons: Bench['comparisons'], isMatch: boolean): Promise<void> {
  comparisons.at(-1)?.resolve(isMatch);
  await setImmediate();
}
