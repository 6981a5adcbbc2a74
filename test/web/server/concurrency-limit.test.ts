import net from 'node:net';
import { describe, expect, test } from 'vitest';
import { type Route, sendText } from '../../../src/web/respond.ts';
import { createConcurrencyLimit } from '../../../src/web/routes.ts';
import { fetchPath, type ReceivedResponse } from '../fetch-path.ts';
import { manyTrees, SLEEPER, startOrchard, until } from '../orchard.ts';
import { serveRoutes } from './serve-routes.ts';

/** A route with a limit, whose handlers end when the test ends them. */
function limited(max: number): { readonly route: Route; readonly end: (() => void)[] } {
  const limit = createConcurrencyLimit(max, '--web.max-requests');
  const end: (() => void)[] = [];
  const handle: Route['handle'] = (_request, response) =>
    limit(response, async () => {
      await new Promise<void>((resolve) => end.push(resolve));
      sendText(response, 200, 'done\n');
    });
  return { route: { path: '/', methods: ['GET'], handle }, end };
}

describe('a concurrency limit', () => {
  test('returns 503 above the limit, names the option, and recovers', async () => {
    const { route, end } = limited(2);
    const url = `unix:${await serveRoutes([route])}`;
    const running = [fetchPath(url, '/'), fetchPath(url, '/')];
    await until(() => end.length === 2);
    const refused = await fetchPath(url, '/');
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    expect(refused.text).toContain('--web.max-requests');
    end[0]?.();
    await Promise.race(running);
    const next = fetchPath(url, '/');
    await until(() => end.length === 3);
    for (const one of end) one();
    const all = await Promise.all([...running, next]);
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test('of 0 allows any number', async () => {
    const { route, end } = limited(0);
    const url = `unix:${await serveRoutes([route])}`;
    const running = Array.from({ length: 60 }, () => fetchPath(url, '/'));
    await until(() => end.length === 60);
    for (const one of end) one();
    expect(new Set((await Promise.all(running)).map(({ status }) => status))).toEqual(
      new Set([200]),
    );
  });
});

describe('--web.max-probes', () => {
  const WAITING = '/probe?cluster=orchard&collect[]=sleeper';

  /** Probes that wait until the exporter stops; rejected then. */
  function startProbes(url: string, count: number, query = WAITING): void {
    for (let each = 0; each < count; each += 1) fetchPath(url, query).catch(() => undefined);
  }

  test('refuses other waits above it, and scrapes continue', async () => {
    const { url } = await startOrchard({
      collectors: [manyTrees(3), SLEEPER],
      flags: { 'web.max-probes': '1' },
    });
    startProbes(url, 1);
    const other = (): Promise<ReceivedResponse> => fetchPath(url, '/probe?cluster=orchard');
    await until(async () => (await other()).status === 503);
    const refused = await other();
    expect(refused.headers['retry-after']).toBe('1');
    expect(refused.text).toContain('--web.max-probes');
    expect((await fetchPath(url)).status).toBe(200);
  });

  test('does not count a probe whose client has left', async () => {
    const { url } = await startOrchard({
      collectors: [manyTrees(3), SLEEPER],
      flags: { 'web.max-probes': '1' },
    });
    const { hostname: host, port } = new URL(url);
    const leaving = net.connect({ host, port: Number(port) });
    leaving.write(`GET ${WAITING} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const probe = (): Promise<number> =>
      fetchPath(url, '/probe?cluster=orchard&collect[]=apples').then(({ status }) => status);
    // Answered after it was begun.
    await fetchPath(url);
    await until(async () => (await probe()) === 503);
    leaving.destroy();
    await until(async () => (await probe()) === 200);
    expect(await probe()).toBe(200);
  });
});
