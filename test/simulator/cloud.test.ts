import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../simulator/index.ts';
import { ask, type Answered, type Asking } from './client.ts';

interface Assistant {
  readonly id: string;
  readonly status: string;
  readonly health: string;
  readonly url: string;
  readonly password: string;
  readonly last_error: string;
  readonly deployed_region: string;
}

describe('the cloud API', () => {
  let simulator: Simulator;
  let nowMs: number;

  beforeEach(async () => {
    nowMs = 1_800_000_000_000;
    simulator = await startSimulator({
      metricKeys: 'useful',
      ranges: 20,
      sessions: 1,
      now: () => nowMs,
      quirks: { cloudRateLimit: false },
    });
  });
  afterEach(() => simulator.close());

  function call<Body>(
    method: string,
    path: string,
    body?: object,
    headers: Asking['headers'] = {},
  ): Promise<Answered<Body>> {
    return ask(`${simulator.cloudUrl}/api/v1/clusters/${simulator.cloudClusterId}/${path}`, {
      method,
      headers: { authorization: `Bearer ${simulator.cloudToken}`, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  const assistant = (): Promise<Answered<Assistant>> => call('GET', 'migration-assistant');

  it('requires a known bearer token', async () => {
    for (const authorization of ['', 'Bearer nobody', 'Basic abc', 'Bearer toString']) {
      const answer = await call('GET', 'migration-assistant', undefined, { authorization });
      expect(answer.status).toBe(401);
      expect(answer.json()).toMatchObject({ code: 16 });
    }
  });

  it('repeats the version and refuses one that is not a date or too old', async () => {
    const good = await call('GET', 'migration-assistant', undefined, {
      'cc-version': '2024-09-16',
    });
    expect(good.headers.get('cc-version')).toBe('2024-09-16');
    for (const version of ['tomorrow', '2024-13-40', '2020-01-01']) {
      const bad = await call('GET', 'migration-assistant', undefined, { 'cc-version': version });
      expect(bad).toMatchObject({ status: 400 });
      expect(bad.json()).toMatchObject({ code: 3, message: 'invalid Cc-Version.' });
    }
  });

  it('returns 404 with code 5, pretty-printed, without an assistant and for an unknown cluster', async () => {
    const none = await assistant();
    expect(none.status).toBe(404);
    expect(none.json()).toMatchObject({ code: 5 });
    expect(none.text).toContain('\n  "message": "migration assistant');
    const strange = await ask(
      `${simulator.cloudUrl}/api/v1/clusters/00000000-0000-0000-0000-000000000000/migration-assistant`,
      { headers: { authorization: `Bearer ${simulator.cloudToken}` } },
    );
    expect(strange.status).toBe(404);
    expect(strange.text).not.toContain('assistant');
  });
});
