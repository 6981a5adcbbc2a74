import { get } from 'node:https';
import { createServer } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/index.ts';
import { TEST_CERTIFICATE, TEST_KEY } from './certificate.ts';
import { ask, askRaw, clusterClient, failureOf, logIn, type RangesBody } from './client.ts';

const INTERNAL =
  'An internal server error has occurred. Please check your CockroachDB logs for more details.\n';

/** The ranges of a body as texts, in an order of their own. */
function rangesIn(body: Buffer): readonly string[] {
  const { ranges }: RangesBody = JSON.parse(String(body));
  return ranges.map((range) => JSON.stringify(range)).toSorted();
}

describe('the HTTP layer of the simulated cluster', () => {
  let simulator: Simulator;
  let client: Awaited<ReturnType<typeof clusterClient>>;

  beforeAll(async () => {
    simulator = await startSimulator({ metricKeys: 'useful', frozen: true });
    client = await clusterClient(simulator);
  });
  afterAll(() => simulator.close());

  it('returns 404 for a path without its final slash', async () => {
    for (const path of ['/nodes', '/sessions', '/nodes/1/ranges', '/nowhere/', '/users']) {
      expect(await client(path)).toMatchObject({ status: 404, text: '404 page not found\n' });
    }
  });

  it('writes errors as one line of plain text', async () => {
    const { headers } = await client('/nodes/none/ranges/');
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('writes compact JSON with HTML characters escaped and no final line feed', async () => {
    const { text, headers } = await client('/sessions/?limit=1000');
    expect(headers.get('content-type')).toBe('application/json');
    expect(text).not.toMatch(/[<>&]/);
    expect(text).toContain(String.raw`\u003cscript\u003e\u0026amp;`);
    expect(text.at(-1)).toBe('}');
  });

  it('compresses large bodies only on request', async () => {
    const headers = { 'X-Cockroach-API-Session': await logIn(simulator) };
    const url = `${simulator.clusterUrl}/api/v2/nodes/local/ranges/`;
    const packed = await askRaw(url, { ...headers, 'accept-encoding': 'gzip' });
    const plain = await askRaw(url, headers);
    const refused = await askRaw(url, { ...headers, 'accept-encoding': 'gzip;q=0' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    // The stores of the two responses are in different orders.
    expect(rangesIn(gunzipSync(packed.body))).toEqual(rangesIn(plain.body));
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(refused.headers['content-encoding']).toBeUndefined();
    const small = await askRaw(`${simulator.clusterUrl}/health`, { 'accept-encoding': 'gzip' });
    expect(small.headers['content-encoding']).toBeUndefined();
  });

  it('serves health and its own metrics without authentication', async () => {
    const root = simulator.clusterUrl;
    expect((await ask(`${root}/health`)).status).toBe(200);
    expect((await ask(`${root}/api/v2/health/`)).status).toBe(200);
    expect((await ask(`${root}/api/v2/health/?ready=true`)).status).toBe(200);
    expect((await ask(`${root}/api/v2/health/?ready=maybe`)).status).toBe(400);
    expect((await ask(`${root}/_status/vars`)).text).toMatch(/^sys_uptime\{node_id="1"\} \d+$/m);
  });

  it('treats a POST to a listing as a GET', async () => {
    expect((await client('/nodes/?limit=1', { method: 'POST', body: '' })).status).toBe(200);
  });

  it('proxies a request with remote_node_id to that node, as parameter or cookie', async () => {
    const proxied = await client<RangesBody>('/nodes/local/ranges/?remote_node_id=3&limit=2');
    expect(proxied.json().ranges.map((range) => range.source_node_id)).toEqual([3, 3]);
    const cookie = { headers: { cookie: 'remote_node_id=2' } };
    const { json } = await client<RangesBody>('/nodes/local/ranges/?limit=1', cookie);
    expect(json().ranges[0]?.source_node_id).toBe(2);
  });

  it('refuses unknown remote nodes and cannot reach dead ones', async () => {
    expect((await client('/nodes/?remote_node_id=x')).status).toBe(400);
    expect((await client('/nodes/?remote_node_id=99')).status).toBe(400);
    expect((await client('/nodes/?remote_node_id=7')).status).toBe(502);
    expect(await client('/nodes/?remote_node_id=9')).toMatchObject({ status: 502, text: '' });
  });

  it('returns the same text for every internal error', async () => {
    expect(await client('/nodes/9/ranges/')).toMatchObject({ status: 500, text: INTERNAL });
  });

  it('has no unexpected error for any request', async () => {
    for (const path of [
      '/databases/%zz/tables/%22/',
      '/nodes/%00/ranges/',
      '/sessions/?limit=%',
      '//x/',
    ]) {
      expect((await client(path)).status).toBeLessThan(500);
    }
    expect(simulator.requests.entries.filter((entry) => entry.failure !== undefined)).toEqual([]);
  });

  it('records requests without secrets', async () => {
    simulator.requests.clear();
    await client('/nodes/3/ranges/?limit=1');
    const [entry] = simulator.requests.entries;
    expect(entry).toMatchObject({
      api: 'cluster',
      endpoint: 'node_ranges',
      node: 3,
      gateway: 1,
      path: '/api/v2/nodes/3/ranges/?limit=1',
      status: 200,
    });
    expect(JSON.stringify(entry)).not.toContain(simulator.password);
  });
});

describe('a cluster with certificates', () => {
  it('serves https and redirects plain http with 307, except health', async () => {
    await using simulator = await startSimulator({
      metricKeys: 'useful',
      tls: { key: TEST_KEY, cert: TEST_CERTIFICATE },
    });
    expect(simulator.clusterUrl).toMatch(/^https:/);
    const plain = simulator.clusterUrl.replace('https:', 'http:');
    const { status, headers } = await ask(`${plain}/api/v2/nodes/?limit=1`);
    expect(status).toBe(307);
    expect(headers.get('location')).toBe(`${simulator.clusterUrl}/api/v2/nodes/?limit=1`);
    expect((await ask(`${plain}/health`)).status).toBe(200);
    expect(await statusOverTls(`${simulator.clusterUrl}/api/v2/nodes/`)).toBe(401);
  });
});

function statusOverTls(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get(url, { ca: TEST_CERTIFICATE }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on('error', reject);
  });
}

describe('closing', () => {
  it('closes open connections at once and frees the port', async () => {
    const simulator = await startSimulator({ metricKeys: 'useful' });
    simulator.fault({ kind: 'hang' });
    const failure = failureOf(ask(`${simulator.clusterUrl}/health`));
    await expect.poll(() => simulator.requests.count('health')).toBe(1);
    await simulator.close();
    await simulator.close();
    expect(await failure).toContain('fetch failed');
    const port = Number(new URL(simulator.clusterUrl).port);
    const reuse = createServer();
    await new Promise<void>((resolve, reject) => {
      reuse.once('error', reject);
      reuse.listen(port, '127.0.0.1', resolve);
    });
    await new Promise((resolve) => {
      reuse.close(resolve);
    });
  });

  it('frees its ports when one port is taken', async () => {
    await using first = await startSimulator({ metricKeys: 'useful' });
    const port = Number(new URL(first.cloudUrl).port);
    await expect(
      startSimulator({ metricKeys: 'useful', cloudListen: { host: '127.0.0.1', port } }),
    ).rejects.toThrow('EADDRINUSE');
  });
});
