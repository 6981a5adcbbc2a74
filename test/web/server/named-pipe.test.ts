import { execFileSync } from 'node:child_process';
import { rename } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { fetchPath } from '../fetch-path.ts';
import { startOrchard, until, WEB_CONFIG } from '../orchard.ts';

/** bcrypt of `secret`, at the lowest cost. */
const HASH = '$2b$04$HWx1DrBFQJAm451ycqa1NOS6zzPo4Wi66A7z40s7XMpnTlmsOjUx.';

test('a named pipe in place of the file is refused, and a later file is read', async () => {
  const { url, folder, write, log } = await startOrchard({
    webConfig: `basic_auth_users: { ops: "${HASH}" }\n`,
  });
  execFileSync('mkfifo', [path.join(folder, 'pipe')]);
  await rename(path.join(folder, 'pipe'), path.join(folder, WEB_CONFIG));
  await until(() => log().includes('cannot read the web config file: it is a named pipe'));
  expect((await fetchPath(url, '/')).status).toBe(401);
  await write(WEB_CONFIG, `basic_auth_users: { others: "${HASH}" }\n`);
  const headers = { authorization: `Basic ${btoa('others:secret')}` };
  await until(async () => (await fetchPath(url, '/', { headers })).status === 200);
});
