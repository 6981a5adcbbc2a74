import { describe, expect, test } from 'vitest';
import { readProxies } from '../../src/config/addresses.ts';
import { ConfigIssues, formatIssues } from '../../src/config/issues.ts';
import type { Environment } from '../../src/config/secret.ts';
import { loadFlags, problemsOf } from './loading.ts';

async function read(env: Environment, urls = ['http://a:1', 'https://b:1']) {
  const issues = new ConfigIssues();
  const { http, https, noProxy } = readProxies(urls, env, issues);
  expect(formatIssues(issues.problems)).toBe('');
  return { http: await http?.reveal(), https: await https?.reveal(), noProxy };
}

function listenOn(address: string): ReturnType<typeof loadFlags> {
  return loadFlags({ 'cluster.url': ['https://crdb:8080'], 'web.listen-address': [address] }, {});
}

test('a port is at most 65,535', async () => {
  await expect(listenOn(':65535')).resolves.toBeDefined();
  expect(await problemsOf(listenOn(':65536'))).toEqual([expect.stringContaining(':65536')]);
});

describe('proxies are read from the environment as curl reads them', () => {
  test.each([
    [{}, undefined, undefined],
    [{ http_proxy: 'http://p:1' }, 'http://p:1', undefined],
    [{ HTTP_PROXY: 'http://p:1' }, undefined, undefined],
    [{ https_proxy: 'http://p:1' }, undefined, 'http://p:1'],
    [{ HTTPS_PROXY: 'http://p:1' }, undefined, 'http://p:1'],
    [{ https_proxy: 'http://p:1', HTTPS_PROXY: 'http://q:1' }, undefined, 'http://p:1'],
    [{ all_proxy: 'http://p:1' }, 'http://p:1', 'http://p:1'],
    [{ ALL_PROXY: 'p:1', http_proxy: 'http://q:1' }, 'http://q:1', 'http://p:1'],
    [{ https_proxy: '', HTTPS_PROXY: 'https://p:1' }, undefined, 'https://p:1'],
  ])('%j', async (env, http, https) => {
    expect(await read(env)).toEqual({ http, https, noProxy: '' });
  });

  test('exceptions come from no_proxy, else from NO_PROXY', async () => {
    expect((await read({ no_proxy: 'a', NO_PROXY: 'b' })).noProxy).toBe('a');
    expect((await read({ NO_PROXY: 'b' })).noProxy).toBe('b');
  });

  test('what no URL needs is not looked at, and loopback needs none', async () => {
    const env = { https_proxy: 'socks5://p:1', http_proxy: 'http://p:1' };
    expect((await read(env, ['http://a:1'])).http).toBe('http://p:1');
    const loopback = ['https://localhost:1', 'https://127.0.0.1:1', 'https://[::1]:1'];
    expect((await read(env, loopback)).https).toBeUndefined();
  });

  test.each(['socks5://user:hunter2@p:1', 'http://user:hunter2@', 'http://a b'])(
    'a proxy that cannot be used is a problem of its variable: %s',
    async (value) => {
      const loading = loadFlags({ 'cluster.url': ['https://crdb:8080'] }, { HTTPS_PROXY: value });
      expect(await problemsOf(loading)).toEqual([
        'HTTPS_PROXY: is not the URL of a proxy: write it as http://proxy:3128',
      ]);
    },
  );
});
