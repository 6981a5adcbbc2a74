import { connect } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { createAuthority, type Identity } from '../../support/certificates.ts';
import { fetchPath } from '../routes/fetch-path.ts';
import { startOrchard, until, WEB_CONFIG } from '../routes/orchard.ts';

const RELOAD_SUCCESSFUL = 'crdb_exporter_config_last_reload_successful';
const TLS = 'tls_server_config: { cert_file: server.crt, key_file: server.key }\n';
/** bcrypt of `secret`, at the lowest cost. */
const HASH = '$2b$04$HWx1DrBFQJAm451ycqa1NOS6zzPo4Wi66A7z40s7XMpnTlmsOjUx.';

const USERS = `basic_auth_users: { ops: "${HASH}" }\n`;
const TLS_SECTION = 'tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n';

const authority = await createAuthority();
const [first, second] = await Promise.all([issue(), issue()]);

function issue(days = 1): Promise<Identity> {
  return authority.issue({ name: 'exporter', sans: ['ip:127.0.0.1'], days });
}

function filesOf({ cert, key }: Identity): Record<string, string> {
  return { 'server.crt': cert, 'server.key': key, 'ca.crt': authority.cert };
}

/** The certificate that a new connection is shown, as PEM without line ends. */
function servedBy(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), ca: authority.cert }, () => {
      resolve(socket.getPeerCertificate().raw.toString('base64'));
      socket.end();
    });
    socket.on('error', reject);
  });
}

function bare({ cert }: Identity): string {
  return cert.replaceAll(/-----[A-Z ]+-----|\s/g, '');
}

/** The headers of a user with the password `secret`. */
function as(user: string): { readonly authorization: string } {
  return { authorization: `Basic ${btoa(`${user}:secret`)}` };
}

/** The line of the metric that shows whether all of the configuration is loaded. */
function lineOf(metrics: string): string | undefined {
  return metrics.split('\n').find((line) => line.startsWith(RELOAD_SUCCESSFUL));
}

describe('while the exporter runs', () => {
  test('a renewed certificate is served to new connections, and no scrape fails meanwhile', async () => {
    const { url, write } = await startOrchard({ webConfig: TLS, files: filesOf(first) });
    expect(await servedBy(url)).toBe(bare(first));
    const statuses: number[] = [];
    const over = new AbortController();
    const scraping = Array.from({ length: 4 }, async () => {
      while (!over.signal.aborted)
        statuses.push((await fetchPath(url, '/metrics', { tls: { ca: authority.cert } })).status);
    });
    for (const identity of [second, first, second]) {
      await write('server.crt', identity.cert);
      await write('server.key', identity.key);
      await until(async () => (await servedBy(url)) === bare(identity));
    }
    over.abort();
    await Promise.all(scraping);
    expect(statuses.length).toBeGreaterThan(10);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  test('a broken certificate or key changes nothing, is logged with its remedy and counts as not reloaded', async () => {
    const { url, write, log } = await startOrchard({ webConfig: TLS, files: filesOf(first) });
    await write('server.crt', 'not a certificate');
    await until(() => log().includes('holds no certificate in PEM form'));
    const tls = { ca: authority.cert };
    const reloadMetric = async () => lineOf((await fetchPath(url, '/metrics', { tls })).text);
    await expect.poll(reloadMetric).toBe(`${RELOAD_SUCCESSFUL} 0`);
    expect(await servedBy(url)).toBe(bare(first));
    await write('server.crt', second.cert);
    await until(() => log().includes('holds a key that does not belong to the certificate'));
    expect(await servedBy(url)).toBe(bare(first));
    expect(await reloadMetric()).toBe(`${RELOAD_SUCCESSFUL} 0`);
    await write('server.key', second.key);
    await until(async () => (await servedBy(url)) === bare(second));
    await expect.poll(reloadMetric).toBe(`${RELOAD_SUCCESSFUL} 1`);
    expect(log()).toContain('keeping the previous one');
    const expired = await issue(-1);
    await write('server.crt', expired.cert);
    await write('server.key', expired.key);
    await until(() => log().includes('the certificate expired at'));
  });

  test('another file may be named, and one that is missing may come later', async () => {
    const { url, write, log } = await startOrchard({ webConfig: TLS, files: filesOf(first) });
    await write(WEB_CONFIG, TLS.replaceAll('server.', 'other.'));
    await until(() => log().includes('there is no such file'));
    expect(await servedBy(url)).toBe(bare(first));
    await write('other.crt', second.cert);
    await write('other.key', second.key);
    await until(async () => (await servedBy(url)) === bare(second));
  });

  test('users and headers can be added and removed', async () => {
    const { url, write } = await startOrchard({ webConfig: '' });
    const status = async (auth?: string): Promise<number> => {
      const headers = auth === undefined ? {} : { authorization: `Basic ${btoa(auth)}` };
      return (await fetchPath(url, '/', { headers })).status;
    };
    expect(await status()).toBe(200);
    await write(
      WEB_CONFIG,
      `basic_auth_users: { ops: "${HASH}" }\nhttp_server_config: { headers: { X-Frame-Options: deny } }\n`,
    );
    await until(async () => (await status()) === 401);
    expect((await fetchPath(url, '/')).headers['x-frame-options']).toBe('deny');
    expect(await status('ops:secret')).toBe(200);
    await write(WEB_CONFIG, `basic_auth_users: { others: "${HASH}" }\n`);
    await until(async () => (await status('ops:secret')) === 401);
    expect(await status('others:secret')).toBe(200);
    expect((await fetchPath(url, '/')).headers['x-frame-options']).toBeUndefined();
  });

  test('users are not removed by an empty file, which a reload refuses, too', async () => {
    const { url, write } = await startOrchard({
      webConfig: USERS,
      flags: { 'web.enable-lifecycle': true },
    });
    const headers = as('ops');
    const reload = () => fetchPath(url, '/-/reload', { method: 'POST', headers });
    const reloadMetric = async () => lineOf((await fetchPath(url, '/metrics', { headers })).text);
    await write(WEB_CONFIG, '');
    await expect.poll(reloadMetric).toBe(`${RELOAD_SUCCESSFUL} 0`);
    const text = expect.stringContaining('no users are left');
    expect(await reload()).toMatchObject({ status: 400, text });
    expect((await fetchPath(url, '/')).status).toBe(401);
    await write(WEB_CONFIG, USERS);
    await expect.poll(reloadMetric).toBe(`${RELOAD_SUCCESSFUL} 1`);
    expect((await reload()).status).toBe(200);
  });

  const clients = `${TLS_SECTION}  client_auth_type: RequireAndVerifyClientCert\n`;
  const withCa = `${clients}  client_ca_file: ca.crt\n`;
  test.each([
    [USERS, '# nothing\n', 'basic_auth_users: no users are left: '],
    [USERS, 'basic_auth_users:\n', 'basic_auth_users: lists no users: '],
    [USERS, 'basic_auth_users: {}\n', 'basic_auth_users: lists no users: '],
    [withCa, clients, 'client_ca_file: removing the CA of clients needs a restart'],
    [withCa, `${clients}  client_ca_file:\n`, 'client_ca_file: nothing is set'],
    [
      `${withCa}  client_allowed_sans: [prometheus]\n`,
      `${withCa}  client_allowed_sans:\n`,
      'client_allowed_sans: nothing is set',
    ],
    [
      `${withCa}  client_allowed_sans: [prometheus]\n`,
      withCa,
      'client_allowed_sans: removing all names needs a restart',
    ],
    ['', TLS_SECTION, 'turning TLS on or off needs a restart'],
    [TLS_SECTION, '', 'turning TLS on or off needs a restart'],
  ])('the file %j is not replaced by %j, which would let more in', async (old, next, message) => {
    const { write, log } = await startOrchard({ webConfig: old, files: filesOf(first) });
    await write(WEB_CONFIG, next);
    await until(() => log().includes(message));
    expect(log()).toMatch(/level=error .*keeping the previous one/);
    expect(log()).not.toContain('web config file reloaded');
  });
});
