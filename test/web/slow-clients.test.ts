import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import net from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Route } from '../../src/web/routes.ts';
import { sendJsonText, sendPage } from '../../src/web/status/send.ts';
import { sendText } from '../../src/web/text.ts';
import { serveRoutes } from './routes-server.ts';
import { until } from './orchard.ts';

/** Far more than the buffers of a unix socket hold. */
const LARGE = 'x'.repeat(4_000_000);
const SENDERS: readonly (readonly [string, (response: ServerResponse) => void])[] = [
  ['text', (response) => sendText(response, 200, LARGE)],
  ['a page', (response) => sendPage(response, LARGE)],
  ['JSON', (response) => sendJsonText(response, LARGE)],
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
  test.each(SENDERS)('are cut off after a while when the answer is %s', async (_what, send) => {
    const { responses, route } = keepResponses(send);
    const socket = await serveRoutes([route], { sendMs: 100 });
    requestWithoutReading(socket);
    await until(() => responses.length === 1);
    const [response] = responses;
    if (response?.closed === false) await once(response, 'close');
    expect(response?.writableFinished).toBe(false);
  });

  test('are cut off before that when more than a hundred wait, the oldest first', async () => {
    const { responses, route } = keepResponses((response) => sendText(response, 200, LARGE));
    const socket = await serveRoutes([route]);
    for (let count = 1; count <= 102; count += 1) {
      requestWithoutReading(socket);
      await until(() => responses.length === count);
    }
    await until(() => responses.filter(({ closed }) => closed).length === 2);
    expect(responses.map(({ closed }) => closed)).toEqual([
      true,
      true,
      ...Array.from({ length: 100 }, () => false),
    ]);
  });

  test('who reads gets all of it', async () => {
    const { responses, route } = keepResponses((response) => sendText(response, 200, LARGE));
    const socket = await serveRoutes([route]);
    const client = requestWithoutReading(socket).resume();
    let bytes = 0;
    client.on('data', (chunk: Buffer) => (bytes += chunk.length));
    await until(() => bytes > LARGE.length);
    expect(responses.map(({ writableFinished }) => writableFinished)).toEqual([true]);
  });
});
