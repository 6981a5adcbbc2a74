import net from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sendText } from '../../../src/web/respond.ts';
import type { Route } from '../../../src/web/server/app.ts';
import { createFairQueue } from '../../../src/web/server/limits.ts';
import { until } from '../orchard.ts';
import { serveRoutes } from './serve-routes.ts';

const EXPENSIVE_REQUESTS = 40;

describe('many expensive requests at the same time', () => {
  test('do not delay probes', async () => {
    const order: string[] = [];
    const expensive: Route = {
      path: '/',
      methods: ['GET'],
      handle(_request, response) {
        order.push('expensive');
        // As long as a large answer takes to be rendered: all other requests arrive meanwhile.
        const end = performance.now() + 20;
        while (performance.now() < end);
        sendText(response, 200, 'done\n');
      },
    };
    const probe: Route = {
      path: '/-/healthy',
      methods: ['GET'],
      isProbe: true,
      handle(_request, response) {
        order.push('probe');
        sendText(response, 200, 'healthy\n');
      },
    };
    const socket = await serveRoutes([expensive, probe]);
    const paths = [...Array.from({ length: EXPENSIVE_REQUESTS }, () => '/'), '/-/healthy'];
    for (const path of paths) {
      const client = net.connect(socket);
      onTestFinished(() => void client.destroy());
      client.resume().write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    }
    await until(() => order.length === EXPENSIVE_REQUESTS + 1);
    expect(order.indexOf('probe')).toBeLessThan(EXPENSIVE_REQUESTS / 2);
  });
});

describe('the fair queue', () => {
  test('serves the clients round robin, however many tasks one of them has', async () => {
    const enqueue = createFairQueue();
    const done: string[] = [];
    const tasks = ['a', 'a', 'a', 'b', 'c', 'b'];
    for (const client of tasks) enqueue(client, () => done.push(client));
    await until(() => done.length === tasks.length);
    expect(done.join('')).toBe('aabcab');
  });
});
