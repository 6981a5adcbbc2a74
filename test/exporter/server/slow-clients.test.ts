import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Route, sendJson, sendPage, sendText } from '../../../src/exporter/routes/respond.ts';
import { until } from '../routes/orchard.ts';
import { serveRoutes } from './serve-routes.ts';

/** Far more than the buffers of a unix socket hold. */
const LARGE = 'x'.repeat(4_000_000);
/** More than a client that reads slowly takes during a test. */
const HUGE = Buffer.alloc(40_000_000, 'x');
const SENDERS: readonly (readonly [string, (response: ServerResponse) => void])[] = [
  ['text', (response) => sendText(response, 200, LARGE)],
  ['a page', (response) => sendPage(response, Buffer.from(LARGE))],
  ['JSON', (response) => sendJson(response, Buffer.from(LARGE))],
];

/** A route that keeps its responses, to see what becomes of them. */
function keepResponses(send: (response: ServerResponse) => void): {
  readonly responses: readonly ServerResponse[];
  readonly route: Route;
} {
  const responses: ServerResponse[] = [];
  const handle: Route['handle'] = (response) => {
    responses.push(response);
    send(response);
  };
  return { responses, route: { path: '/', methods: ['GET'], handle } };
}

/** Requests / and reads nothing. */
function requestWithoutReading(socket: string): net.Socket {
  const client = net.connect(socket).on('error', () => undefined);
  onTestFinished(() => void client.destroy());
  client.pause().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  return client;
}

/** Takes a little of a response again and again, until the connection is closed or for this many rounds. */
async function trickle(client: net.Socket, rounds: number): Promise<void> {
  for (let round = 0; round < rounds && !client.destroyed; round += 1) {
    await sleep(150);
    client.once('data', () => client.pause()).resume();
  }
}

describe('clients that do not read', () => {
  test.each(SENDERS)(
    'are disconnected after the timeout when the response is %s',
    async (_what, send) => {
      const { responses, route } = keepResponses(send);
      const socket = await serveRoutes([route], { sendMs: 100 });
      requestWithoutReading(socket);
      await until(() => responses.length === 1);
      const [response] = responses;
      if (response?.closed === false) await once(response, 'close');
      expect(response?.writableFinished).toBe(false);
    },
  );

  test('keep their connection while they take something', async () => {
    const { responses, route } = keepResponses((response) => sendJson(response, HUGE));
    const client = requestWithoutReading(await serveRoutes([route], { sendMs: 1_000 }));
    await trickle(client, 10);
    expect(responses[0]?.closed).toBe(false);
  });

  test('are disconnected when they have not taken all of it after a longer time', async () => {
    const { responses, route } = keepResponses((response) => sendJson(response, HUGE));
    const timeouts = { sendMs: 60_000, sendAllMs: 500 };
    const client = requestWithoutReading(await serveRoutes([route], timeouts));
    await Promise.race([trickle(client, 1_000), until(() => responses[0]?.closed === true)]);
    expect(responses[0]?.writableFinished).toBe(false);
    client.destroy();
  });

  test('cause no copies of unsent data', async () => {
    const { responses, route } = keepResponses((response) => sendText(response, 200, LARGE));
    const socket = await serveRoutes([route]);
    requestWithoutReading(socket);
    await until(() => responses[0]?.writableNeedDrain === true);
    // A slice of 64 KiB and the headers.
    expect(responses[0]?.socket?.writableLength).toBeLessThan(66_000);
  });

  test('a client that reads gets everything', async () => {
    const { responses, route } = keepResponses((response) => sendText(response, 200, LARGE));
    const socket = await serveRoutes([route]);
    const client = requestWithoutReading(socket).resume();
    let bytes = 0;
    client.on('data', (chunk: Buffer) => (bytes += chunk.length));
    await until(() => bytes > LARGE.length);
    expect(responses.map(({ writableFinished }) => writableFinished)).toEqual([true]);
  });
});
