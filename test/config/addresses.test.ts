import { describe, expect, test } from 'vitest';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import type { Environment } from '../../src/config/files.ts';
import { ConfigIssues, formatIssues } from '../../src/config/issues.ts';
import { describeConfig } from '../../src/config/keys-and-flags.ts';
import { readProxies } from '../../src/config/proxies.ts';
import { loadFlags, problemsOf, warningsOf } from './loading.ts';

async function read(env: Environment, urls = ['http://a:1', 'https://b:1']) {
  const issues = new ConfigIssues();
  const { http, https, noProxy } = readProxies(urls, env, issues);
  expect(formatIssues(issues.problems)).toBe('');
  return { http: await http?.reveal(), https: await https?.reveal(), noProxy };
}

function listenOn(address: string): ReturnType<typeof loadFlags> {
  return loadFlags({ 'cluster.url': ['https://crdb:8080'], 'web.listen-address': [address] }, {});
}

describe('an address to listen on', () => {
  test.each([
    [':10137', { port: 10_137 }],
    [':65535', { port: 65_535 }],
    ['crdb-1.example:0', { host: 'crdb-1.example', port: 0 }],
    ['127.0.0.1:80', { host: '127.0.0.1', port: 80 }],
    ['[::1]:1', { host: '::1', port: 1 }],
    ['[fe80::1%eth0]:1', { host: 'fe80::1%eth0', port: 1 }],
    ['unix:/run/x y:1', { path: '/run/x y:1' }],
  ])('is read and described as written: %s', async (written, address) => {
    const { config } = await listenOn(written);
    expect(config.web.listen_address).toEqual([address]);
    expect(describeConfig(config, COLLECTORS)).toMatchObject({
      web: { listen_address: [written] },
    });
  });

  const FORM = 'is not an address: write :10137, 127.0.0.1:10137, [::1]:10137 or unix:/path';
  test.each([
    [':65536', 'has a port that is too large: at most 65535'],
    ...['', ':', ':123456', 'a b:1', '/a:1', 'x[::1]:1', 'xunix:a', '[-]:1'].map(
      (one): [string, string] => [one, FORM],
    ),
  ])('is refused: %s', async (written, reason) => {
    expect(await problemsOf(listenOn(written))).toEqual([
      `--web.listen-address: web.listen_address[0]: ${JSON.stringify(written)} ${reason}`,
    ]);
  });
});

describe('proxies are read from the environment as curl reads them', () => {
  test.each([
    [{}, undefined, undefined],
    [{ HTTP_PROXY: 'http://p:1' }, undefined, undefined],
    [{ HTTPS_PROXY: 'http://p:1' }, undefined, 'http://p:1'],
    [{ https_proxy: 'http://p:1', HTTPS_PROXY: 'http://q:1' }, undefined, 'http://p:1'],
    [{ all_proxy: 'http://p:1' }, 'http://p:1', 'http://p:1'],
    [{ ALL_PROXY: 'p:1', http_proxy: 'http://q:1' }, 'http://q:1', 'http://p:1'],
    [{ https_proxy: '', HTTPS_PROXY: 'https://p:1' }, undefined, 'https://p:1'],
    [{ http_proxy: ' http://p:1/\n' }, 'http://p:1/', undefined],
    [{ http_proxy: 'http://user:50%25off@p' }, 'http://user:50%25off@p', undefined],
    [{ http_proxy: 'user:caf\u00e9@p:1' }, 'http://user:caf\u00e9@p:1', undefined],
  ])('%j', async (env, http, https) => {
    expect(await read(env)).toEqual({ http, https, noProxy: '' });
  });

  test('exceptions come from no_proxy, else from NO_PROXY', async () => {
    expect((await read({ no_proxy: 'a', NO_PROXY: 'b' })).noProxy).toBe('a');
    expect((await read({ NO_PROXY: 'b' })).noProxy).toBe('b');
  });

  test('what no URL needs is not looked at, and loopback needs none', async () => {
    const env = { https_proxy: 'socks5://p:1', http_proxy: 'http://p:1' };
    const unneeded = { http: undefined, https: undefined, noProxy: '' };
    expect(await read(env, ['http://a:1'])).toEqual({ ...unneeded, http: 'http://p:1' });
    expect(await read({ http_proxy: 'socks5://p:1' }, ['https://a:1'])).toEqual(unneeded);
    const loopback = ['https://localhost:1', 'https://127.0.0.1:1', 'https://[::1]:1'];
    expect(await read(env, loopback)).toEqual(unneeded);
  });

  const IS_NONE = 'is not the URL of a proxy: write it as http://proxy:3128';
  const ESCAPES =
    ', and in the user or password / as %2F, ? as %3F, # as %23, @ as %40 and % as %25';
  const NO_ESCAPE =
    'has a % in the user or password that is no escape of UTF-8: write a % itself as %25';
  const TOO_MUCH = `has a path, a query or a fragment: write it as http://proxy:3128${ESCAPES}`;
  test.each([
    ['socks5://user:hunter2@p:1', IS_NONE],
    ['xhttp://p:1', IS_NONE],
    ['http://a b', IS_NONE],
    ['http://user:hunter2@', IS_NONE + ESCAPES],
    ['http://user:hunter/2@p:1', IS_NONE + ESCAPES],
    ['http://user:hunter?2@p:1', IS_NONE + ESCAPES],
    ['http://user:hunter#2@p:1', IS_NONE + ESCAPES],
    ['http://user:50%hunter2@p:1', NO_ESCAPE],
    ['http://hunter2%:x@p:1', NO_ESCAPE],
    ['http://user:hunter2%E4@p:1', NO_ESCAPE],
    ['http://user:12/hunter2@p:1', TOO_MUCH],
    ['p:1/http://q', TOO_MUCH],
    ['http://p:1?x', TOO_MUCH],
    ['http://p:1#x', TOO_MUCH],
    ['http://p:0', 'has the port 0: write the one that is listened on'],
    [
      'http://user:hunter2@a..b',
      'has a host name that DNS does not allow: its parts have 1 to 63 characters, and all 253 at most',
    ],
  ])('a proxy that cannot be used is a problem of its variable: %s', async (value, reason) => {
    const loading = loadFlags({ 'cluster.url': ['https://crdb:8080'] }, { HTTPS_PROXY: value });
    expect(await problemsOf(loading)).toEqual([`HTTPS_PROXY: ${reason}`]);
  });

  test.each([
    ['https://10.0.0.1:8080', '10.0.0.0/8', true],
    ['https://[fd00::1]:8080', 'fd00::/8', true],
    ['https://10.0.0.1:8080', '10.0.0.1', false],
    ['https://crdb:8080', '10.0.0.0/8', false],
  ])('for %s the exceptions %s are warned of: %s', async (url, no_proxy, isWarned) => {
    const env = { https_proxy: 'http://p:1', no_proxy };
    const warning =
      'no_proxy: a network or URL names no host here, so the proxy is used: list the addresses';
    const loading = loadFlags({ 'cluster.url': [url] }, env);
    expect(await warningsOf(loading)).toEqual(isWarned ? [warning] : []);
  });
});

async function urlsOf(url: string): Promise<readonly string[] | undefined> {
  return (await loadFlags({ 'cluster.url': [url] }, {})).config.clusters[0]?.cluster_api?.urls;
}

describe('the URL of a node', () => {
  test.each([
    'https://crdb.:8080',
    'https://crdb_1.crdb_net:8080',
    'https://b\u00FCcher.example',
    'http://127.1:8080',
    'HTTPS://CRDB:8080',
    'https://[::ffff:127.0.0.1]:8080',
    `https://${'a'.repeat(63)}.example`,
  ])('may be %s', async (url) => {
    expect(await urlsOf(url)).toHaveLength(1);
  });

  test.each([
    ['https://a..b:8080', /host name that DNS does not allow/],
    ['https://.a:8080', /host name that DNS does not allow/],
    [`https://${'a'.repeat(64)}.example`, /host name that DNS does not allow/],
    [`https://${'a.'.repeat(130)}b`, /host name that DNS does not allow/],
    ['https://crdb:0', /port 0/],
    ['https://crdb:65536', /not a valid URL/],
    ['https://[fe80::1%eth0]:8080', /not a valid URL/],
  ])('cannot be %s', async (url, reason) => {
    await expect(urlsOf(url)).rejects.toThrow(reason);
  });
});
