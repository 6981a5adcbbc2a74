import { expect, test } from 'vitest';
import { users } from '../../src/collectors/users.ts';
import { RequestError } from '../../src/http/errors.ts';
import { answering, poll } from './support.ts';

test('users are counted, asked for without a limit', async () => {
  const { api, asked } = answering(() => ({ users: [{ username: 'root' }, { username: 'movr' }] }));
  const { lines } = await poll(users, api, { options: {}, memory: undefined });
  expect(lines).toEqual(['crdb_users 2']);
  expect(asked).toEqual(['/users/']);
});

test('a cluster without users has none', async () => {
  const { api } = answering(() => ({ users: null }));
  const { lines } = await poll(users, api, { options: {}, memory: undefined });
  expect(lines).toEqual(['crdb_users 0']);
});

test('a failure is no zero', async () => {
  const { api } = answering(() => {
    throw new RequestError('http', 'users: HTTP 500');
  });
  await expect(poll(users, api, { options: {}, memory: undefined })).rejects.toThrow('HTTP 500');
});
