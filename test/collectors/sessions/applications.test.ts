import { describe, expect, test } from 'vitest';
import { countSession, type Pair } from '../../../src/collectors/sessions/applications.ts';
import { createTally, type SessionTally } from '../../../src/collectors/sessions/session.ts';
import { pollListing, queryOf, sessionOf, sessionsOf, transactionOf } from './listing.ts';

describe('a pair of application and user', () => {
  test('has the sum of its sessions on all nodes and the maximum of their ages', async () => {
    const { lines } = await pollListing([
      sessionOf(1, {
        active_queries: [queryOf(5, { phase: undefined }), queryOf(6), queryOf(7, { phase: 7 })],
        active_txn: transactionOf(100, { num_retries: 3, num_auto_retries: 2 }),
      }),
      sessionOf(2, { active_txn: transactionOf(40, { num_auto_retries: 1 }) }),
      sessionOf(2, { username: 'root' }),
    ]);
    const ofPair = lines.filter((line) => line.includes('application="rides",user="movr"'));
    expect(ofPair).toEqual([
      'crdb_application_sessions{application="rides",user="movr",state="active"} 1',
      'crdb_application_sessions{application="rides",user="movr",state="idle_in_transaction"} 1',
      'crdb_application_sessions{application="rides",user="movr",state="idle"} 0',
      'crdb_application_session_alloc_bytes{application="rides",user="movr"} 200',
      'crdb_application_active_queries{application="rides",user="movr"} 3',
      'crdb_application_open_transactions{application="rides",user="movr"} 2',
      'crdb_application_open_transaction_retries{application="rides",user="movr"} 4',
      'crdb_application_oldest_transaction_age_seconds{application="rides",user="movr"} 100',
      'crdb_application_oldest_idle_transaction_age_seconds{application="rides",user="movr"} 40',
      'crdb_application_oldest_query_age_seconds{application="rides",user="movr"} 7',
    ]);
    const idle = lines.filter((line) => line.includes('application="rides",user="root"'));
    expect(idle.map((line) => line.split(' ')[1])).toEqual('0 0 1 100 0 0 0 0 0 0'.split(' '));
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

  test('without a name, or with one that is no text, is unset', async () => {
    const { of } = await pollListing([...sessionsOf('', 2), sessionOf(1, { application_name: 7 })]);
    expect(of('crdb_application_session_alloc_bytes')).toContain(
      '{application="unset",user="movr"} 300',
    );
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

test('sessions of pairs beyond 20,000 are counted as other of their user, which is a limit', async () => {
  const listed = Array.from({ length: 20_001 }, (_, number) =>
    sessionOf(1, { application_name: `psql-${number}` }),
  );
  const { of, limits } = await pollListing([...listed, ...listed.slice(0, 1)], {
    max_applications: 1,
  });
  expect(of('crdb_application_session_alloc_bytes')).toEqual([
    '{application="other",user="other"} 0',
    '{application="psql-0",user="movr"} 200',
    '{application="other",user="movr"} 2000000',
  ]);
  expect([...limits]).toEqual(['items']);
});

test('pairs are bounded, however many users a server sends', () => {
  const pairs = new Map<Pair, SessionTally>();
  for (let user = 0; user < 50_000; user += 1) countSession(pairs, `rides\n${user}`, createTally());
  expect(pairs.size).toBe(40_001);
});

test('names that differ by a number become one by a rewrite', async () => {
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

describe('sessions by user', () => {
  test('are those of the users with most sessions; the rest is other', async () => {
    const { of } = await pollListing(
      [
        ...sessionsOf('rides', 2),
        ...sessionsOf('billing', 1, { active_txn: transactionOf(1) }),
        ...sessionsOf('rides', 1, { username: 'root' }),
        ...sessionsOf('rides', 1, { username: 'other' }),
      ],
      { max_users: 1 },
    );
    expect(of('crdb_user_sessions')).toEqual([
      '{user="other",state="active"} 0',
      '{user="other",state="idle_in_transaction"} 0',
      '{user="other",state="idle"} 2',
      '{user="movr",state="active"} 0',
      '{user="movr",state="idle_in_transaction"} 1',
      '{user="movr",state="idle"} 2',
    ]);
  });

  test('count all in other without users of their own', async () => {
    const { of } = await pollListing(sessionsOf('rides', 2), { max_users: 0 });
    expect(of('crdb_user_sessions')).toContain('{user="other",state="idle"} 2');
    expect(of('crdb_user_sessions')).toHaveLength(3);
  });
});
