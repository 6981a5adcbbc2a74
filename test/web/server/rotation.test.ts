import { connect } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { createAuthority, type Identity } from '../../support/certificates.ts';
import { fetchPath } from '../fetch-path.ts';
import { startOrchard, until, WEB_CONFIG } from '../orchard.ts';

const RELOAD_SUCCESSFUL = 'crdb_exporter_config_last_reload_successful';
const TLS = 'tls_server_config: { cert_file: server.crt, key_file: server.key }\n';
/** bcrypt of `secret`, at the lowest cost. */
const HASH = '$2b$04$HWx1DrBFQJAm451ycqa1NOS6zzPo4Wi66A7z40s7XMpnTlmsOjUx.';

const authority = await createAuthority();
const [first, second] = await Promise.all([issue(), issue()]);

function issue(): Promise<Identity> {
  return authority.issue({ name: 'exporter', sans: ['ip:127.0.0.1'] });
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

  test('a broken certificate or key changes nothing and is logged with its remedy', async () => {
    const { url, write, log } = await startOrchard({ webConfig: TLS, files: filesOf(first) });
    await write('server.crt', 'not a certificate');
    await until(() => log().includes('holds no certificate in PEM form'));
    expect(await servedBy(url)).toBe(bare(first));
    await write('server.crt', second.cert);
    await until(() => log().includes('holds a key that does not belong to the certificate'));
    expect(await servedBy(url)).toBe(bare(first));
    await write('server.key', second.key);
    await until(async () => (await servedBy(url)) === bare(second));
    expect(log()).toContain('keeping the previous one');
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

  test.each([
    ['an empty file', '', 'basic_auth_users: no users are left: '],
    ['comments only', '# nothing\n', 'basic_auth_users: no users are left: '],
    ['a file cut off after the key', 'basic_auth_users:\n', 'basic_auth_users: lists no users: '],
    ['an empty map', 'basic_auth_users: {}\n', 'basic_auth_users: lists no users: '],
  ])('users are not removed by %s', async (_what, emptied, message) => {
    const users = `basic_auth_users: { ops: "${HASH}" }\n`;
    const { url, write, log } = await startOrchard({
      webConfig: users,
      flags: { 'web.enable-lifecycle': true },
    });
    const headers = as('ops');
    const reload = () => fetchPath(url, '/-/reload', { method: 'POST', headers });
    const reloadMetric = async () => lineOf((await fetchPath(url, '/metrics', { headers })).text);
    await write(WEB_CONFIG, emptied);
    await until(() => log().includes(message));
    expect(log()).toMatch(/level=error .*keeping the previous one/);
    expect((await fetchPath(url, '/')).status).toBe(401);
    expect((await fetchPath(url, '/metrics', { headers })).status).toBe(200);
    expect(await reloadMetric()).toBe(`${RELOAD_SUCCESSFUL} 0`);
    const refused = await reload();
    expect(refused).toMatchObject({ status: 400, text: expect.stringContaining(message) });
    expect((await fetchPath(url, '/')).status).toBe(401);
    await write(WEB_CONFIG, users);
    await expect.poll(reloadMetric).toBe(`${RELOAD_SUCCESSFUL} 1`);
    expect((await reload()).status).toBe(200);
  });

  test('the names that clients must have are not removed by a file cut off after the key', async () => {
    const [named, other] = await Promise.all(
      ['prometheus', 'other'].map((name) =>
        authority.issue({ name, usage: 'client', sans: [`dns:${name}`] }),
      ),
    );
    const webConfig = `tls_server_config:
  cert_file: server.crt
  key_file: server.key
  client_ca_file: ca.crt
  client_auth_type: RequireAndVerifyClientCert
  client_allowed_sans:
`;
    const { url, write, log } = await startOrchard({
      webConfig: `${webConfig}    - prometheus\n`,
      files: filesOf(first),
    });
    await write(WEB_CONFIG, webConfig);
    await until(() => log().includes('client_allowed_sans: nothing is set'));
    await write(WEB_CONFIG, webConfig.replace(/ *client_allowed_sans:\n/, ''));
    await until(() => log().includes('client_allowed_sans: removing all names needs a restart'));
    const asWith = (client?: Identity) =>
      fetchPath(url, '/', { tls: { ca: authority.cert, ...client } });
    expect((await asWith(named)).status).toBe(200);
    await expect(asWith(other)).rejects.toThrow(/hang up|ECONNRESET/);
  });

  test.each([
    ['without a value', '  client_ca_file:\n', 'client_ca_file: nothing is set'],
    ['removed', '', 'client_ca_file: removing the CA of clients needs a restart'],
  ])('the CA of clients %s is kept', async (_what, cut, message) => {
    const client = await authority.issue({ name: 'prometheus', usage: 'client' });
    const webConfig = `tls_server_config:
  cert_file: server.crt
  key_file: server.key
  client_auth_type: RequireAndVerifyClientCert
`;
    const { url, write, log } = await startOrchard({
      webConfig: `${webConfig}  client_ca_file: ca.crt\n`,
      files: filesOf(first),
    });
    await write(WEB_CONFIG, webConfig + cut);
    await until(() => log().includes(message));
    const tls = { ca: authority.cert, ...client };
    expect((await fetchPath(url, '/', { tls })).status).toBe(200);
    expect(lineOf((await fetchPath(url, '/metrics', { tls })).text)).toBe(`${RELOAD_SUCCESSFUL} 0`);
  });

  test('a metric shows whether the content of the file is loaded', async () => {
    const { url, write } = await startOrchard({ webConfig: '', files: filesOf(first) });
    const reloadMetric = async () => lineOf((await fetchPath(url, '/metrics')).text);
    expect(await reloadMetric()).toBe(`${RELOAD_SUCCESSFUL} 1`);
    await write(WEB_CONFIG, 'basic_auth_users: [');
    await expect.poll(reloadMetric).toBe(`${RELOAD_SUCCESSFUL} 0`);
    await write(WEB_CONFIG, 'http_server_config: { headers: { X-Frame-Options: deny } }\n');
    await expect.poll(reloadMetric).toBe(`${RELOAD_SUCCESSFUL} 1`);
    // Listeners cannot learn TLS while they listen.
    await write(WEB_CONFIG, TLS);
    await expect.poll(reloadMetric).toBe(`${RELOAD_SUCCESSFUL} 0`);
  });

  test('turning TLS on or off needs a restart, which the log reports', async () => {
    const plain = await startOrchard({ webConfig: '', files: filesOf(first) });
    await plain.write(WEB_CONFIG, TLS);
    await until(() => plain.log().includes('turning TLS on or off needs a restart'));
    expect((await fetchPath(plain.url, '/')).status).toBe(200);
    const encrypted = await startOrchard({ webConfig: TLS, files: filesOf(first) });
    await encrypted.write(WEB_CONFIG, '');
    await until(() => encrypted.log().includes('turning TLS on or off needs a restart'));
    expect(await servedBy(encrypted.url)).toBe(bare(first));
  });
});
