import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ASSISTANT_PASSWORD, startSimulator, type Simulator } from '../../src/simulator/index.ts';
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

const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n';

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

  it('refuses callers without the role', async () => {
    const writer = { authorization: 'Bearer cluster_operator_writer-token' };
    expect((await call('GET', 'migration-assistant', undefined, writer)).status).toBe(404);
    const refused = await call('POST', 'migration-assistant', {}, writer);
    expect(refused.status).toBe(403);
    expect(refused.json()).toMatchObject({ code: 7 });
    const accessor = { authorization: 'Bearer cluster_data_accessor-token' };
    expect((await call('GET', 'migration-assistant', undefined, accessor)).status).toBe(403);
    const body = { name: 'movr', new_name: 'taxi' };
    expect((await call('PATCH', 'databases', body, accessor)).status).toBe(200);
  });

  it('changes the status of an assistant: PENDING, RUNNING with credentials, DELETING, removed', async () => {
    const created = await call<Assistant>('POST', 'migration-assistant', {});
    expect(created.json()).toMatchObject({
      status: 'PENDING',
      health: 'NOT_COMPUTED',
      url: '',
      deployed_region: 'europe-west4',
    });
    nowMs += 19_999;
    expect((await assistant()).json().status).toBe('PENDING');
    nowMs += 1;
    expect((await assistant()).json()).toMatchObject({
      status: 'RUNNING',
      health: 'HEALTHY',
      password: ASSISTANT_PASSWORD,
      last_error: '',
    });
    expect(simulator.truth().assistant).toMatchObject({ status: 'RUNNING' });
    const again = await call('POST', 'migration-assistant', {});
    expect(again.status).toBe(409);
    expect(again.json()).toMatchObject({ code: 6 });
    const leaving = await call<Assistant>('DELETE', 'migration-assistant');
    expect(leaving.json()).toMatchObject({ status: 'DELETING', password: '' });
    nowMs += 20_000;
    expect((await assistant()).status).toBe(404);
    expect((await call('DELETE', 'migration-assistant')).status).toBe(404);
  });

  it('fails to provision, then provisions again', async () => {
    simulator.world.failNextProvisioning();
    await call('POST', 'migration-assistant', { region: 'us-east1' });
    nowMs += 20_000;
    const failed = (await assistant()).json();
    expect(failed).toMatchObject({ status: 'FAILED', deployed_region: 'us-east1', password: '' });
    expect(failed.last_error).toContain('quota');
    expect((await call('POST', 'migration-assistant', {})).status).toBe(200);
    nowMs += 20_000;
    expect((await assistant()).json().status).toBe('RUNNING');
  });

  it('refuses unknown regions and bodies that are not a JSON object', async () => {
    expect((await call('POST', 'migration-assistant', { region: 'moon' })).status).toBe(400);
    expect((await call('POST', 'migration-assistant', [])).status).toBe(400);
  });

  it('stores, returns and deletes the source certificate', async () => {
    expect((await call('GET', 'migration-assistant/source-ca-cert')).status).toBe(404);
    await call('POST', 'migration-assistant', {});
    const path = 'migration-assistant/source-ca-cert';
    expect((await call('PATCH', path, { x509_pem_cert: 'junk' })).status).toBe(400);
    expect((await call('PATCH', path, { x509_pem_cert: CERTIFICATE })).status).toBe(200);
    expect((await call('GET', path)).json()).toEqual({ x509_pem_cert: CERTIFICATE });
    expect((await call('DELETE', path)).json()).toEqual({ x509_pem_cert: CERTIFICATE });
    expect((await call('GET', path)).json()).toEqual({ x509_pem_cert: '' });
  });

  it('renames databases by body or by path', async () => {
    const renamed = await call('PATCH', 'databases', { name: 'movr', new_name: 'taxi' });
    expect(renamed.json()).toEqual({ name: 'taxi', table_count: '5' });
    expect((await call('PATCH', 'databases/taxi', { new_name: 'cabs' })).json()).toMatchObject({
      name: 'cabs',
    });
    expect(simulator.truth().tables[0]?.database).toBe('cabs');
    expect((await call('PATCH', 'databases', { name: 'cabs', new_name: 'bank' })).status).toBe(409);
    expect((await call('PATCH', 'databases', { name: 'gone', new_name: 'x' })).status).toBe(404);
    expect((await call('PATCH', 'databases', { name: 'cabs' })).status).toBe(400);
    expect((await call('PATCH', 'databases', { name: 'cabs', new_name: 'a b' })).status).toBe(400);
  });

  it('allows ten requests a second, then sends Retry-After', async () => {
    simulator.setQuirk('cloudRateLimit', true);
    const answers = await Promise.all(Array.from({ length: 11 }, assistant));
    const refused = answers.filter((answer) => answer.status === 429);
    expect(refused).toHaveLength(1);
    expect(refused[0]?.headers.get('retry-after')).toBe('1');
    expect(refused[0]?.json()).toMatchObject({ code: 8 });
  });

  it('returns 404 for other paths', async () => {
    expect((await call('GET', 'nothing')).status).toBe(404);
    expect((await call('PUT', 'migration-assistant')).status).toBe(501);
  });
});
