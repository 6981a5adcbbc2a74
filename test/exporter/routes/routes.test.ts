import { hostname } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { makeFolder } from '../../config/folder.ts';
import { clusterYaml, startTestExporter } from '../../support/exporter.ts';
import { fetchPath } from './fetch-path.ts';
import { startOrchard } from './orchard.ts';

const SERVER = {
  clusterUrls: ['http://127.0.0.1:9'],
  username: 'maxroach',
  password: 'hunter-two',
};
const CLOUD =
  '    cloud_api: { url: "http://127.0.0.1:9", cluster_id: "35c4", token: cloud-token-9 }\n';
const yaml = `clusters:\n${clusterYaml(SERVER, { name: 'a' })}${CLOUD}`;

/** Headers of browsers, for a page of the exporter itself or of another site; `HOST` is the address of the exporter. */
const CASES: readonly (readonly [number, Readonly<Record<string, string>>])[] = [
  [200, {}],
  [200, { 'sec-fetch-site': 'same-origin', origin: 'http://HOST' }],
  [200, { 'sec-fetch-site': 'none' }],
  [200, { origin: 'https://HOST' }],
  [403, { 'sec-fetch-site': 'cross-site' }],
  [403, { 'sec-fetch-site': 'same-site' }],
  [403, { origin: 'http://evil.example' }],
  [403, { origin: 'http://HOST.evil.example' }],
  [403, { origin: 'null' }],
  // A name that a site lets resolve to the address of the exporter: only its names can tell.
  [403, { host: 'evil.example', origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' }],
  [200, { host: 'localhost', origin: 'http://localhost' }],
  [200, { host: hostname(), origin: `http://${hostname()}` }],
  [200, { host: 'internal:1', origin: 'https://crdb.example.com' }],
  [200, { host: '192.0.2.7:443', origin: 'https://192.0.2.7' }],
  // Old browsers send no other header, and none does to a plain http address.
  [403, { origin: 'http://192.0.2.7' }],
  [403, { host: '[::1]:10137', origin: 'http://[::1]:3000' }],
  [403, { host: 'localhost', origin: `http://${hostname()}` }],
  [403, { origin: 'file://' }],
];

describe('/config', () => {
  test.each([
    ['YAML for curl', '*/*', 'application/yaml'],
    ['JSON for programs that ask for it', 'application/json', 'application/json'],
  ])('is %s, secrets masked', async (_what, accept, type) => {
    await using exporter = await startTestExporter({ yaml });
    const { status, text, headers } = await exporter.get('/config', { accept });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain(type);
    // JSON is YAML, too.
    expect(parse(text)).toMatchObject({
      clusters: [
        {
          name: 'a',
          cluster_api: { username: 'maxroach', password: '<secret>' },
          cloud_api: { token: '<secret>' },
        },
      ],
    });
    expect(text.startsWith('{')).toBe(type === 'application/json');
    expect(text).not.toMatch(/hunter-two|cloud-token-9/);
  });

  test('names the file and the variable of a secret', async () => {
    const folder = await makeFolder({ password: 'hunter-two' });
    const file = path.join(folder, 'password');
    const api = `{ urls: ["http://127.0.0.1:9"], username: maxroach, password_file: ${file} }`;
    await using exporter = await startTestExporter({
      yaml: `clusters: [{ name: a, cluster_api: ${api} }]\n`,
    });
    const { text } = await exporter.get('/config');
    expect(text).toContain(`password_file: ${file}\n`);
    expect(text).not.toMatch(/hunter-two|<secret>/);
  });
});

describe('/-/reload', () => {
  test.each(CASES)('returns %i for a request with %j', async (expected, headers) => {
    const { url } = await startOrchard({
      flags: {
        'web.enable-lifecycle': true,
        'web.external-url': 'https://crdb.example.com/exporter',
      },
    });
    const { host } = new URL(url);
    const sent = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replace('HOST', host)]),
    );
    for (const method of ['POST', 'PUT']) {
      const { status } = await fetchPath(url, '/-/reload', { method, headers: sent });
      expect(status).toBe(expected);
    }
  });
});

test('/-/reload is refused without --web.enable-lifecycle', async () => {
  const { url } = await startOrchard();
  expect((await fetchPath(url, '/-/reload', { method: 'POST' })).status).toBe(403);
});

describe('--web.external-url', () => {
  const flags = { 'web.external-url': 'https://crdb.example.com' };
  const PAGES = ['/', '/api/status', '/config'];

  test.each(PAGES)('keeps %s from other names than those of the exporter', async (page) => {
    const { url } = await startOrchard({ flags });
    const statusFor = async (host: string): Promise<number> =>
      (await fetchPath(url, page, { headers: { host } })).status;
    for (const host of ['crdb.example.com', 'CRDB.example.com:443', 'localhost:1', '[::1]:10137']) {
      expect(await statusFor(host)).toBe(200);
    }
    for (const host of [
      'evil.example',
      'crdb.example.com.evil.example',
      'a b',
      '127.0.0.1.evil.example',
    ]) {
      expect(await statusFor(host)).toBe(403);
    }
  });

  test('leaves the paths of Prometheus and of process monitors open to every name', async () => {
    const { url } = await startOrchard({ flags });
    const headers = { host: 'evil.example' };
    for (const target of ['/metrics', '/probe?cluster=orchard', '/sd/clusters', '/-/healthy']) {
      expect((await fetchPath(url, target, { headers })).status).toBe(200);
    }
  });
});
