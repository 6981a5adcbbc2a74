import { IncomingMessage, ServerResponse } from 'node:http';
import net from 'node:net';
import tls from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ADMITTED, Connections } from '../../../src/web/server/connections.ts';
import { parseExposition } from '../../metrics/parse-exposition.ts';
import { createAuthority } from '../../support/certificates.ts';
import { fetchPath } from '../fetch-path.ts';
import { manyTrees, type Orchard, SLEEPER, startOrchard, until } from '../orchard.ts';

const MAX_OPEN = 1_000;
const DROPPED = 'crdb_exporter_web_connections_dropped_total';
/** As many as may wait. */
const COMPARISONS = 200;
const PROBE = 'GET /probe?cluster=orchard HTTP/1.1\r\nHost: x\r\n\r\n';

/** A connection that is kept open until the test has ended. */
function keep<T extends net.Socket>(socket: T): T {
  onTestFinished(() => void socket.destroy());
  return socket.on('error', () => undefined).resume();
}

function addressOf({ url }: Orchard): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

/** Connections that say nothing, opened one after the other. */
async function openIdle(orchard: Orchard, count: number): Promise<readonly net.Socket[]> {
  const sockets: net.Socket[] = [];
  for (let opened = 0; opened < count; opened += 1) {
    const socket = keep(net.connect(addressOf(orchard)));
    await new Promise((resolve) => socket.once('connect', resolve));
    sockets.push(socket);
  }
  return sockets;
}

function readDropped(text: string): number | undefined {
  return parseExposition(text).find(({ name }) => name === DROPPED)?.value;
}

describe('more idle connections than may be open', () => {
  test('are closed, the longest idle first; new clients are served, counted and logged', async () => {
    const orchard = await startOrchard();
    expect(readDropped((await fetchPath(orchard.url)).text)).toBe(0);
    const idle = await openIdle(orchard, MAX_OPEN);
    expect(idle.some(({ closed }) => closed)).toBe(false);
    const [first, second, third] = idle;
    expect((await fetchPath(orchard.url, '/-/healthy')).status).toBe(200);
    await until(() => first?.closed === true);
    // The connection of that request has been closed, so that there is space for one.
    await until(async () => (await fetchPath(orchard.url, '/-/healthy')).status === 200);
    const more = await openIdle(orchard, 2);
    await until(() => second?.closed === true);
    expect(more.map(({ closed }) => closed)).toEqual([false, false]);
    const dropped = readDropped((await fetchPath(orchard.url)).text) ?? 0;
    expect(dropped).toBeGreaterThanOrEqual(2);
    expect(idle.filter(({ closed }) => closed).length).toBeLessThanOrEqual(dropped);
    await until(() => third?.closed === true);
    expect(orchard.log().match(/too many open connections/g)).toHaveLength(1);
    expect(orchard.log()).not.toContain('127.0.0.1:' + String(first?.localPort));
  });

  test('a connection is idle again after its response, and ranks by its last one', async () => {
    const orchard = await startOrchard();
    // Those that have been closed do not count.
    for (const socket of await openIdle(orchard, 20)) socket.destroy();
    const [used, unused] = await openIdle(orchard, 2);
    const received = new Promise((resolve) => used?.once('data', resolve));
    used?.write('GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n');
    await received;
    await openIdle(orchard, MAX_OPEN - 3);
    expect(readDropped((await fetchPath(orchard.url)).text)).toBe(0);
    await openIdle(orchard, 2);
    await until(() => unused?.closed === true);
    expect(used?.closed).toBe(false);
    await openIdle(orchard, 1);
    await until(() => used?.closed === true);
  });

  test.each(['http', 'https'])('do not end a running response over %s', async (scheme) => {
    const authority = await createAuthority();
    const { cert, key } = await authority.issue({ name: 'exporter', sans: ['ip:127.0.0.1'] });
    const orchard = await startOrchard({
      collectors: [manyTrees(3), SLEEPER],
      ...(scheme === 'https' && {
        webConfig: 'tls_server_config: { cert_file: server.crt, key_file: server.key }\n',
        files: { 'server.crt': cert, 'server.key': key },
      }),
    });
    const address = addressOf(orchard);
    const busy = keep(
      scheme === 'http' ? net.connect(address) : tls.connect({ ...address, ca: authority.cert }),
    );
    busy.write(PROBE);
    // Sent after it, and answered: so the probe is under way.
    await fetchPath(orchard.url, '/-/healthy', { tls: { ca: authority.cert } });
    const idle = await openIdle(orchard, MAX_OPEN);
    await until(() => idle[0]?.closed === true);
    expect(busy.closed).toBe(false);
  });
});

/** Guesses a password from another address. */
function guess(orchard: Orchard, number: number): net.Socket {
  const address = { ...addressOf(orchard), localAddress: '127.0.0.2' };
  const socket = keep(net.connect(address));
  const credentials = btoa(`ops:guess ${number % COMPARISONS}`);
  socket.write(`GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${credentials}\r\n\r\n`);
  return socket;
}

test('connections that wait for their passwords to be compared do not block other clients', async () => {
  const orchard = await startOrchard({
    // A comparison takes seconds.
    webConfig: `basic_auth_users: { ops: "$2b$15$${'.'.repeat(22)}${'0'.repeat(31)}" }\n`,
  });
  const guesses = Array.from({ length: MAX_OPEN }, (_, number) => guess(orchard, number));
  await until(() => guesses.every(({ connecting }) => !connecting));
  const healthy = Array.from({ length: 30 }, () => fetchPath(orchard.url, '/-/healthy'));
  expect((await Promise.all(healthy)).map(({ status }) => status)).toEqual(healthy.map(() => 200));
  expect(guesses.filter(({ closed }) => closed).length).toBeLessThan(MAX_OPEN / 2);
});

/** A socket that is not connected, of a client with this address. */
function socketOf(remoteAddress: string): net.Socket {
  return Object.defineProperty(new net.Socket(), 'remoteAddress', { value: remoteAddress });
}

/** Adds a connection with an admitted request. */
function addBusy(connections: Connections, address: string): net.Socket {
  const socket = socketOf(address);
  connections.add(socket);
  const response = new ServerResponse(new IncomingMessage(socket));
  connections.begin(socket, response);
  response.emit(ADMITTED);
  return socket;
}

describe('when all connections are busy', () => {
  test('the client with the most loses its oldest one to another client, but not to itself', () => {
    let dropped = 0;
    const connections = new Connections(() => (dropped += 1));
    const few = Array.from({ length: 400 }, () => addBusy(connections, '10.0.0.1'));
    const many = Array.from({ length: 600 }, () => addBusy(connections, '10.0.0.2'));
    const others = [addBusy(connections, '10.0.0.3'), addBusy(connections, '10.0.0.3')];
    const own = addBusy(connections, '10.0.0.2');
    expect(many.map(({ destroyed }) => destroyed).indexOf(false)).toBe(2);
    expect([...few, ...others, ...many.slice(2)].some(({ destroyed }) => destroyed)).toBe(false);
    expect([own.destroyed, dropped]).toEqual([true, 3]);
  });

  test('an idle one is closed first, each only once', () => {
    let dropped = 0;
    const connections = new Connections(() => (dropped += 1));
    const idle = [socketOf('10.0.0.1'), socketOf('10.0.0.1')];
    for (const socket of idle) connections.add(socket);
    const busy = Array.from({ length: MAX_OPEN }, () => addBusy(connections, '10.0.0.2'));
    expect(idle.map(({ destroyed }) => destroyed)).toEqual([true, true]);
    expect([busy.some(({ destroyed }) => destroyed), dropped]).toEqual([false, 2]);
  });
});

test('closing all connections ends idle ones at once, and a busy one with its response', () => {
  const connections = new Connections(() => undefined);
  const [idle, busy] = [socketOf('10.0.0.1'), socketOf('10.0.0.1')];
  connections.add(idle);
  connections.add(busy);
  const response = new ServerResponse(new IncomingMessage(busy));
  connections.begin(busy, response);
  // Too late for a header that closes the connection.
  response.writeHead(200);
  connections.closeAll();
  expect([idle.destroyed, busy.destroyed]).toEqual([true, false]);
  response.emit('close');
  expect(busy.destroyed).toBe(true);
});

test('destroying all connections does not wait for responses', () => {
  const connections = new Connections(() => undefined);
  const busy = addBusy(connections, '10.0.0.1');
  connections.destroyAll();
  expect(busy.destroyed).toBe(true);
});
