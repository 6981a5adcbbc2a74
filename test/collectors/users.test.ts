import { expect, test } from 'vitest';
import { RequestError } from '../../src/cockroach/http/errors.ts';
import { users } from '../../src/collectors/users.ts';
import { answering, poll } from './support.ts';

test('users are counted; the request has no limit', async () => {
  const { api, requests } = answering(() => ({
    users: [{ username: 'root' }, { username: 'movr' }],
  }));
  const { lines } = await poll(users, api, { options: {}, state: undefined });
  expect(lines).toEqual(['crdb_users 2']);
  expect(requests).toEqual(['/users/']);
});

test('a cluster without users exports 0', async () => {
  const { api } = answering(() => ({ users: null }));
  const { lines } = await poll(users, api, { options: {}, state: undefined });
  expect(lines).toEqual(['crdb_users 0']);
});

test('a failure does not count as 0', async () => {
  const { api } = answering(() => {
    throw new RequestError('http', 'users: HTTP 500');
  });
  await expect(poll(users, api, { options: {}, state: undefined })).rejects.toThrow('HTTP 500');
});
