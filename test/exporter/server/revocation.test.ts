import { connect, type TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAuthority, type Identity } from '../../support/certificates.ts';
import { fetchPath } from '../routes/fetch-path.ts';
import {
  manyTrees,
  type Orchard,
  SLEEPER,
  startOrchard,
  until,
  WEB_CONFIG,
} from '../routes/orchard.ts';

const [authority, others] = await Promise.all([createAuthority(), createAuthority('others')]);
const client = { name: 'prometheus', usage: 'client' } as const;
const [server, renewed, accepted, foreign] = await Promise.all([
  authority.issue({ name: 'exporter', sans: ['ip:127.0.0.1'] }),
  authority.issue({ name: 'exporter', sans: ['ip:127.0.0.1'] }),
  authority.issue(client),
  others.issue(client),
]);

const TLS =
  'tls_server_config: { cert_file: server.crt, key_file: server.key, client_ca_file: ca.crt, client_auth_type: RequireAndVerifyClientCert }\n';

/** Accepts the clients of `authority`. */
function start(): Promise<Orchard> {
  return startOrchard({
    webConfig: TLS,
    files: { 'server.crt': server.cert, 'server.key': server.key, 'ca.crt': authority.cert },
    collectors: [manyTrees(3), SLEEPER],
  });
}

/** A connection of the accepted client, with everything received so far. */
function connectTo({ url }: Orchard): {
  readonly socket: TLSSocket;
  readonly received: () => string;
} {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), ca: authority.cert, ...accepted });
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket.on('error', () => undefined).on('data', (chunk: Buffer) => (received += chunk.toString()));
  return { socket, received: () => received };
}

describe('when the CA of clients is replaced', () => {
  test('new connections need a certificate of the new one', async () => {
    const { url, write } = await start();
    // The change of the CA closes connections of the old one, also one that has just been refused.
    const isServed = async (identity: Identity): Promise<boolean> =>
      await fetchPath(url, '/', { tls: { ca: authority.cert, ...identity } }).then(
        ({ status }) => status === 200,
        () => false,
      );
    expect([await isServed(accepted), await isServed(foreign)]).toEqual([true, false]);
    await write('ca.crt', others.cert);
    await until(() => isServed(foreign));
    expect(await isServed(accepted)).toBe(false);
    // The certificate has no such name.
    await write(WEB_CONFIG, TLS.replace(' }', ', client_allowed_sans: [prometheus] }'));
    await until(async () => !(await isServed(foreign)));
  });

  test('an idle connection of the old one is closed, but by no other change', async () => {
    const orchard = await start();
    const { app, write } = orchard;
    const { socket, received } = connectTo(orchard);
    const responses = (): number => received().split('healthy\n').length - 1;
    socket.write('GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => responses() === 1);
    await app.reload();
    await Promise.all([write('server.crt', renewed.cert), write('server.key', renewed.key)]);
    await app.reload();
    socket.write('GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => socket.closed || responses() === 2);
    expect(responses()).toBe(2);
    await write('ca.crt', others.cert);
    await expect.poll(() => socket.closed).toBe(true);
  });

  test('a response on a connection of the old one is completed before it is closed', async () => {
    const orchard = await start();
    const { socket, received } = connectTo(orchard);
    const timeout = 'X-Prometheus-Scrape-Timeout-Seconds: 2';
    socket.write(`GET /probe?cluster=orchard HTTP/1.1\r\nHost: x\r\n${timeout}\r\n\r\n`);
    // Sent after the probe, which is being handled when this response arrives.
    await fetchPath(orchard.url, '/-/healthy', { tls: { ca: authority.cert, ...accepted } });
    await orchard.write('ca.crt', others.cert);
    await orchard.app.reload();
    expect([socket.closed, received()]).toEqual([false, '']);
    await expect.poll(() => socket.closed).toBe(true);
    const [head, body] = received().split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(head?.toLowerCase()).toContain('\r\nconnection: close');
    expect(body).toContain('crdb_up');
  });
});
