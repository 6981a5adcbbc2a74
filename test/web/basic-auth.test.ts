import { describe, expect, test } from 'vitest';
import { createAuthenticator, type Authenticator } from '../../src/web/basic-auth.ts';
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

describe('a login', () => {
  test('that was right once is not compared again, a wrong one is', async () => {
    const { authenticator, questions } = prepare();
    const first = authenticator.judge(basic('ops:right'), 'a');
    questions[0]?.answer(true);
    expect(await first).toBe('good');
    expect(await authenticator.judge(basic('ops:right'), 'b')).toBe('good');
    for (let tries = 1; tries < 3; tries += 1) {
      const wrong = authenticator.judge(basic('ops:wrong'), 'a');
      questions[tries]?.answer(false);
      expect(await wrong).toBe('bad');
    }
    expect(questions).toHaveLength(3);
  });

  test('is compared again when the hash of the user has changed', async () => {
    const { authenticator, users, questions } = prepare();
    const first = authenticator.judge(basic('ops:right'), 'a');
    questions[0]?.answer(true);
    await first;
    users.set('ops', OTHER);
    const second = authenticator.judge(basic('ops:right'), 'a');
    expect(questions[1]).toMatchObject({ password: 'right', hash: OTHER });
    questions[1]?.answer(false);
    expect(await second).toBe('bad');
    users.delete('ops');
    const third = authenticator.judge(basic('ops:right'), 'a');
    questions[2]?.answer(true);
    expect(await third).toBe('bad');
  });

  test('of an unknown user costs the comparison with a hash of the highest cost, and is bad', async () => {
    const { authenticator, users, questions } = prepare();
    users.set('slow', OTHER);
    const judged = authenticator.judge(basic('nobody:right'), 'a');
    expect(questions[0]?.hash).toMatch(/^\$2b\$12\$[./A-Za-z\d]{53}$/);
    questions[0]?.answer(true);
    expect(await judged).toBe('bad');
  });

  test('without credentials costs nothing', async () => {
    const { authenticator, questions } = prepare();
    for (const header of [undefined, '', 'Basic', 'Bearer x', 'Basic !', basic('ops')]) {
      expect(await authenticator.judge(header, 'a')).toBe('bad');
    }
    expect(questions).toEqual([]);
  });
});

describe('many logins', () => {
  test('with the same password are compared once', async () => {
    const { authenticator, questions } = prepare();
    const judged = Array.from({ length: 40 }, () => authenticator.judge(basic('ops:x'), 'a'));
    expect(questions).toHaveLength(1);
    questions[0]?.answer(true);
    expect(new Set(await Promise.all(judged))).toEqual(new Set(['good']));
  });

  test('of one client do not fill the queue for others', async () => {
    const { authenticator, questions } = prepare();
    const judged = Array.from({ length: 10 }, (_, guess) =>
      authenticator.judge(basic(`ops:${guess}`), 'a'),
    );
    expect(questions).toHaveLength(3);
    const other = authenticator.judge(basic('ops:right'), 'b');
    expect(questions).toHaveLength(4);
    for (const { password, answer } of questions) answer(password === 'right');
    expect(await other).toBe('good');
    const verdicts = await Promise.all(judged);
    expect(verdicts.filter((verdict) => verdict === 'busy')).toHaveLength(7);
    const again = authenticator.judge(basic('ops:next'), 'a');
    expect(questions).toHaveLength(5);
    questions[4]?.answer(false);
    expect(await again).toBe('bad');
  });

  test('of many clients are bounded', async () => {
    const { authenticator, questions } = prepare();
    const judged = Array.from({ length: 80 }, (_, client) =>
      authenticator.judge(basic(`ops:${client}`), `client ${client}`),
    );
    expect(questions).toHaveLength(50);
    for (const { answer } of questions) answer(false);
    const verdicts = await Promise.all(judged);
    expect(verdicts.filter((verdict) => verdict === 'busy')).toHaveLength(30);
  });
});
