import type { ServerResponse } from 'node:http';
import net from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Route, sendText } from '../../../src/exporter/routes/respond.ts';
import { connectionsFor } from '../../../src/exporter/server/connections.ts';
import { parseExposition } from '../../metrics/parse-exposition.ts';
import { fetchPath } from '../routes/fetch-path.ts';
import { type Orchard, startOrchard, until } from '../routes/orchard.ts';
import { serveRoutes } from './serve-routes.ts';

const MAX_OPEN = 1_000;
const DROPPED = 'crdb_exporter_web_connections_dropped_total';

/** A connection that is kept open until the test has ended. */
function keep(socket: net.Socket): net.Socket {
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
});

/** A server whose requests for / wait; `request` opens a connection for one. */
async function serveWaiting() {
  const responses: ServerResponse[] = [];
  const handle: Route['handle'] = (response) => void responses.push(response);
  const healthy: Route = {
    path: '/-/healthy',
    handle: (response) => sendText(response, 200, 'healthy\n'),
  };
  const path = await serveRoutes([{ path: '/', handle }, healthy]);
  const request = (target: string): net.Socket => {
    const socket = keep(net.connect(path));
    socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
    return socket;
  };
  return { responses, path, request };
}

test('idle connections do not close one that waits for its response', async () => {
  const { responses, path, request } = await serveWaiting();
  const waiting = request('/');
  await until(() => responses.length === 1);
  const idle: net.Socket[] = [];
  while (idle.length < MAX_OPEN + 200) {
    const socket = keep(net.connect(path));
    await new Promise((resolve) => socket.once('connect', resolve));
    idle.push(socket);
  }
  await until(() => idle[200]?.closed === true);
  expect(waiting.closed).toBe(false);
  let received = '';
  waiting.on('data', (chunk: Buffer) => (received += chunk.toString()));
  const [response] = responses;
  if (response) sendText(response, 200, 'waited\n');
  await until(() => received.includes('waited'));
});

test('connections whose responses are not ready are closed for new ones where all are such', async () => {
  const { responses, request } = await serveWaiting();
  const busy: net.Socket[] = [];
  while (busy.length < MAX_OPEN) {
    busy.push(request('/'));
    await until(() => responses.length === busy.length);
  }
  let received = '';
  request('/-/healthy').on('data', (chunk: Buffer) => (received += chunk.toString()));
  await until(() => received.includes('healthy'));
  expect(busy.flatMap(({ closed }, index) => (closed ? index : []))).toEqual([0]);
});

test.each([
  [64, 12],
  [10, 8],
  [256, 108],
  [1_024, 492],
  [2_040, 1_000],
  [1_048_576, 1_000],
])('of %i descriptors, %i are for connections of clients', (descriptors, connections) => {
  expect(connectionsFor(descriptors)).toBe(connections);
});
