import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Route, sendJson, sendPage, sendText } from '../../../src/web/respond.ts';
import { until } from '../orchard.ts';
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
  const handle: Route['handle'] = (_request, response) => {
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

  test('keep their connection while they take something, however slowly', async () => {
    const { route } = keepResponses((response) => sendJson(response, HUGE));
    const client = requestWithoutReading(await serveRoutes([route], { sendMs: 1_000 }));
    for (let round = 0; round < 10; round += 1) {
      await sleep(150);
      client.resume();
      await once(client, 'data');
      client.pause();
    }
    expect(client.destroyed).toBe(false);
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
