import https from 'node:https';
import tls, { type ConnectionOptions, type TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { parseExposition } from '../../metrics/parse-exposition.ts';
import { type Authority, createAuthority, type Identity } from '../../support/certificates.ts';
import { fetchPath } from '../routes/fetch-path.ts';
import { type Orchard, startOrchard } from '../routes/orchard.ts';

const SERVER_SANS = ['dns:localhost', 'ip:127.0.0.1'];
const TLS_FILES = 'cert_file: server.crt, key_file: server.key';

const pki: {
  readonly ours: Authority;
  readonly server: Identity;
  /** Of our CA, under another name. */
  readonly namesake: Identity;
  readonly clients: Record<string, Identity>;
} = await createPki();

async function createPki() {
  const [ours, theirs] = await Promise.all([createAuthority('ours'), createAuthority('theirs')]);
  const sans = ['dns:prometheus.example', 'ip:10.1.2.3', 'ip:2001:db8::1', 'email:ops@example.org'];
  const client = { name: 'prometheus', usage: 'client', sans } as const;
  return {
    ours,
    server: await ours.issue({ name: 'exporter', sans: SERVER_SANS }),
    namesake: await ours.issue({ ...client, sans: ['dns:another.prometheus.example'] }),
    clients: {
      good: await ours.issue(client),
      nameless: await ours.issue({ name: 'prometheus.example', usage: 'client' }),
      expired: await ours.issue({ ...client, days: -1 }),
      foreign: await theirs.issue(client),
    },
  };
}

function startTls(settings = '', more = ''): Promise<Orchard> {
  return startOrchard({
    webConfig: `tls_server_config: { ${TLS_FILES} ${settings} }\n${more}`,
    files: { 'server.crt': pki.server.cert, 'server.key': pki.server.key, 'ca.crt': pki.ours.cert },
  });
}

/** The status of an answer, or `refused`, by status 403 or during the handshake. */
async function statusFor(url: string, options: ConnectionOptions): Promise<number | 'refused'> {
  try {
    const client = { ca: pki.ours.cert, ...options };
    const { status } = await fetchPath(url, '/-/healthy', { tls: client });
    return status === 403 ? 'refused' : status;
  } catch (error) {
    if (error instanceof Error && 'code' in error) return 'refused';
    throw error;
  }
}

function indent(pem: string): string {
  return pem.trim().replaceAll('\n', '\n    ');
}

function target(url: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

describe('a server with TLS', () => {
  test('responds to clients that trust its CA, not in plain text', async () => {
    const { url } = await startTls();
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(await statusFor(url, {})).toBe(200);
    await expect(fetchPath(url, '/', { tls: { ca: [] } })).rejects.toMatchObject({
      code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    });
    expect(await fetchPath(url.replace('https', 'http'), '/')).toMatchObject({ status: 400 });
  });

  test('accepts a certificate and key in the file itself', async () => {
    const { cert, key } = pki.server;
    const webConfig = `tls_server_config:\n  cert: |\n    ${indent(cert)}\n  key: |\n    ${indent(key)}\n`;
    const { url } = await startOrchard({ webConfig });
    expect(await statusFor(url, {})).toBe(200);
  });

  test('exports the expiry of its certificate', async () => {
    const { url } = await startTls();
    const { text } = await fetchPath(url, '/metrics', { tls: { ca: pki.ours.cert } });
    const name = 'crdb_exporter_certificate_expiry_timestamp_seconds';
    const [sample, ...others] = parseExposition(text).filter((one) => one.name === name);
    expect(others).toEqual([]);
    expect(sample?.labels).toEqual({ use: 'server' });
    const daysLeft = ((sample?.value ?? 0) - Date.now() / 1000) / 86_400;
    expect(daysLeft).toBeGreaterThan(0.9);
    expect(daysLeft).toBeLessThan(1.1);
  });

  test('serves HTTP/1.1 to clients that prefer HTTP/2', async () => {
    const { url } = await startTls('', 'http_server_config: { http2: true }\n');
    expect(await statusFor(url, { ALPNProtocols: ['h2', 'http/1.1'] })).toBe(200);
  });
});

const GOOD: Record<string, readonly string[]> = {
  NoClientCert: ['good', 'nameless', 'expired', 'foreign', 'none'],
  '""': ['good', 'nameless', 'expired', 'foreign', 'none'],
  RequestClientCert: ['good', 'nameless', 'expired', 'foreign', 'none'],
  RequireAnyClientCert: ['good', 'nameless', 'expired', 'foreign'],
  RequireClientCert: ['good', 'nameless', 'expired', 'foreign'],
  VerifyClientCertIfGiven: ['good', 'nameless', 'none'],
  RequireAndVerifyClientCert: ['good', 'nameless'],
};

describe('client_auth_type', () => {
  test.each(Object.entries(GOOD))('%s admits only %j', async (type, admitted) => {
    const asks = type !== 'NoClientCert' && type !== '""';
    const ca = asks ? ', client_ca_file: ca.crt' : '';
    const { url } = await startTls(`, client_auth_type: ${type}${ca}`);
    const found: Record<string, number | 'refused'> = { none: await statusFor(url, {}) };
    for (const [name, identity] of Object.entries(pki.clients)) {
      found[name] = await statusFor(url, identity);
    }
    const expected = Object.keys(found).map((name) => [
      name,
      admitted.includes(name) ? 200 : 'refused',
    ]);
    expect(found).toEqual(Object.fromEntries(expected));
  });

  test('a resumed session does not bypass the certificate', async () => {
    const { url } = await startTls(
      ', client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.crt',
    );
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const sessions: Buffer[] = [];
      const agent = new https.Agent({ ca: pki.ours.cert, ...pki.clients['good'], maxVersion });
      agent.on('keylog', (_line, socket: TLSSocket) => {
        if (socket.listenerCount('session') > 1) return;
        socket.on('session', (session) => sessions.push(session));
      });
      expect((await fetchPath(url, '/-/healthy', { agent })).status).toBe(200);
      agent.destroy();
      for (const session of sessions) {
        const socket = tls.connect({ ...target(url), ca: pki.ours.cert, maxVersion, session });
        socket.on('error', () => undefined);
        await new Promise((resolve) => {
          socket.once('close', resolve).once('secureConnect', resolve);
        });
        expect(socket.isSessionReused()).not.toBe(true);
        socket.destroy();
      }
    }
  });
});

describe('client_allowed_sans', () => {
  test.each([
    ['a DNS name', 'prometheus.example'],
    ['an IPv4 address', '10.1.2.3'],
    ['an IPv6 address, however written', '2001:0db8:0:0::1'],
    ['an e-mail address', 'ops@example.org'],
  ])('admits by %s, and not by the common name', async (_what, san) => {
    const { url } = await startTls(
      `, client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.crt, client_allowed_sans: [other, "${san}"]`,
    );
    expect(await statusFor(url, pki.clients['good'] ?? {})).toBe(200);
    expect(await statusFor(url, pki.clients['nameless'] ?? {})).toBe('refused');
    expect(await statusFor(url, pki.namesake)).toBe('refused');
    expect(await statusFor(url, {})).toBe('refused');
  });

  test('requires a certificate even where it is optional', async () => {
    const { url } = await startTls(
      ', client_auth_type: VerifyClientCertIfGiven, client_ca_file: ca.crt, client_allowed_sans: [prometheus.example]',
    );
    expect(await statusFor(url, pki.clients['good'] ?? {})).toBe(200);
    expect(await statusFor(url, {})).toBe('refused');
  });
});

describe('versions, suites and curves', () => {
  const old = { ciphers: 'DEFAULT:@SECLEVEL=0' };

  test('by default TLS 1.2 and 1.3 are offered, nothing older', async () => {
    const { url } = await startTls();
    expect(await statusFor(url, { minVersion: 'TLSv1.3' })).toBe(200);
    expect(await statusFor(url, { maxVersion: 'TLSv1.2' })).toBe(200);
    expect(await statusFor(url, { ...old, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' })).toBe(
      'refused',
    );
  });

  test('min_version and max_version limit the versions', async () => {
    const newest = await startTls(', min_version: TLS13');
    expect(await statusFor(newest.url, { maxVersion: 'TLSv1.2' })).toBe('refused');
    expect(await statusFor(newest.url, {})).toBe(200);
    const older = await startTls(', max_version: TLS12');
    expect(await statusFor(older.url, { minVersion: 'TLSv1.3' })).toBe('refused');
    expect(await statusFor(older.url, {})).toBe(200);
  });

  test('cipher_suites restrict TLS 1.2, by the names of Go', async () => {
    const { url } = await startTls(
      ', cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, TLS_AES_128_GCM_SHA256]',
    );
    const maxVersion = 'TLSv1.2';
    expect(await statusFor(url, { maxVersion, ciphers: 'ECDHE-ECDSA-AES256-GCM-SHA384' })).toBe(
      200,
    );
    expect(await statusFor(url, { maxVersion, ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' })).toBe(
      'refused',
    );
    expect(await statusFor(url, {})).toBe(200);
  });

  test('TLS 1.3 suites alone disable older versions', async () => {
    const { url } = await startTls(', cipher_suites: [TLS_AES_128_GCM_SHA256]');
    expect(await statusFor(url, { maxVersion: 'TLSv1.2' })).toBe('refused');
    expect(await statusFor(url, {})).toBe(200);
  });

  test('curve_preferences restrict the curves', async () => {
    const { url } = await startTls(', curve_preferences: [CurveP384]');
    expect(await statusFor(url, { ecdhCurve: 'P-384' })).toBe(200);
    expect(await statusFor(url, { ecdhCurve: 'X25519' })).toBe('refused');
  });
});
