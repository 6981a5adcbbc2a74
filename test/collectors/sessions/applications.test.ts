import { describe, expect, test } from 'vitest';
import { ApplicationTallies, pairOf } from '../../../src/collectors/sessions/applications.ts';
import type { OpenSession } from '../../../src/collectors/sessions/session.ts';
import { pollListing, queryOf, sessionOf, sessionsOf, transactionOf } from './listing.ts';

describe('a pair of application and user', () => {
  test('has the sum of its sessions on all nodes, and their oldest ages', async () => {
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

  test('without names is unset, together with one that is called so', async () => {
    const { of } = await pollListing([
      sessionOf(1, { application_name: undefined, username: '' }),
      sessionOf(1, { application_name: 'unset', username: 'unset' }),
    ]);
    expect(of('crdb_application_session_alloc_bytes')).toContain(
      '{application="unset",user="unset"} 200',
    );
  });

  test('has clean names; those that become equal are one pair and no duplicate', async () => {
    const long = 'x'.repeat(128);
    const { of, sheet } = await pollListing([
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
    ]);
    expect(sheet.duplicates.size).toBe(0);
  });

  test('cannot forge another pair by a newline in its name', async () => {
    const { of } = await pollListing([
      ...sessionsOf('a\nb', 1, { username: 'c' }),
      ...sessionsOf('a', 1, { username: 'b\nc' }),
    ]);
    expect(of('crdb_application_session_alloc_bytes')).toHaveLength(3);
  });

  test('that is really called other, of a user other, is counted in the rest, once', async () => {
    const { of, sheet } = await pollListing(
      [
        ...sessionsOf('other', 5, { username: 'other' }),
        ...sessionsOf('other', 4),
        ...sessionsOf('rides', 3),
        ...sessionsOf('small', 1),
      ],
      { max_applications: 2 },
    );
    expect(of('crdb_application_session_alloc_bytes')).toEqual([
      '{application="other",user="other"} 600',
      '{application="other",user="movr"} 400',
      '{application="rides",user="movr"} 300',
    ]);
    expect(sheet.duplicates.size).toBe(0);
  });
});

test('what is over the limit is summed, its ages are the largest', async () => {
  const { lines } = await pollListing(
    [
      ...sessionsOf('big', 3),
      ...sessionsOf('b', 1, { active_txn: transactionOf(70), active_queries: [queryOf(3)] }),
      ...sessionsOf('c', 2, { active_txn: transactionOf(50, { num_retries: 1 }) }),
    ],
    { max_applications: 1 },
  );
  expect(lines.filter((line) => line.includes('application="other"'))).toEqual([
    'crdb_application_sessions{application="other",user="other",state="active"} 1',
    'crdb_application_sessions{application="other",user="other",state="idle_in_transaction"} 2',
    'crdb_application_sessions{application="other",user="other",state="idle"} 0',
    'crdb_application_session_alloc_bytes{application="other",user="other"} 300',
    'crdb_application_active_queries{application="other",user="other"} 1',
    'crdb_application_open_transactions{application="other",user="other"} 3',
    'crdb_application_open_transaction_retries{application="other",user="other"} 2',
    'crdb_application_oldest_transaction_age_seconds{application="other",user="other"} 70',
    'crdb_application_oldest_idle_transaction_age_seconds{application="other",user="other"} 50',
    'crdb_application_oldest_query_age_seconds{application="other",user="other"} 3',
  ]);
});

describe('a hundred thousand names', () => {
  const session: OpenSession = {
    nodeId: 1,
    clientAddress: '',
    state: 'idle',
    allocBytes: 1,
    maxAllocBytes: 1,
    phases: [],
    transaction: undefined,
    retries: 0,
    ageSeconds: 0,
    transactionAgeSeconds: 0,
    queryAgeSeconds: 0,
  };

  test('are counted in bounded memory: sums are exact, and so are the pairs that are kept', () => {
    const kept = pairOf('kept', 'movr');
    const large = pairOf('large', 'movr');
    const tallies = new ApplicationTallies(new Set([kept]), 1000);
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
    expect(held + tallies.rest.idle).toBe(101_002);
  });

  test('that carry a number become one by a rewrite', async () => {
    const listed = Array.from({ length: 500 }, (_, number) =>
      sessionOf(1, { application_name: `psql-${number}` }),
    );
    const rewrite = [{ regex: '^(psql)-[0-9]+$', replacement: '$1' }];
    const { of } = await pollListing(listed, { application_rewrite: rewrite });
    expect(of('crdb_application_session_alloc_bytes')).toEqual([
      '{application="other",user="other"} 0',
      '{application="psql",user="movr"} 50000',
    ]);
  });
});
