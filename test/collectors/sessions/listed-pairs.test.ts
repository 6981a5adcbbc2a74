import { describe, expect, test } from 'vitest';
import { sessions } from '../../../src/collectors/sessions/collector.ts';
import { answering, poll } from '../support.ts';
import { listingOf, NOW_MS, OPTIONS, pollListing, sessionsOf, transactionOf } from './listing.ts';

/** Polls with these numbers of sessions by application; returns the applications listed after each poll. */
async function shownOver(
  polls: readonly Readonly<Record<string, number>>[],
  max: number,
): Promise<readonly (readonly string[])[]> {
  const state = sessions.createState();
  const options = { ...OPTIONS, max_applications: max };
  const shown: (readonly string[])[] = [];
  for (const counts of polls) {
    const listed = Object.entries(counts).flatMap(([name, count]) => sessionsOf(name, count));
    const { api } = answering(() => listingOf(listed));
    const { of } = await poll(sessions, api, { options, state, nowMs: NOW_MS });
    const lines = of('crdb_application_session_alloc_bytes');
    const names = lines.map((line) => /application="([^"]*)"/.exec(line)?.[1] ?? '');
    shown.push(names.filter((name) => name !== 'other'));
  }
  return shown;
}

function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}

describe('the listed pairs', () => {
  test('are those with the oldest transactions and most memory, too', async () => {
    const storm = Array.from({ length: 500 }, (_, number) => sessionsOf(`storm-${number}`, 3));
    const { of } = await pollListing(
      [
        ...storm.flat(),
        ...sessionsOf('idle', 1, { active_txn: transactionOf(1200) }),
        ...sessionsOf('large', 1, { alloc_bytes: 1e9 }),
      ],
      { max_applications: 3 },
    );
    expect(of('crdb_application_oldest_idle_transaction_age_seconds')).toEqual([
      '{application="other",user="other"} 0',
      '{application="storm-0",user="movr"} 0',
      '{application="idle",user="movr"} 1200',
      '{application="large",user="movr"} 0',
      '{application="other",user="movr"} 0',
    ]);
  });

  test('are at most ten for the age of their transactions and ten for their memory', async () => {
    const listed = Array.from({ length: 40 }, (_, number) => [
      ...sessionsOf(`many-${number}`, 2),
      ...sessionsOf(`old-${number}`, 1, { active_txn: transactionOf(100 + number) }),
    ]);
    const { of } = await pollListing(listed.flat(), { max_applications: 30 });
    const names = of('crdb_application_open_transactions').join();
    // The memory of those with two sessions is larger: both rankings name these.
    expect(names.match(/old-/g)).toHaveLength(10);
    expect(names.match(/many-/g)).toHaveLength(20);
    expect(names).toContain('old-39');
  });

  test('stay for ten polls while there is room', async () => {
    const shown = await shownOver([{ a: 1, b: 1 }, ...times(11, { b: 1 })], 5);
    expect(shown.slice(0, 10)).toEqual([['a', 'b'], ...times(9, ['b', 'a'])]);
    expect(shown[10]).toEqual(['b']);
  });

  test('leave earlier when the list is full, the one without sessions for longest first', async () => {
    const shown = await shownOver([{ a: 1, b: 1 }, { b: 1 }, { c: 1 }, { c: 1, d: 1 }], 2);
    expect(shown).toEqual([
      ['a', 'b'],
      ['b', 'a'],
      ['c', 'b'],
      ['c', 'd'],
    ]);
  });

  test('give way only to a pair with 20 % more sessions', async () => {
    expect(await shownOver([{ a: 5 }, { a: 5, b: 6 }], 1)).toEqual(times(2, ['a']));
    expect(await shownOver([{ b: 5 }, { a: 6, b: 5 }], 1)).toEqual(times(2, ['b']));
    expect((await shownOver([{ a: 5 }, { a: 5, b: 7 }], 1)).at(-1)).toEqual(['b']);
  });

  test('give way to a pair that has had more sessions for three polls', async () => {
    const polls = [{ a: 50 }, ...times(3, { a: 50, b: 55 })];
    expect(await shownOver(polls, 1)).toEqual([...times(3, ['a']), ['b']]);
  });

  test('do not change while two pairs take turns at the end of the list', async () => {
    const polls = Array.from({ length: 20 }, (_, at) => ({
      a: 90,
      b: 80,
      c: 50 + (at % 2),
      d: 51 - (at % 2),
    }));
    const shown = await shownOver(polls, 3);
    expect(new Set(shown.map((names) => names.toSorted().join())).size).toBe(1);
  });

  test('are 0 while they have no session', async () => {
    const state = sessions.createState();
    for (const listed of [sessionsOf('a', 1), []]) {
      const { api } = answering(() => listingOf(listed));
      const { of } = await poll(sessions, api, { options: OPTIONS, state, nowMs: NOW_MS });
      expect(of('crdb_application_sessions').slice(3, 6)).toEqual([
        '{application="a",user="movr",state="active"} 0',
        '{application="a",user="movr",state="idle_in_transaction"} 0',
        `{application="a",user="movr",state="idle"} ${listed.length}`,
      ]);
    }
  });

  test('never exceed the maximum, which may be 0', async () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`app${i}`, 1 + (i % 4)]));
    const shown = await shownOver([many, { z: 50 }, many], 7);
    expect(shown.map((names) => names.length)).toEqual([7, 7, 7]);
    expect(await shownOver([many], 0)).toEqual([[]]);
  });
});
