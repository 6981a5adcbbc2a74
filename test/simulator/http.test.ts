import { get } from 'node:https';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../simulator/index.ts';
import { TEST_CERTIFICATE, TEST_KEY } from './certificate.ts';
import { ask, clusterClient, failureOf } from './client.ts';

const INTERNAL =
  'An internal server error has occurred. Please check your CockroachDB logs for more details.\n';

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
});
