import { setImmediate } from 'node:timers/promises';
import { hashSync } from 'bcryptjs';
import { expect, test } from 'vitest';
import { createPasswordChecker } from '../../../src/web/server/password-checker.ts';

const SLOW = hashSync('p:ä "ß"', 10);

test('passwords are compared while other work goes on', async () => {
  await using checker = createPasswordChecker();
  const compareAll = async (): Promise<readonly boolean[]> => [
    await checker.matches('p:ä "ß"', SLOW),
    await checker.matches('p:a "ß"', SLOW),
    await checker.matches('p:ä "ß"', SLOW.replace('$2b$', '$2y$')),
  ];
  const over = new AbortController();
  const all = compareAll().finally(() => over.abort());
  let turns = 0;
  for (; !over.signal.aborted; turns += 1) await setImmediate();
  expect(await all).toEqual([true, false, true]);
  expect(turns).toBeGreaterThan(100);
});

test('a comparison whose thread is ended fails, and the next one has a new thread', async () => {
  const checker = createPasswordChecker();
  const cut = checker.matches('x', SLOW).catch(String);
  await setImmediate();
  await checker[Symbol.asyncDispose]();
  expect(await cut).toMatch(/thread .* has ended/);
  expect(await checker.matches('p:ä "ß"', SLOW)).toBe(true);
  await checker[Symbol.asyncDispose]();
});
