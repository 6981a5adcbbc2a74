import net from 'node:net';
import tls, { type ConnectionOptions } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { TLS_REFUSALS } from '../../../src/base/vocabulary.ts';
import { parseExposition } from '../../metrics/parse-exposition.ts';
import { createAuthority, type Identity } from '../../support/certificates.ts';
import { fetchPath } from '../routes/fetch-path.ts';
import { type Orchard, startOrchard } from '../routes/orchard.ts';

const [ours, theirs] = await Promise.all([createAuthority('ours'), createAuthority('theirs')]);
const client = { name: 'prometheus', usage: 'client', sans: ['dns:prometheus.example'] } as const;
const [server, good, expired, nameless, foreign] = await Promise.all([
  ours.issue({ name: 'exporter', sans: ['ip:127.0.0.1'] }),
  ours.issue(client),
  ours.issue({ ...client, days: -1 }),
  ours.issue({ ...client, sans: [] }),
  theirs.issue(client),
]);

const RULES =
  'client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.crt, client_allowed_sans: [prometheus.example]';

function start(rules = RULES, clientCa = ours.cert): Promise<Orchard> {
  return startOrchard({
    webConfig: `tls_server_config: { cert_file: server.crt, key_file: server.key, ${rules} }\n`,
    files: { 'server.crt': server.cert, 'server.key': server.key, 'ca.crt': clientCa },
  });
}

function target({ url }: Orchard): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

/** All that a client receives that sends these bytes over TLS, or without options in plain text. */
async function receive(orchard: Orchard, bytes: string, options?: ConnectionOptions) {
  const address = target(orchard);
  const socket = options
    ? tls.connect({ ...address, ca: ours.cert, ...options })
    : net.connect(address);
  const received: Buffer[] = [];
  socket.on('error', () => undefined).on('data', (chunk: Buffer) => received.push(chunk));
  socket.end(bytes);
  await closed(socket);
  return Buffer.concat(received).toString();
}

function closed(socket: net.Socket): Promise<unknown> {
  return new Promise((resolve) => socket.once('close', resolve));
}

/** The counter of each reason. */
async function refusals({ url }: Orchard): Promise<Record<string, number>> {
  const { text } = await fetchPath(url, '/metrics', { tls: { ca: ours.cert, ...good } });
  const name = 'crdb_exporter_web_tls_refused_total';
  const samples = parseExposition(text).filter((sample) => sample.name === name);
  return Object.fromEntries(samples.map(({ labels, value }) => [labels['reason'], value]));
}

const NONE = Object.fromEntries(TLS_REFUSALS.map((reason) => [reason, 0]));
const REQUEST = 'GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n';
/** What Prometheus shows of the answer, which is its status line. */
const REFUSED: readonly (readonly [string, Identity | undefined, string])[] = [
  ['no_certificate', undefined, '403 certificate required'],
  ['unknown_ca', foreign, '403 unknown certificate authority'],
  ['expired', expired, '403 certificate expired or not yet valid'],
  ['name', nameless, '403 bad certificate: no allowed name'],
];

describe('a client that TLS refuses', () => {
  test.each(REFUSED)('%s: is told, counted and logged', async (reason, identity, line) => {
    const orchard = await start();
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const answer = await receive(orchard, REQUEST, { ...identity, maxVersion });
      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${line}\r\n[^]*\r\n\r\n.*certificate.*\n$`));
    }
    expect(await refusals(orchard)).toEqual({ ...NONE, [reason]: 2 });
    const lines = orchard.log().match(/^.*client refused: .*$/gm) ?? [];
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(new RegExp(`level=warn .*reason=${reason} client=127.0.0.1`));
    const later = orchard.log().match(/^.*msg="client refused" .*$/gm) ?? [];
    expect(later).toHaveLength(1);
    expect(later[0]).toMatch(new RegExp(`level=debug .*reason=${reason} client=127.0.0.1`));
  });

  test('is told the same whatever it sends, and none of it is read', async () => {
    const orchard = await start();
    for (const bytes of ['\0', 'nonsense', 'HEAD / HTTP/1.1\r\n\r\n', 'x'.repeat(1_000_000)]) {
      expect(await receive(orchard, bytes, foreign)).toContain('403 unknown certificate authority');
    }
  });

  test('plain HTTP gets 400 with a sentence, on every path', async () => {
    const orchard = await start();
    for (const request of [REQUEST, 'POST /-/reload HTTP/1.0\r\n\r\n', 'G']) {
      const answer = await receive(orchard, request);
      expect(answer).toMatch(/^HTTP\/1\.1 400 HTTP request to an HTTPS server\r\n/);
      expect(answer).toMatch(/plain HTTP .* use https\n$/);
    }
    expect(await refusals(orchard)).toEqual({ ...NONE, plain_http: 3 });
  });

  test('without a common version or a record of TLS is counted as other', async () => {
    const orchard = await start();
    await receive(orchard, '', {
      ...good,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT:@SECLEVEL=0',
    });
    await receive(orchard, '\u0001nothing');
    expect(await refusals(orchard)).toEqual({ ...NONE, other: 2 });
    expect(orchard.log()).toMatch(/level=warn .*reason=other .*detail=/);
  });

  test('is not one that only tries the port', async () => {
    const orchard = await start();
    for (let count = 0; count < 3; count += 1) expect(await receive(orchard, '')).toBe('');
    expect(await refusals(orchard)).toEqual(NONE);
    expect(orchard.log()).not.toContain('client refused');
  });

  test('is disconnected when it sends nothing', async () => {
    const orchard = await startOrchard({
      webConfig: `tls_server_config: { cert_file: server.crt, key_file: server.key, ${RULES} }\n`,
      files: { 'server.crt': server.cert, 'server.key': server.key, 'ca.crt': ours.cert },
      app: {
        timeouts: { headersMs: 200, requestMs: 300, checkMs: 50, sendMs: 1_000, sendAllMs: 1_000 },
      },
    });
    const silent = net.connect(target(orchard));
    const refused = tls.connect({ ...target(orchard), ca: ours.cert, ...foreign });
    await Promise.all([silent, refused].map((socket) => closed(socket.resume())));
    expect(await refusals(orchard)).toEqual({ ...NONE, unknown_ca: 1 });
  });
});

describe('CAs of clients that are intermediate', async () => {
  const between = await ours.issueAuthority('between');
  const beside = await ours.issueAuthority('beside');
  const rules = 'client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.crt';
  const leaf = await between.issue(client);
  const chain = { key: leaf.key, cert: `${leaf.cert}\n${between.cert}` };
  const sibling = await beside.issue(client);

  test.each([
    ['the intermediate', between.cert, { leaf: 200, chain: 200, sibling: 403, root: 403 }],
    ['the root', ours.cert, { leaf: 403, chain: 200, sibling: 403, root: 200 }],
    ['both', `${between.cert}\n${ours.cert}`, { leaf: 200, chain: 200, sibling: 403, root: 200 }],
  ])('with %s in the file exactly its clients are admitted', async (_what, file, expected) => {
    const orchard = await start(rules, file);
    const found: Record<string, number> = {};
    const clients = { leaf, chain, sibling, root: good };
    for (const [name, identity] of Object.entries(clients)) {
      // By address and by name: a server chooses its context by the name.
      for (const servername of ['', 'localhost']) {
        const tlsOptions = { ca: ours.cert, servername, checkServerIdentity: () => undefined };
        const options = { tls: { ...tlsOptions, ...identity } };
        found[name] = (await fetchPath(orchard.url, '/-/healthy', options)).status;
        expect([name, found[name]]).toEqual([name, Reflect.get(expected, name)]);
      }
    }
    await orchard.write('server.crt', server.cert);
    await orchard.app.reload();
    const again = await fetchPath(orchard.url, '/-/healthy', { tls: { ca: ours.cert, ...chain } });
    expect(again.status).toBe(200);
  });
});
