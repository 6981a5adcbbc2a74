import { describe, expect, onTestFinished, test } from 'vitest';
import { createAuthority } from '../../support/certificates.ts';
import { ask, connect } from '../../support/http-client.ts';
import { good } from '../../support/http-server.ts';
import { serveProxy, serveTls } from '../../support/https-server.ts';

const authority = await createAuthority();
const identity = await authority.issue({ name: 'node', sans: ['dns:crdb.example'] });
const tls = { rejectUnauthorized: true, ca: authority.cert };
const SESSION = { 'X-Cockroach-API-Session': 'marker' };

describe('a proxy', () => {
  test('sees only the host; the token goes through a tunnel to the node', async () => {
    await using node = await serveTls(identity);
    await using proxy = await serveProxy();
    await using client = connect([`https://crdb.example:${node.port}`], {
      tls,
      proxy: { url: proxy.url.replace('//', '//user:pa%40ss@'), exceptions: '' },
    });
    expect(await ask(client, { headers: SESSION })).toBe('{"fine":true}');
    expect(node.requests[0]?.headers).toMatchObject({ 'x-cockroach-api-session': 'marker' });
    expect(node.requests[0]?.headers['proxy-authorization']).toBeUndefined();
    const [head = ''] = proxy.heads;
    expect(head).toMatch(new RegExp(`^CONNECT crdb\\.example:${node.port} HTTP/1\\.1\r\n`));
    expect(head).toContain(`proxy-authorization: Basic ${btoa('user:pa@ss')}`);
    expect(head).not.toContain('marker');
  });

  test('cannot take the place of the node: the certificate is checked through the tunnel', async () => {
    const other = await authority.issue({ name: 'node', sans: ['dns:other.example'] });
    await using node = await serveTls(other);
    await using proxy = await serveProxy();
    await using client = connect([`https://crdb.example:${node.port}`], {
      tls,
      proxy: { url: proxy.url, exceptions: '' },
    });
    await expect(ask(client)).rejects.toMatchObject({ reason: 'tls' });
    expect(node.requests).toEqual([]);
  });

  test('gets complete requests for plain http', async () => {
    await using node = await good();
    await using proxy = await serveProxy();
    const { port } = new URL(node.url);
    await using client = connect([`http://crdb.example:${port}`], {
      proxy: { url: proxy.url, exceptions: '' },
    });
    expect(await ask(client)).toBe('{"fine":true}');
    expect(proxy.heads[0]).toMatch(`GET http://crdb.example:${port}/api/v2/nodes/ HTTP/1.1\r\n`);
  });

  test('is bypassed for its exceptions', async () => {
    await using node = await good();
    await using proxy = await serveProxy();
    for (const exceptions of ['127.0.0.1', 'x.example, 127.0.0.1', '*']) {
      await using client = connect([node.url], { proxy: { url: proxy.url, exceptions } });
      expect(await ask(client)).toBe('{"fine":true}');
    }
    expect(proxy.heads).toEqual([]);
  });

  test.each([
    ['https', 'refuses', 407, 'the proxy refused the connection with HTTP 407'],
    ['https', 'refuses', 503, 'the proxy refused the connection with HTTP 503'],
    ['http', 'refuses', 407, 'the proxy refused the connection with HTTP 407'],
    ['https', 'closes the connection', 200, 'the proxy closed the connection'],
    ['https', 'is down', 0, 'the proxy cannot be reached: connect ECONNREFUSED'],
    ['http', 'is down', 0, 'the proxy cannot be reached: connect ECONNREFUSED'],
  ])('on the way by %s that %s (%d) is what failed', async (scheme, _what, status, text) => {
    const proxy = await serveProxy(status);
    if (status === 0) await proxy[Symbol.asyncDispose]();
    else onTestFinished(() => proxy[Symbol.asyncDispose]());
    await using client = connect([`${scheme}://crdb.example:1`], {
      tls,
      proxy: { url: proxy.url, exceptions: '' },
    });
    await expect(ask(client)).rejects.toMatchObject({
      reason: 'network',
      blames: 'url',
      message: expect.stringContaining(`nodes at crdb.example:1: ${text}`),
    });
  });

  test('that did not respond gets the next connection all the same', async () => {
    await using node = await serveTls(identity);
    await using proxy = await serveProxy(0, 200);
    await using client = connect([`https://crdb.example:${node.port}`], {
      tls,
      proxy: { url: proxy.url, exceptions: '' },
      deadlines: { headersMs: 100 },
      maxConcurrentRequests: 1,
    });
    await expect(ask(client)).rejects.toMatchObject({ reason: 'timeout' });
    const next = () => ask(client).catch(String);
    await expect.poll(next).toBe('{"fine":true}');
  });
});
