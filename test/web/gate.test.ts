import net from 'node:net';
import { describe, expect, test } from 'vitest';
import { createGate } from '../../src/web/gate.ts';
import type { Route } from '../../src/web/routes.ts';
import { sendText } from '../../src/web/text.ts';
import { ask } from './ask.ts';
import { manyTrees, SLEEPER, startOrchard, startPolledOrchard, until } from './orchard.ts';
import { serveRoutes } from './routes-server.ts';

/** A route behind a gate, whose handlers end when the test says so. */
function gated(max: number): { readonly route: Route; readonly end: (() => void)[] } {
  const gate = createGate(max, '--web.max-requests');
  const end: (() => void)[] = [];
  const handle: Route['handle'] = (_request, response) =>
    gate(response, async () => {
      await new Promise<void>((resolve) => end.push(resolve));
      sendText(response, 200, 'done\n');
    });
  return { route: { path: '/', methods: ['GET'], handle }, end };
}

describe('a gate', () => {
  test('answers 503 beyond its limit, names the option, and opens again', async () => {
    const { route, end } = gated(2);
    const url = `unix:${await serveRoutes([route])}`;
    const running = [ask(url, '/'), ask(url, '/')];
    await until(() => end.length === 2);
    const refused = await ask(url, '/');
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    expect(refused.text).toContain('--web.max-requests');
    end[0]?.();
    await Promise.race(running);
    const next = ask(url, '/');
    await until(() => end.length === 3);
    for (const one of end) one();
    const all = await Promise.all([...running, next]);
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test('of 0 lets in any number', async () => {
    const { route, end } = gated(0);
    const url = `unix:${await serveRoutes([route])}`;
    const running = Array.from({ length: 60 }, () => ask(url, '/'));
    await until(() => end.length === 60);
    for (const one of end) one();
    expect(new Set((await Promise.all(running)).map(({ status }) => status))).toEqual(
      new Set([200]),
    );
  });
});

describe('--web.max-probes', () => {
  test('refuses probes beyond it, and scrapes go on', async () => {
    const { url } = await startOrchard({
      collectors: [manyTrees(3), SLEEPER],
      flags: { 'web.max-probes': '1' },
    });
    const probes = [ask(url, '/probe?cluster=orchard'), ask(url, '/probe?cluster=orchard')];
    const ended = probes.map((probe) => probe.catch(() => undefined));
    const refused = await Promise.race(probes);
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    expect(refused.text).toContain('--web.max-probes');
    expect((await ask(url)).status).toBe(200);
    void ended;
  });

  test('does not count a probe whose client has left', async () => {
    const { url } = await startOrchard({
      collectors: [manyTrees(3), SLEEPER],
      flags: { 'web.max-probes': '1' },
    });
    const { hostname: host, port } = new URL(url);
    const leaving = net.connect({ host, port: Number(port) });
    leaving.write('GET /probe?cluster=orchard HTTP/1.1\r\nHost: x\r\n\r\n');
    const probe = (): Promise<number> =>
      ask(url, '/probe?cluster=orchard&collect[]=apples').then(({ status }) => status);
    // Answered after it was begun.
    await ask(url);
    await until(async () => (await probe()) === 503);
    leaving.destroy();
    await until(async () => (await probe()) === 200);
    expect(await probe()).toBe(200);
  });

  test('and --web.max-requests do not count each other', async () => {
    const { url } = await startPolledOrchard({
      flags: { 'web.max-requests': '1', 'web.max-probes': '1' },
    });
    for (const target of ['/metrics', '/probe?cluster=orchard', '/metrics']) {
      expect((await ask(url, target)).status).toBe(200);
    }
  });
});
