import type { ServerResponse } from 'node:http';
import type { LookupFunction } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { codeOf } from '../../../src/cockroach/http/errors.ts';
import { createAuthority } from '../../support/certificates.ts';
import { ask, connect } from '../../support/http-client.ts';
import { serveTls } from '../../support/https-server.ts';

const authority = await createAuthority();
const ca = authority.cert;
const server = await authority.issue({ name: 'node', sans: ['ip:127.0.0.1', 'dns:crdb.example'] });
const [first, second] = await Promise.all([
  authority.issue({ name: 'first', usage: 'client' }),
  authority.issue({ name: 'second', usage: 'client' }),
]);
const CHECKED = { rejectUnauthorized: true } as const;

/** Every name is this host. */
const lookup: LookupFunction = (_host, _options, callback) => {
  callback(null, [{ address: '127.0.0.1', family: 4 }]);
};

describe('the certificate of a node', () => {
  test('is accepted only when the configured CA signed it', async () => {
    await using node = await serveTls(server);
    await using client = connect([node.url], { tls: { ...CHECKED, ca } });
    expect(await ask(client)).toBe('{"fine":true}');
    await using stranger = connect([node.url], { tls: CHECKED });
    await expect(ask(stranger)).rejects.toMatchObject({ reason: 'tls' });
  });

  test('is accepted from an intermediate CA that is configured without its root', async () => {
    const between = await authority.issueAuthority('between');
    const beside = await authority.issueAuthority('beside');
    const { cert, key } = await between.issue({ name: 'node', sans: ['ip:127.0.0.1'] });
    for (const chain of [cert, `${cert}\n${between.cert}`]) {
      await using node = await serveTls({ cert: chain, key });
      await using client = connect([node.url], { tls: { ...CHECKED, ca: between.cert } });
      expect(await ask(client)).toBe('{"fine":true}');
      await using stranger = connect([node.url], { tls: { ...CHECKED, ca: beside.cert } });
      await expect(ask(stranger)).rejects.toMatchObject({ reason: 'tls' });
    }
  });

  test('is not accepted when it has expired, is for another host or for clients only', async () => {
    for (const subject of [
      { name: 'expired', sans: ['ip:127.0.0.1'], days: -1 },
      { name: 'elsewhere', sans: ['dns:elsewhere.example'] },
      { name: 'client', sans: ['ip:127.0.0.1'], usage: 'client' },
    ] as const) {
      await using node = await serveTls(await authority.issue(subject));
      await using client = connect([node.url], { tls: { ...CHECKED, ca } });
      await expect(ask(client)).rejects.toMatchObject({ reason: 'tls' });
      expect(node.requests).toEqual([]);
    }
  });

  test('makes no long errors, whatever names it has', async () => {
    const sans = Array.from({ length: 900 }, (_, index) => `dns:node-${index}.example`);
    await using node = await serveTls(await authority.issue({ name: 'elsewhere', sans }));
    await using client = connect([node.url], { tls: { ...CHECKED, ca, servername: 'x.example' } });
    const error: unknown = await ask(client).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ reason: 'tls' });
    expect(codeOf(error)).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
    for (let at = error; at instanceof Error; at = at.cause) {
      expect(at.message).toContain('altnames');
      expect(at.message.length).toBeLessThan(500);
    }
  });

  test('may be for the name that is configured', async () => {
    await using node = await serveTls(server);
    await using good = connect([node.url], { tls: { ...CHECKED, ca, servername: 'crdb.example' } });
    expect(await ask(good)).toBe('{"fine":true}');
    await using bad = connect([node.url], { tls: { ...CHECKED, ca, servername: 'x.example' } });
    await expect(ask(bad)).rejects.toMatchObject({ reason: 'tls' });
  });

  test('is checked for a host name with a dot at its end, or in another case, as without', async () => {
    await using node = await serveTls(server);
    for (const name of ['crdb.example', 'crdb.example.', 'CRDB.Example']) {
      const tls = { ...CHECKED, ca, lookup };
      await using client = connect([`https://${name}:${node.port}`], { tls });
      expect(await ask(client)).toBe('{"fine":true}');
    }
    await using other = connect([`https://x.example.:${node.port}`], {
      tls: { ...CHECKED, ca, lookup },
    });
    await expect(ask(other)).rejects.toMatchObject({ reason: 'tls' });
  });

  test('is not checked when verification is off', async () => {
    await using node = await serveTls(await authority.issue({ name: 'x', days: -1 }));
    await using client = connect([node.url], { tls: { rejectUnauthorized: false } });
    expect(await ask(client)).toBe('{"fine":true}');
  });

  test('is not accepted over TLS older than 1.2', async () => {
    await using node = await serveTls({
      ...server,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT:@SECLEVEL=0',
    });
    await using client = connect([node.url], { tls: { ...CHECKED, ca } });
    await expect(ask(client)).rejects.toMatchObject({ reason: 'tls' });
  });
});

describe('the certificate of the exporter', () => {
  const demanding = { ...server, ca, requestCert: true, rejectUnauthorized: true };

  test('is presented to a node that requests one', async () => {
    await using node = await serveTls(demanding);
    await using client = connect([node.url], { tls: { ...CHECKED, ca, ...first } });
    expect(await ask(client)).toBe('{"fine":true}');
    await using without = connect([node.url], { tls: { ...CHECKED, ca } });
    await expect(ask(without)).rejects.toMatchObject({ name: 'RequestError' });
  });

  test('can be replaced: requests in flight end, the next connection presents the new one', async () => {
    const waiting: ServerResponse[] = [];
    const shown: string[] = [];
    await using node = await serveTls(demanding, (request, response) => {
      const { socket } = request;
      if (socket instanceof TLSSocket) shown.push(String(socket.getPeerCertificate().subject.CN));
      if (waiting.push(response) > 1) response.end('{"fine":true}');
    });
    await using client = connect([node.url], { tls: { ...CHECKED, ca, ...first } });
    const underWay = ask(client);
    while (waiting.length === 0) await sleep(5);
    client.http.useTls({ ...CHECKED, ca, ...second });
    expect(await ask(client)).toBe('{"fine":true}');
    waiting[0]?.end('{"old":true}');
    expect(await underWay).toBe('{"old":true}');
    expect(await ask(client)).toBe('{"fine":true}');
    expect(shown).toEqual(['first', 'second', 'second']);
  });

  test('connections of the replaced one are closed', async () => {
    await using node = await serveTls(demanding);
    await using client = connect([node.url], { tls: { ...CHECKED, ca, ...first } });
    await ask(client);
    const socket = node.requests[0]?.socket;
    client.http.useTls({ ...CHECKED, ca, ...second });
    await expect.poll(() => socket?.destroyed).toBe(true);
  });
});
