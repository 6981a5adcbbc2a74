import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/index.ts';
import { ask, clusterClient, type Answered } from './client.ts';

describe('the control port', () => {
  let simulator: Simulator;

  beforeEach(async () => {
    simulator = await startSimulator({
      metricKeys: 'useful',
      frozen: true,
      controlListen: { host: '127.0.0.1', port: 0 },
    });
  });
  afterEach(() => simulator.close());

  function control(method: string, path: string, body?: object): Promise<Answered<unknown>> {
    return ask(`${simulator.controlUrl}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  it('lists its calls', async () => {
    const { text } = await control('GET', '/');
    for (const call of ['POST /faults', 'POST /world/kill', 'GET /truth'])
      expect(text).toContain(call);
  });

  it('returns the truth and the requests', async () => {
    expect((await control('GET', '/truth')).json()).toMatchObject({ nodesByStatus: { dead: 1 } });
    await clusterClient(simulator);
    expect((await control('GET', '/requests')).json()).toMatchObject([{ endpoint: 'login' }]);
  });

  it('sets and clears faults', async () => {
    const client = await clusterClient(simulator);
    await control('POST', '/faults', { endpoint: 'nodes', kind: 'status', status: 503 });
    expect((await client('/nodes/')).status).toBe(503);
    await control('DELETE', '/faults');
    expect((await client('/nodes/')).status).toBe(200);
  });

  it('makes responses stall and sets any Retry-After', async () => {
    await control('POST', '/faults', { endpoint: 'vars', kind: 'stall', bytes: 10 });
    const patience = new AbortController();
    const { body } = await fetch(`${simulator.clusterUrl}/_status/vars`, patience);
    const { value } = (await body?.getReader().read()) ?? {};
    expect(value).toHaveLength(10);
    patience.abort();
    await control('POST', '/faults', { kind: 'status', status: 429, retryAfter: '999999999' });
    const { status, headers } = await ask(`${simulator.clusterUrl}/api/v2/nodes/`);
    expect([status, headers.get('retry-after')]).toEqual([429, '999999999']);
  });

  it('changes nodes, ranges, sessions and the assistant', async () => {
    await control('POST', '/world/kill', { node: 2, liveness: 'unavailable' });
    await control('POST', '/world/problem', { range: 2, problem: 'range_too_large' });
    await control('POST', '/world/open-session', { node: 1, application: 'by-http' });
    await control('POST', '/world/provision-assistant', { fails: true });
    const truth = simulator.truth();
    expect(truth.nodesByStatus).toMatchObject({ unavailable: 1 });
    expect(truth.ranges.problemRangeIds.range_too_large).toContain(2);
    expect(truth.sessions.byApplication.map((each) => each.application)).toContain('by-http');
    expect(truth.assistant?.status).toBe('PENDING');
  });

  it('sets quirks and invalidates tokens', async () => {
    const client = await clusterClient(simulator);
    await control('POST', '/quirks', { tenant: 'text' });
    expect((await client('/nodes/')).status).toBe(501);
    await control('POST', '/quirks', { tenant: 'no' });
    await control('POST', '/tokens/revoke');
    expect((await client('/nodes/')).status).toBe(401);
  });

  it('refuses invalid calls and names the reason', async () => {
    const cases: readonly (readonly [string, object, string])[] = [
      ['/faults', { kind: 'flood' }, 'flood'],
      ['/faults', { kind: 'slow' }, 'ms'],
      ['/faults', { kind: 'stall' }, 'bytes'],
      ['/world/kill', { node: 'x' }, 'node'],
      ['/world/kill', { node: 77 }, 'node 77 is not in this world'],
      ['/world/explode', {}, 'explode'],
      ['/quirks', { nothing: 1 }, 'nothing'],
      ['/quirks', { gzip: 'no' }, 'gzip'],
      ['/world/kill', [], 'not a JSON object'],
    ];
    for (const [path, body, part] of cases) {
      const { status, text } = await control('POST', path, body);
      expect(status).toBe(400);
      expect(text).toContain(part);
    }
    expect((await control('GET', '/nothing')).status).toBe(404);
  });
});

it('listens on loopback only, and not by default', async () => {
  await using simulator = await startSimulator({ metricKeys: 'useful', ranges: 5, sessions: 1 });
  expect(simulator.controlUrl).toBeUndefined();
  const anywhere = { host: '0.0.0.0', port: 0 };
  await expect(startSimulator({ metricKeys: 'useful', controlListen: anywhere })).rejects.toThrow(
    'only loopback',
  );
});
