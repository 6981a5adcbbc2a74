import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { formatDuration } from '../../src/base/format.ts';
import { fetchPath, type ReceivedResponse } from '../exporter/routes/fetch-path.ts';
import { startPolledOrchard } from '../exporter/routes/orchard.ts';
import { serveBelow } from '../support/prefix-proxy.ts';

describe('the status page', () => {
  test.each(['/', '/?cluster=orchard', '/api/status'])(
    '%s is rendered once per state, and again a second later',
    async (target) => {
      let nowMs = 1_700_000_000_000;
      // Every reading of the clock differs, so that only shared bytes are equal.
      const clock = {
        wallMs: () => (nowMs += 0.001),
        monotonicMs: () => 0,
        runningMs: () => performance.now(),
      };
      const { url } = await startPolledOrchard({ app: { clock } });
      nowMs += 5_000.5;
      const first = await fetchPath(url, target);
      nowMs += 5;
      expect((await fetchPath(url, target)).text).toBe(first.text);
      nowMs += 1_000;
      expect((await fetchPath(url, target)).text).not.toBe(first.text);
    },
  );
});

test('the page of two clusters at once is refused', async () => {
  const { url } = await startPolledOrchard();
  const { status, text } = await fetchPath(url, '/?cluster=orchard&cluster=other');
  expect({ status, text }).toEqual({
    status: 400,
    text: 'the parameter cluster is there more than once\n',
  });
});

/** The headers that a route chooses. */
function chosen({ headers }: ReceivedResponse): Readonly<Record<string, unknown>> {
  const others = ['date', 'connection', 'content-length', 'transfer-encoding'];
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !others.includes(name)));
}

const NOSNIFF = { 'x-content-type-options': 'nosniff' };
const NO_STORE = { ...NOSNIFF, 'cache-control': 'no-store' };

test('/api/status may be asked for its tag alone, or whether it has changed', async () => {
  const { url } = await startPolledOrchard();
  const full = await fetchPath(url, '/api/status');
  const { etag = '' } = full.headers;
  const type = 'application/json; charset=utf-8';
  expect(chosen(full)).toEqual({
    ...NOSNIFF,
    'content-type': type,
    'cache-control': 'no-cache',
    etag: expect.stringMatching(/^W\/"[0-9a-f]{1,8}"$/),
  });
  const head = await fetchPath(url, '/api/status', { method: 'HEAD' });
  expect([head.status, chosen(head), head.text]).toEqual([200, { etag, 'content-type': type }, '']);
  const headers = { 'if-none-match': etag };
  const same = await fetchPath(url, '/api/status', { headers });
  expect([same.status, chosen(same), same.text]).toEqual([304, { etag }, '']);
});

test.each([
  ['/', '<title>orchard: nothing over a limit, as far as it is read '],
  ['/runbooks/', '<title>Runbooks · crdb-exporter</title>'],
  ['/config', '<title>Configuration · crdb-exporter</title>'],
])('%s for a browser is a page that loads nothing from elsewhere', async (path, title) => {
  const { url } = await startPolledOrchard();
  const answer = await fetchPath(url, path, { headers: { accept: 'text/html' } });
  expect(answer.text).toContain(title);
  expect(chosen(answer)).toEqual({
    ...NO_STORE,
    'content-type': 'text/html; charset=utf-8',
    'referrer-policy': 'no-referrer',
    'content-security-policy':
      "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  });
});

test('what pages load may be kept, under a name that changes with its content', async () => {
  const { url } = await startPolledOrchard();
  const { text } = await fetchPath(url, '/');
  const links = Array.from(
    text.matchAll(/(?:src|href)="(-\/[^"]*\?[^"]*)"/g),
    ([, link = '']) => link,
  );
  const folder = new URL('../../src/status/page/', import.meta.url);
  const assets = [
    ['icon.svg', 'image/svg+xml', ['icon.svg'], ''],
    ['page.css', 'text/css; charset=utf-8', ['page.css', 'panels.css'], ''],
    [
      'page.js',
      'text/javascript; charset=utf-8',
      ['in-browser.js'],
      `const formatDuration = ${formatDuration.toString()};\n`,
    ],
  ] as const;
  for (const [at, [name, type, files, before]] of assets.entries()) {
    const texts = files.map((file) => readFileSync(new URL(file, folder), 'utf8'));
    const content = [before, ...texts].join('');
    const version = crc32(content).toString(16).padStart(8, '0');
    expect(links[at]).toBe(`-/${name}?${version}`);
    const answer = await fetchPath(url, `/${links[at]}`);
    expect([answer.status, answer.text]).toEqual([200, content]);
    const kept = { 'cache-control': 'max-age=31536000, immutable' };
    expect(chosen(answer)).toEqual({ ...NOSNIFF, ...kept, 'content-type': type });
  }
});

test('every link of a page works below a path prefix that a proxy removes', async () => {
  const { url } = await startPolledOrchard({ flags: { 'web.telemetry-path': '/prom/data' } });
  await using proxy = await serveBelow('/ops/crdb', url);
  const found = new Set<string>();
  for (const path of ['', '?cluster=orchard', 'config', 'runbooks/']) {
    const headers = { accept: 'text/html' };
    const { text } = await fetchPath(proxy.url, new URL(path, proxy.url).pathname, { headers });
    for (const [, link = ''] of text.matchAll(/(?:href|src)="([^"#]+)"/g)) {
      const { href } = new URL(link, new URL(path, proxy.url));
      if (!/^https:\/\/(?:github|cockroachlabs)/.test(href)) found.add(href);
    }
  }
  const broken: string[] = [];
  for (const href of found) if ((await fetch(href)).status === 404) broken.push(href);
  expect(broken).toEqual([]);
  expect(found).toContain(`${proxy.url}prom/data`);
  expect(found).toContain(`${proxy.url}api/status`);
});
