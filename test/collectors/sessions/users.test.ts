import { describe, expect, test } from 'vitest';
import { pollListing, sessionsOf, transactionOf } from './listing.ts';

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
