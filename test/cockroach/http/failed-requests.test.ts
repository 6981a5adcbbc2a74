import { describe, expect, test } from 'vitest';
import { ask, connect } from '../../support/http-client.ts';
import { refusing, serve } from '../../support/http-server.ts';
import { breakable, IMPATIENT, OF_NODE_3 } from './breakable.ts';

const OF_NODE = { endpoint: 'node_ranges', node: 3 };

describe('a failed request names its endpoint, URL and node', () => {
  test.each([
    [503, 'http'],
    [403, 'forbidden'],
  ])('with status %i and the reason %s', async (status, reason) => {
    await using server = await breakable();
    server.faults.set('', status);
    await using client = connect([server.url]);
    const url = `${server.url}/api/v2`;
    const failure = { ...OF_NODE, url, status, reason };
    await expect(ask(client, OF_NODE_3)).rejects.toMatchObject(failure);
  });

  test.each([
    ['is silent', 'silence', 'timeout'],
    ['stalls', 'stall', 'timeout'],
    ['closes the connection', 'reset', 'network'],
  ] as const)('when the server %s', async (_what, fault, reason) => {
    await using server = await breakable();
    server.faults.set('', fault);
    await using client = connect([server.url], IMPATIENT);
    const failure = { ...OF_NODE, url: `${server.url}/api/v2`, status: undefined, reason };
    await expect(ask(client, OF_NODE_3)).rejects.toMatchObject(failure);
  });

  test('when nothing listens, and then without a URL when no request may be sent', async () => {
    const url = await refusing();
    await using client = connect([url], { breakerOpenMs: 60_000 });
    const refused = { ...OF_NODE, url: `${url}/api/v2`, reason: 'network' };
    await expect(ask(client, OF_NODE_3)).rejects.toMatchObject(refused);
    const skipped = { endpoint: 'node_ranges', url: undefined, reason: 'breaker_open' };
    await expect(ask(client, OF_NODE_3)).rejects.toMatchObject(skipped);
  });

  test('and the limit of bytes, when the response is too large', async () => {
    await using server = await serve((_request, response) => response.end('x'.repeat(11)));
    await using client = connect([server.url], { maxResponseBytes: 10 });
    const failure = { ...OF_NODE, url: `${server.url}/api/v2`, reason: 'limit', limit: 'bytes' };
    await expect(ask(client, OF_NODE_3)).rejects.toMatchObject(failure);
  });

  test('when its poll is over while it waits', async () => {
    await using server = await breakable();
    server.faults.set('', 'silence');
    await using client = connect([server.url]);
    const failure = { ...OF_NODE, url: `${server.url}/api/v2`, reason: 'timeout' };
    const signal = AbortSignal.timeout(50);
    await expect(ask(client, { ...OF_NODE_3, signal })).rejects.toMatchObject(failure);
  });
});
