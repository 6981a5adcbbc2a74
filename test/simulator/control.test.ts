import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../simulator/index.ts';
import { ask, type Answered } from './client.ts';

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
