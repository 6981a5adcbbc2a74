import net from 'node:net';
import { describe, expect, test } from 'vitest';
import { type Route, sendText } from '../../../src/exporter/routes/respond.ts';
import { createConcurrencyLimit } from '../../../src/exporter/routes/routes.ts';
import type { Status } from '../../../src/status/findings/status.ts';
import { makeFolder } from '../../config/folder.ts';
import { fetchPath, type ReceivedResponse } from '../routes/fetch-path.ts';
import { manyTrees, type Orchard, SLEEPER, startOrchard, until } from '../routes/orchard.ts';
import { serveRoutes } from './serve-routes.ts';

/** A route with a limit, whose handlers end when the test ends them. */
function limited(max: number): { readonly route: Route; readonly end: (() => void)[] } {
  const limit = createConcurrencyLimit(max);
  const end: (() => void)[] = [];
  const handle: Route['handle'] = (response) =>
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

function probe({ url }: Orchard, query: string, timeout = '1'): Promise<ReceivedResponse> {
  const headers = { 'x-prometheus-scrape-timeout-seconds': timeout };
  return fetchPath(url, `/probe?cluster=orchard&${query}`, { headers });
}

/** Waits until the collector polls, that is until its first probe waits. */
async function polls({ url }: Orchard, name: string): Promise<void> {
  await until(async () => {
    const status: Status = JSON.parse((await fetchPath(url, '/api/status')).text);
    const collectors = status.clusters.flatMap((cluster) => cluster.collectors);
    return collectors.some((each) => each.name === name && each.isPolling);
  });
}

describe('--web.max-probes', () => {
  const OTHER = { ...SLEEPER, name: 'other' };
  const YAML =
    'clusters: [{ name: orchard, poll: false, cluster_api: { urls: ["http://127.0.0.1:9"] } }]';

  /** An exporter whose cluster only /probe polls, one wait at a time. */
  async function startProbed(): Promise<Orchard> {
    const folder = await makeFolder({ 'exporter.yml': YAML });
    return startOrchard({
      collectors: [manyTrees(3), SLEEPER, OTHER],
      flags: {
        'web.max-probes': '1',
        'config.file': `${folder}/exporter.yml`,
        'cluster.url': undefined,
        'cluster.name': undefined,
      },
    });
  }

  test('refuses what begins other polls above it, and scrapes continue', async () => {
    const orchard = await startProbed();
    probe(orchard, 'collect[]=sleeper', '600').catch(() => undefined);
    await polls(orchard, 'sleeper');
    const refused = await probe(orchard, 'collect[]=sleeper&collect[]=other');
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    expect(refused.text).toContain('--web.max-probes');
    expect((await fetchPath(orchard.url)).status).toBe(200);
  });

  test('does not count what only waits for polls that run already, or needs none', async () => {
    const orchard = await startProbed();
    expect((await probe(orchard, 'collect[]=apples')).status).toBe(200);
    probe(orchard, 'collect[]=sleeper&collect[]=other', '600').catch(() => undefined);
    await polls(orchard, 'other');
    const sets = ['collect[]=sleeper', 'collect[]=other', 'collect[]=apples', 'exclude[]=apples'];
    const answers = await Promise.all([...sets, ''].map((set) => probe(orchard, set)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  test('does not count a probe whose client has left', async () => {
    const orchard = await startProbed();
    const { hostname: host, port } = new URL(orchard.url);
    const leaving = net.connect({ host, port: Number(port) });
    leaving.write('GET /probe?cluster=orchard&collect[]=sleeper HTTP/1.1\r\nHost: x\r\n\r\n');
    await polls(orchard, 'sleeper');
    expect((await probe(orchard, 'collect[]=other')).status).toBe(503);
    leaving.destroy();
    await until(async () => (await probe(orchard, 'collect[]=other')).status === 200);
    expect((await probe(orchard, 'collect[]=other')).status).toBe(200);
  });
});
