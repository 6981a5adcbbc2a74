import { describe, expect, test } from 'vitest';
import { sessions } from '../../../src/collectors/sessions.ts';
import { answering, poll } from '../support.ts';
import { listingOf, NOW_MS, OPTIONS, sessionsOf } from './listing.ts';

/** Polls with so many sessions of each application, one poll after the other; gives who was shown in each. */
async function shownOver(
  polls: readonly Readonly<Record<string, number>>[],
  max: number,
): Promise<readonly (readonly string[])[]> {
  const memory = sessions.createMemory();
  const options = { ...OPTIONS, max_applications: max };
  const shown: (readonly string[])[] = [];
  for (const counts of polls) {
    const listed = Object.entries(counts).flatMap(([name, count]) => sessionsOf(name, count));
    const { api } = answering(() => listingOf(listed));
    const { of } = await poll(sessions, api, { options, memory, nowMs: NOW_MS });
    const lines = of('crdb_application_session_alloc_bytes');
    shown.push(lines.slice(1).map((line) => /application="([^"]*)"/.exec(line)?.[1] ?? ''));
  }
  return shown;
}

function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}

describe('the pairs that are shown', () => {
  test('are those with most open sessions, most first, ties by name', async () => {
    expect(await shownOver([{ d: 1, c: 2, b: 3, a: 2 }], 3)).toEqual([['b', 'a', 'c']]);
  });

  test('stay for ten polls, whatever comes', async () => {
    const shown = await shownOver([{ a: 1 }, ...times(11, { b: 100 })], 1);
    expect(shown).toEqual([...times(10, ['a']), ['b'], ['b']]);
  });

  test('leave after that when they have no session, also when nobody waits', async () => {
    const shown = await shownOver([{ a: 1, b: 1 }, ...times(11, { b: 1 })], 5);
    expect(shown.slice(0, 10)).toEqual([['a', 'b'], ...times(9, ['b', 'a'])]);
    expect(shown[10]).toEqual(['b']);
  });

  test('give way only to one that has a fifth more sessions', async () => {
    const settled = times(10, { a: 5 });
    expect(await shownOver([...settled, { a: 5, b: 6 }], 1)).toEqual(times(11, ['a']));
    expect((await shownOver([...settled, { a: 5, b: 7 }], 1)).at(-1)).toEqual(['b']);
  });

  test('show zeros while they have no session', async () => {
    const memory = sessions.createMemory();
    for (const listed of [sessionsOf('a', 1), []]) {
      const { api } = answering(() => listingOf(listed));
      const { of } = await poll(sessions, api, { options: OPTIONS, memory, nowMs: NOW_MS });
      expect(of('crdb_application_sessions').slice(3)).toEqual([
        '{application="a",user="movr",state="active"} 0',
        '{application="a",user="movr",state="idle_in_transaction"} 0',
        `{application="a",user="movr",state="idle"} ${listed.length}`,
      ]);
    }
  });

  test('are never more than allowed, none when none is allowed', async () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`app${i}`, 1 + (i % 4)]));
    const shown = await shownOver([many, { z: 50 }, many], 7);
    expect(shown.map((names) => names.length)).toEqual([7, 7, 7]);
    expect(await shownOver([many], 0)).toEqual([[]]);
  });
});
