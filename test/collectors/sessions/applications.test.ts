import { describe, expect, test } from 'vitest';
import { sessions } from '../../../src/collectors/sessions.ts';
import { ApplicationTallies, pairOf } from '../../../src/collectors/sessions/applications.ts';
import { createTally } from '../../../src/collectors/sessions/session.ts';
import { answering, poll } from '../support.ts';
import {
  listingOf,
  NOW_MS,
  OPTIONS,
  pollListing,
  queryOf,
  sessionOf,
  sessionsOf,
  transactionOf,
} from './listing.ts';

describe('a pair of application and user', () => {
  test('has the sum of its sessions on all nodes and the maximum of their ages', async () => {
    const { lines } = await pollListing([
      sessionOf(1, {
        active_queries: [queryOf(5), queryOf(7)],
        active_txn: transactionOf(100, { num_retries: 2, num_auto_retries: 3 }),
      }),
      sessionOf(2, { active_txn: transactionOf(40, { num_retries: 1 }) }),
      sessionOf(2, { username: 'root' }),
    ]);
    const ofPair = lines.filter((line) => line.includes('application="rides",user="movr"'));
    expect(ofPair).toEqual([
      'crdb_application_sessions{application="rides",user="movr",state="active"} 1',
      'crdb_application_sessions{application="rides",user="movr",state="idle_in_transaction"} 1',
      'crdb_application_sessions{application="rides",user="movr",state="idle"} 0',
      'crdb_application_session_alloc_bytes{application="rides",user="movr"} 200',
      'crdb_application_active_queries{application="rides",user="movr"} 2',
      'crdb_application_open_transactions{application="rides",user="movr"} 2',
      'crdb_application_open_transaction_retries{application="rides",user="movr"} 6',
      'crdb_application_oldest_transaction_age_seconds{application="rides",user="movr"} 100',
      'crdb_application_oldest_idle_transaction_age_seconds{application="rides",user="movr"} 40',
      'crdb_application_oldest_query_age_seconds{application="rides",user="movr"} 7',
    ]);
  });

  test('without names is unset, together with a pair of that name', async () => {
    const { of } = await pollListing([
      sessionOf(1, { application_name: undefined, username: '' }),
      sessionOf(1, { application_name: 'unset', username: 'unset' }),
      sessionOf(1, { application_name: 7, username: 7, client_address: 7 }),
    ]);
    expect(of('crdb_application_session_alloc_bytes')).toContain(
      '{application="unset",user="unset"} 300',
    );
    expect(of('crdb_session_client_addresses')).toEqual(['{node_id="1"} 1']);
  });

  test('has clean names; names that become equal are one pair and no duplicate', async () => {
    const long = 'x'.repeat(128);
    const { of, samples } = await pollListing([
      ...sessionsOf('a\u0001', 1),
      ...sessionsOf('a\u0002', 1),
      ...sessionsOf('a\ud800', 1),
      ...sessionsOf(`${long}1`, 1),
      ...sessionsOf(`${long}2`, 1),
    ]);
    expect(of('crdb_application_session_alloc_bytes')).toEqual([
      '{application="other",user="other"} 0',
      '{application="a\uFFFD",user="movr"} 300',
      `{application="${long}",user="movr"} 200`,
      '{application="other",user="movr"} 0',
    ]);
    expect(samples.duplicates.size).toBe(0);
  });

  test('cannot forge another pair by a newline in its name', async () => {
    const { of } = await pollListing([
      ...sessionsOf('a\nb', 1, { username: 'c' }),
      ...sessionsOf('a', 1, { username: 'b\nc' }),
    ]);
    // Two pairs, and the rest of two users and of all others.
    expect(of('crdb_application_session_alloc_bytes')).toHaveLength(5);
  });

  test('named other is counted in the rest of its user, once', async () => {
    const { of, samples } = await pollListing(
      [
        ...sessionsOf('other', 5, { username: 'other' }),
        ...sessionsOf('other', 4),
        ...sessionsOf('rides', 3),
        ...sessionsOf('small', 1),
      ],
      { max_applications: 2 },
    );
    expect(of('crdb_application_session_alloc_bytes')).toEqual([
      '{application="other",user="other"} 500',
      '{application="rides",user="movr"} 300',
      '{application="small",user="movr"} 100',
      '{application="other",user="movr"} 400',
    ]);
    expect(samples.duplicates.size).toBe(0);
  });
});

test('pairs over the limit are summed by user; their ages are the maxima', async () => {
  const { lines } = await pollListing(
    [
      ...sessionsOf('big', 3),
      ...sessionsOf('b', 1, { active_txn: transactionOf(70), active_queries: [queryOf(3)] }),
      ...sessionsOf('c', 2, { active_txn: transactionOf(50, { num_retries: 1 }) }),
    ],
    { max_applications: 1 },
  );
  expect(lines.filter((line) => line.includes('application="other",user="movr"'))).toEqual([
    'crdb_application_sessions{application="other",user="movr",state="active"} 1',
    'crdb_application_sessions{application="other",user="movr",state="idle_in_transaction"} 2',
    'crdb_application_sessions{application="other",user="movr",state="idle"} 0',
    'crdb_application_session_alloc_bytes{application="other",user="movr"} 300',
    'crdb_application_active_queries{application="other",user="movr"} 1',
    'crdb_application_open_transactions{application="other",user="movr"} 3',
    'crdb_application_open_transaction_retries{application="other",user="movr"} 2',
    'crdb_application_oldest_transaction_age_seconds{application="other",user="movr"} 70',
    'crdb_application_oldest_idle_transaction_age_seconds{application="other",user="movr"} 50',
    'crdb_application_oldest_query_age_seconds{application="other",user="movr"} 3',
  ]);
});

describe('a hundred thousand names', () => {
  const session = { ...createTally(), idle: 1 };

  test('are counted in bounded memory: sums and kept pairs are exact', () => {
    const kept = pairOf('kept', 'movr');
    const large = pairOf('large', 'movr');
    const tallies = new ApplicationTallies(new Map([[kept, 0]]), 1000);
    tallies.count(kept, session);
    for (let number = 0; number < 100_000; number += 1) {
      if (number % 100 === 0) tallies.count(large, session);
      tallies.count(pairOf(`psql-${number}`, 'movr'), session);
    }
    tallies.count(kept, session);
    expect(tallies.byPair.size).toBeLessThanOrEqual(1000);
    expect(tallies.byPair.get(kept)?.idle).toBe(2);
    expect(tallies.byPair.get(large)?.idle).toBe(1000);
    const held = [...tallies.byPair.values()].reduce((sum, tally) => sum + tally.idle, 0);
    expect(held + (tallies.rest.get('movr')?.idle ?? 0)).toBe(101_002);
  });

  test('are limited to 10,000 pairs by default', () => {
    const tallies = new ApplicationTallies(new Map());
    for (let number = 0; number < 10_000; number += 1) {
      tallies.count(pairOf(`psql-${number}`, 'movr'), session);
    }
    expect(tallies.byPair.size).toBe(10_000);
    tallies.count(pairOf('one more', 'movr'), session);
    expect(tallies.byPair.size).toBe(5_000);
    expect(tallies.rest.get('movr')?.idle).toBe(5_001);
  });

  test('never lose the one with the oldest transaction or most memory', () => {
    const tallies = new ApplicationTallies(new Map(), 1000);
    const old = pairOf('old', 'movr');
    const large = pairOf('large', 'movr');
    tallies.count(old, { ...session, oldestTransactionSeconds: 1200 });
    tallies.count(large, { ...session, allocBytes: 1e9 });
    for (let number = 0; number < 10_000; number += 1) {
      tallies.count(pairOf(`storm-${number}`, 'movr'), session);
    }
    expect([tallies.byPair.has(old), tallies.byPair.has(large)]).toEqual([true, true]);
  });

  test('of as many users are counted as other beyond the bound', () => {
    const tallies = new ApplicationTallies(new Map(), 100);
    for (let number = 0; number < 1000; number += 1) {
      tallies.count(pairOf('psql', `user-${number}`), session);
    }
    expect(tallies.byUser.size).toBe(101);
    expect(tallies.byUser.get('other')?.idle).toBe(900);
  });

  test('that differ by a number become one by a rewrite', async () => {
    const listed = Array.from({ length: 500 }, (_, number) =>
      sessionOf(1, { application_name: `psql-${number}` }),
    );
    const rewrite = [{ regex: '^(psql)-[0-9]+$', replacement: '$1' }];
    const { of } = await pollListing(listed, { application_rewrite: rewrite });
    expect(of('crdb_application_session_alloc_bytes')).toEqual([
      '{application="other",user="other"} 0',
      '{application="psql",user="movr"} 50000',
      '{application="other",user="movr"} 0',
    ]);
  });
});

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
  test('are those with most open sessions, in descending order, ties by name', async () => {
    expect(await shownOver([{ d: 1, c: 2, b: 3, a: 2 }], 3)).toEqual([['b', 'a', 'c']]);
  });

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
    const { of } = await pollListing(listed.flat(), { max_applications: 25 });
    const names = of('crdb_application_open_transactions').join();
    // The memory of those with two sessions is larger, so both rankings name the same ones.
    expect(names.match(/old-/g)).toHaveLength(10);
    expect(names.match(/many-/g)).toHaveLength(15);
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
    expect((await shownOver([{ a: 5 }, { a: 5, b: 7 }], 1)).at(-1)).toEqual(['b']);
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
