import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createAuthenticator, type Authenticator, type Client } from '../../src/web/basic-auth.ts';
import type { PasswordQuestion } from '../../src/web/password-worker.ts';

const HASH = `$2b$10$${'a'.repeat(53)}`;
const OTHER = `$2b$12$${'b'.repeat(53)}`;

interface Bench {
  readonly authenticator: Authenticator;
  readonly users: Map<string, string>;
  /** The comparisons asked for; each waits until it is answered. */
  readonly questions: (PasswordQuestion & { readonly answer: (isRight: boolean) => void })[];
}

/** An authenticator whose comparisons are made by the test. */
function prepare(): Bench {
  const users = new Map([['ops', HASH]]);
  const questions: Bench['questions'] = [];
  const authenticator = createAuthenticator(() => users, {
    isRight: (question) =>
      new Promise((resolve) => questions.push({ ...question, answer: resolve })),
    async [Symbol.asyncDispose]() {},
  });
  return { authenticator, users, questions };
}

function basic(credentials: string): string {
  return `Basic ${btoa(credentials)}`;
}

/** A client that stays, unless a signal says otherwise. */
function from(address?: string, left = new AbortController().signal): Client {
  return { address, left };
}

describe('a login', () => {
  test('that was right once is not compared again, a wrong one is', async () => {
    const { authenticator, questions } = prepare();
    const first = authenticator.judge(basic('ops:right'), from('10.0.0.1'));
    questions[0]?.answer(true);
    expect(await first).toBe('good');
    expect(await authenticator.judge(basic('ops:right'), from('10.0.0.2'))).toBe('good');
    for (let tries = 1; tries < 3; tries += 1) {
      const wrong = authenticator.judge(basic('ops:wrong'), from('10.0.0.1'));
      questions[tries]?.answer(false);
      expect(await wrong).toBe('bad');
    }
    expect(questions).toHaveLength(3);
  });

  test('is compared again when the hash of the user has changed', async () => {
    const { authenticator, users, questions } = prepare();
    const first = authenticator.judge(basic('ops:right'), from('10.0.0.1'));
    questions[0]?.answer(true);
    await first;
    users.set('ops', OTHER);
    const second = authenticator.judge(basic('ops:right'), from('10.0.0.1'));
    expect(questions[1]).toMatchObject({ password: 'right', hash: OTHER });
    questions[1]?.answer(false);
    expect(await second).toBe('bad');
    users.delete('ops');
    const third = authenticator.judge(basic('ops:right'), from('10.0.0.1'));
    questions[2]?.answer(true);
    expect(await third).toBe('bad');
  });

  test('of an unknown user costs the comparison with a hash of the highest cost, and is bad', async () => {
    const { authenticator, users, questions } = prepare();
    users.set('slow', OTHER);
    const judged = authenticator.judge(basic('nobody:right'), from('10.0.0.1'));
    expect(questions[0]?.hash).toMatch(/^\$2b\$12\$[./A-Za-z\d]{53}$/);
    questions[0]?.answer(true);
    expect(await judged).toBe('bad');
  });

  test('without credentials costs nothing', async () => {
    const { authenticator, questions } = prepare();
    for (const header of [undefined, '', 'Basic', 'Bearer x', 'Basic !', basic('ops')]) {
      expect(await authenticator.judge(header, from('10.0.0.1'))).toBe('bad');
    }
    expect(questions).toEqual([]);
  });
});

describe('many logins', () => {
  test('with the same password are compared once', async () => {
    const { authenticator, questions } = prepare();
    const judged = Array.from({ length: 40 }, () =>
      authenticator.judge(basic('ops:x'), from('10.0.0.1')),
    );
    expect(questions).toHaveLength(1);
    questions[0]?.answer(true);
    expect(new Set(await Promise.all(judged))).toEqual(new Set(['good']));
  });

  test('of one client do not hold up those of another', async () => {
    const { authenticator, questions } = prepare();
    for (let guess = 0; guess < 50; guess += 1) {
      void authenticator.judge(basic(`ops:${guess}`), from('10.0.0.1'));
    }
    const other = authenticator.judge(basic('ops:right'), from('10.0.0.2'));
    await answerNext(questions, false);
    expect(questions.map(({ password }) => password)).toEqual([expect.any(String), 'right']);
    await answerNext(questions, true);
    expect(await other).toBe('good');
  });

  test.each([
    ['a /64', (n: number) => `2001:db8:0:1::${n}`, '2001:db8:0:2::1'],
    ['a /64, written out', (n: number) => `2001:0db8:0:1:${n}:0:0:1`, '2001:db8:0:2::1'],
    ['a /64 of zeros', (n: number) => `2001:db8::${n}`, '2001:db8:0:1::1'],
    ['a /64 with a zone', (n: number) => `fe80::${n}:1%eth0`, '2001:db8::1'],
    ['an IPv4 address in IPv6', () => '::ffff:10.0.0.1', '::ffff:10.0.0.2'],
    ['a unix socket', () => undefined, '10.0.0.1'],
  ])('from %s count as those of one client', async (_what, address, stranger) => {
    const { authenticator, questions } = prepare();
    for (let n = 1; n <= 50; n += 1) {
      void authenticator.judge(basic(`ops:${n}`), from(address(n)));
    }
    void authenticator.judge(basic('ops:stranger'), from(stranger));
    await answerNext(questions, false);
    expect(questions.map(({ password }) => password)).toEqual([expect.any(String), 'stranger']);
  });

  test('are bounded: then one of the busiest client is dropped, never the newest', async () => {
    const { authenticator, questions } = prepare();
    const verdicts: string[] = [];
    const judge = (password: string, client: Client) => {
      const judged = authenticator.judge(basic(`ops:${password}`), client);
      void judged.then((verdict) => verdicts.push(`${password}: ${verdict}`));
      return judged;
    };
    const quiet = [judge('quiet 1', from('10.0.0.2')), judge('quiet 2', from('10.0.0.2'))];
    const guesses = Array.from({ length: 400 }, (_, guess) => judge(`${guess}`, from('10.0.0.1')));
    const newest = judge('newest', from('10.0.0.1'));
    await setImmediate();
    const dropped = verdicts.filter((verdict) => verdict.endsWith(': busy'));
    expect(dropped.length).toBeGreaterThan(150);
    expect(verdicts).toEqual(dropped);
    expect(dropped.filter((verdict) => /^(?:quiet|newest)/.test(verdict))).toEqual([]);
    while (verdicts.length < guesses.length + 3) await answerNext(questions, false);
    expect(new Set(await Promise.all([...quiet, newest]))).toEqual(new Set(['bad']));
  });

  test('of clients that have left are not compared, unless somebody else waits for them', async () => {
    const { authenticator, questions } = prepare();
    const left = new AbortController();
    const leaver = from('10.0.0.1', left.signal);
    const first = authenticator.judge(basic('ops:first'), leaver);
    const second = authenticator.judge(basic('ops:second'), leaver);
    void authenticator.judge(basic('ops:shared'), leaver);
    const shared = authenticator.judge(basic('ops:shared'), from('10.0.0.2'));
    left.abort();
    expect(await second).toBe('busy');
    expect(await authenticator.judge(basic('ops:third'), leaver)).toBe('busy');
    await answerNext(questions, false);
    await answerNext(questions, true);
    expect(await Promise.all([first, shared])).toEqual(['bad', 'good']);
    expect(questions.map(({ password }) => password)).toEqual(['first', 'shared']);
  });
});

/** Answers the comparison that is under way, and waits until the next one is asked for. */
async function answerNext(questions: Bench['questions'], isRight: boolean): Promise<void> {
  questions.at(-1)?.answer(isRight);
  await setImmediate();
}
