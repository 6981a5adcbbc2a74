import { hashSync } from 'bcryptjs';
import { describe, expect, test } from 'vitest';
import { fetchPath, type ReceivedResponse } from '../routes/fetch-path.ts';
import { startOrchard, startPolledOrchard, until } from '../routes/orchard.ts';

/** bcrypt of `secret`, at the lowest cost. */
const OPS = '$2b$04$HWx1DrBFQJAm451ycqa1NOS6zzPo4Wi66A7z40s7XMpnTlmsOjUx.';
const USERS = `basic_auth_users: { ops: "${OPS}", "123": "${OPS.replace('2b', '2y')}" }\n`;

function basic(credentials: string): { readonly headers: { readonly authorization: string } } {
  return { headers: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` } };
}

describe('basic_auth_users', () => {
  test('admit a user with the password, to every path', async () => {
    const { url } = await startPolledOrchard({ webConfig: USERS });
    for (const path of ['/', '/metrics']) {
      expect((await fetchPath(url, path, basic('ops:secret'))).status).toBe(200);
      expect((await fetchPath(url, path, basic('123:secret'))).status).toBe(200);
    }
    expect((await fetchPath(url, '/nothing', basic('ops:secret'))).status).toBe(404);
  });

  test.each([
    ['nothing', undefined],
    ['another password', basic('ops:Secret')],
    ['no password', basic('ops:')],
    ['no colon', basic('ops')],
    ['an unknown user', basic('nobody:secret')],
    ['a name of every object', basic('constructor:secret')],
    ['another scheme', { headers: { authorization: 'Bearer c2VjcmV0' } }],
    ['no scheme', { headers: { authorization: btoa('ops:secret') } }],
    ['what is no base64', { headers: { authorization: 'Basic ops:secret' } }],
    ['an empty header', { headers: { authorization: '' } }],
  ])('return 401 for %s, on every path, even one that does not exist', async (_what, options) => {
    const { url } = await startOrchard({ webConfig: USERS });
    for (const path of ['/', '/metrics', '/nothing', '/-/reload', '/-/healthy/', '//-/healthy']) {
      const answer = await fetchPath(url, path, options);
      expect(answer.status).toBe(401);
      expect(answer.headers['www-authenticate']).toBe('Basic');
      expect(answer.text).toBe('Unauthorized\n');
    }
  });

  test('the probes of the process are open, unless they are protected', async () => {
    const open = await startPolledOrchard({ webConfig: USERS });
    expect((await fetchPath(open.url, '/-/healthy')).status).toBe(200);
    expect((await fetchPath(open.url, '/-/ready')).status).toBe(200);
    const closed = await startOrchard({ webConfig: USERS, flags: { 'web.protect-probes': true } });
    expect((await fetchPath(closed.url, '/-/healthy')).status).toBe(401);
    expect((await fetchPath(closed.url, '/-/ready')).status).toBe(401);
    expect((await fetchPath(closed.url, '/-/healthy', basic('ops:secret'))).status).toBe(200);
  });

  test('many wrong passwords do not block a user who logged in before', async () => {
    const hash = hashSync('secret', 7);
    const { url } = await startOrchard({ webConfig: `basic_auth_users: { ops: "${hash}" }\n` });
    expect((await fetchPath(url, '/', basic('ops:secret'))).status).toBe(200);
    const over = new AbortController();
    const refused: (ReceivedResponse & { readonly seconds: number })[] = [];
    const guessers = Array.from({ length: 250 }, async (_, guesser) => {
      for (let guess = 0; !over.signal.aborted; guess += 1) {
        const begin = performance.now();
        const answer = await fetchPath(url, '/', basic(`ops:${guesser}-${guess}`));
        refused.push({ ...answer, seconds: (performance.now() - begin) / 1000 });
      }
    });
    await until(() => refused.length > 50);
    const good: number[] = [];
    for (let scrape = 0; scrape < 100; scrape += 1) {
      good.push((await fetchPath(url, '/', basic('ops:secret'))).status);
    }
    over.abort();
    expect(new Set(good)).toEqual(new Set([200]));
    await Promise.all(guessers);
    for (const { status, headers } of refused) {
      expect([401, 429]).toContain(status);
      expect(headers['retry-after']).toBe(status === 429 ? '1' : undefined);
    }
    // Answered at once, its next guess would displace others without end.
    const busy = refused.filter(({ status }) => status === 429);
    expect(Math.min(...busy.map(({ seconds }) => seconds))).toBeGreaterThan(4.9);
    expect(busy.length).toBeGreaterThan(0);
  });
});

describe('http_server_config.headers', () => {
  test('are in every response, including errors', async () => {
    const { url } = await startOrchard({
      webConfig: `http_server_config:
  headers:
    Strict-Transport-Security: max-age=31536000
    X-Content-Type-Options: nosniff
    X-Frame-Options: sameorigin
    X-XSS-Protection: 0
    Content-Security-Policy: "default-src 'self'"
${USERS}`,
    });
    for (const options of [{}, basic('ops:secret')]) {
      for (const path of ['/', '/metrics', '/nothing', '/-/healthy']) {
        expect((await fetchPath(url, path, options)).headers).toMatchObject({
          'strict-transport-security': 'max-age=31536000',
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'sameorigin',
          'x-xss-protection': '0',
          'content-security-policy': "default-src 'self'",
        });
      }
    }
  });
});

describe('rate_limit', () => {
  test('allows a burst, then one request per interval', async () => {
    let nowMs = 0;
    const clock = { wallMs: () => nowMs, monotonicMs: () => nowMs, runningMs: () => nowMs };
    const { url } = await startOrchard({
      webConfig: 'rate_limit: { interval: 1s, burst: 3 }\n',
      app: { clock },
    });
    const statuses = async (count: number): Promise<number[]> => {
      const found: number[] = [];
      for (let index = 0; index < count; index += 1) found.push((await fetchPath(url, '/')).status);
      return found;
    };
    expect(await statuses(5)).toEqual([200, 200, 200, 429, 429]);
    nowMs += 999;
    expect(await statuses(1)).toEqual([429]);
    nowMs += 1;
    expect(await statuses(2)).toEqual([200, 429]);
    nowMs += 60_000;
    expect(await statuses(4)).toEqual([200, 200, 200, 429]);
  });

  test('applies before the password, and not to probes', async () => {
    const { url } = await startOrchard({
      webConfig: `rate_limit: { interval: 1h, burst: 1 }\n${USERS}`,
    });
    expect((await fetchPath(url, '/')).status).toBe(401);
    expect((await fetchPath(url, '/', basic('ops:secret'))).status).toBe(429);
    expect((await fetchPath(url, '/-/healthy')).status).toBe(200);
  });
});
