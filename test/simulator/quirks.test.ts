import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  NEW_RELEASE,
  OLD_RELEASE,
  startSimulator,
  type Quirks,
  type Simulator,
} from '../../simulator/index.ts';
import {
  ask,
  clusterClient,
  logIn,
  type NodesBody,
  type RangesBody,
  type SessionsBody,
} from './client.ts';

describe('single quirks of the real dialect', () => {
  let simulator: Simulator;
  let client: Awaited<ReturnType<typeof clusterClient>>;

  beforeEach(async () => {
    simulator = await startSimulator({ metricKeys: 'useful', frozen: true, ranges: 240 });
    client = await clusterClient(simulator);
  });
  afterEach(() => simulator.close());

  async function under<Name extends keyof Quirks>(
    name: Name,
    value: Quirks[Name],
    path: string,
  ): Promise<{ status: number; text: string }> {
    simulator.setQuirk(name, value);
    return client(path);
  }

  it('sessionHeader: a different header for the token', async () => {
    const token = await logIn(simulator);
    simulator.setQuirk('sessionHeader', 'X-Service-API-Session');
    const url = `${simulator.clusterUrl}/api/v2/nodes/`;
    expect((await ask(url, { token })).status).toBe(401);
    expect((await ask(url, { headers: { 'X-Service-API-Session': token } })).status).toBe(200);
  });

  it('bytesAs: keys and ids are arrays of integers', async () => {
    simulator.setQuirk('bytesAs', 'integers');
    const ranges = (await client<RangesBody>('/nodes/1/ranges/')).json();
    const key = ranges.ranges.find((range) => range.span.start_key === '/Table/112')?.desc
      .start_key;
    const any = ranges.ranges.find((range) => range.desc.start_key !== undefined)?.desc.start_key;
    expect(key ?? any).toBeInstanceOf(Array);
    const { sessions } = (await client<SessionsBody>('/sessions/?limit=1')).json();
    expect(sessions[0]?.id).toHaveLength(16);
  });

  it('tenant: 501 with a text, or the older null for nodes and ranges', async () => {
    for (const path of ['/nodes/', '/sessions/', '/users/', '/login/']) {
      expect(await under('tenant', 'text', path)).toMatchObject({
        status: 501,
        text: 'Not Available on Tenants\n',
      });
    }
    expect(await under('tenant', 'null', '/nodes/')).toMatchObject({ status: 501, text: 'null' });
    expect((await under('tenant', 'null', '/sessions/')).text).toContain('Tenants');
  });

  it('writeZeros: zeros and false flags are written', async () => {
    simulator.setQuirk('writeZeros', true);
    const { ranges } = (await client<RangesBody>('/nodes/1/ranges/')).json();
    expect(ranges.every((range) => Object.keys(range.problems).length === 11)).toBe(true);
    expect(ranges.some((range) => range.stats['queries_per_second'] === 0)).toBe(true);
    expect(ranges.every((range) => 'quiescent' in range)).toBe(true);
  });

  it('unknownValues: unknown enums, problems and members', async () => {
    simulator.setQuirk('unknownValues', true);
    const { nodes } = (await client<NodesBody>('/nodes/')).json();
    expect(nodes?.[1]?.liveness_status).toBe(42);
    const replicas = (await client<RangesBody>('/nodes/1/ranges/')).text;
    expect(replicas).toContain('"unheard_of_problem":true');
    expect((await client('/sessions/')).text).toContain('"unheard_of":{"name":"}]\\"\\\\"}');
  });

  it('hugeIntegers: a metric beyond int64 and sequences that a double cannot hold', async () => {
    simulator.setQuirk('hugeIntegers', true);
    const { nodes } = (await client<NodesBody>('/nodes/')).json();
    expect(nodes?.[0]?.metrics['huge.metric']).toBeGreaterThan(Number.MAX_SAFE_INTEGER);
    const [, digits = ''] = /"sequence":(\d+)/.exec((await client('/nodes/1/ranges/')).text) ?? [];
    expect(BigInt(digits)).not.toBe(BigInt(Number(digits)));
  });
});

describe('releases', () => {
  it('an old one has no metrics by store, eight problems, two stats, and no closed sessions', async () => {
    await using simulator = await startSimulator({
      metricKeys: 'useful',
      frozen: true,
      quirks: OLD_RELEASE,
      users: [{ name: 'exporter', password: 'old', admin: true }],
    });
    const token = await logIn(simulator, 'exporter', 'old');
    const root = `${simulator.clusterUrl}/api/v2`;
    const nodes = (await ask<NodesBody>(`${root}/nodes/`, { token })).json().nodes ?? [];
    expect(nodes.some((node) => 'store_metrics' in node)).toBe(false);
    const { ranges } = (await ask<RangesBody>(`${root}/nodes/1/ranges/`, { token })).json();
    const stats = new Set(ranges.flatMap((range) => Object.keys(range.stats)));
    expect(stats).toEqual(new Set(['queries_per_second', 'writes_per_second']));
    const problems = new Set(ranges.flatMap((range) => Object.keys(range.problems)));
    expect(problems.has('circuit_breaker_error') || problems.has('range_too_large')).toBe(false);
    const { sessions } = (await ask<SessionsBody>(`${root}/sessions/`, { token })).json();
    expect(sessions.some((session) => 'status' in session || 'end' in session)).toBe(false);
  });

  it('a new one reports vCPUs; no release reports a node as starting (7)', async () => {
    await using simulator = await startSimulator({
      metricKeys: 'useful',
      frozen: true,
      quirks: NEW_RELEASE,
    });
    const client = await clusterClient(simulator);
    simulator.world.restartNode(1);
    const { nodes } = (await client<{ nodes: object[] }>('/nodes/')).json();
    expect(nodes[0]).toMatchObject({ liveness_status: 3, num_vcpus: 4.5 });
  });
});

describe('the documented dialect', () => {
  it('responds as documented', async () => {
    await using simulator = await startSimulator({
      dialect: 'documented',
      metricKeys: 'useful',
      frozen: true,
    });
    const token = await logIn(simulator);
    const headers = { 'X-Service-API-Session': token };
    const root = `${simulator.clusterUrl}/api/v2`;
    expect((await ask(`${root}/users/?limit=2`)).json()).toMatchObject({ next: 2 });
    const ranges = (await ask<RangesBody>(`${root}/nodes/1/ranges/`, { headers })).json().ranges;
    expect(Object.keys(ranges[0]?.problems ?? {})).toHaveLength(8);
    expect(ranges.every((range) => typeof range.desc.end_key === 'object')).toBe(true);
    const sessions = (await ask<SessionsBody>(`${root}/sessions/`, { headers })).json();
    expect(sessions).not.toHaveProperty('next');
    expect(sessions.sessions[0]?.id).toHaveLength(16);
    expect(sessions.sessions).toHaveLength(simulator.truth().sessions.open);
  });
});
