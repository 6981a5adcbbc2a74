import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../simulator/index.ts';
import { ask, logIn } from './client.ts';

const NO_ACCOUNT = 'the provided credentials did not match any account on the server\n';
const NOT_VALID = 'the provided authentication session could not be validated\n';

describe('logging in to the simulated cluster', () => {
  let simulator: Simulator;
  let loginUrl: string;
  let nodesUrl: string;

  beforeAll(async () => {
    simulator = await startSimulator({ metricKeys: 'useful', nodes: 3, ranges: 6, sessions: 4 });
    loginUrl = `${simulator.clusterUrl}/api/v2/login/`;
    nodesUrl = `${simulator.clusterUrl}/api/v2/nodes/`;
  });
  afterAll(() => simulator.close());

  const post = (form: Record<string, string>): Promise<{ status: number; text: string }> =>
    ask(loginUrl, { method: 'POST', body: new URLSearchParams(form) });

  it('refuses wrong passwords, unknown users and users without password alike', async () => {
    for (const username of [simulator.username, 'nobody', 'root']) {
      expect(await post({ username, password: 'wrong' })).toMatchObject({
        status: 401,
        text: NO_ACCOUNT,
      });
    }
  });

  it('returns 401 without a header, 400 for one that is not base64, 401 for an unknown token', async () => {
    expect(await ask(nodesUrl)).toMatchObject({ status: 401, text: 'invalid session header\n' });
    expect(await ask(nodesUrl, { token: 'ab!c' })).toMatchObject({
      status: 400,
      text: 'illegal base64 data at input byte 2\n',
    });
    const token = await logIn(simulator);
    const forged = Buffer.from(token, 'base64');
    forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1;
    for (const wrong of ['aGVsbG8=', forged.toString('base64')]) {
      expect(await ask(nodesUrl, { token: wrong })).toMatchObject({ status: 401, text: NOT_VALID });
    }
  });
});

it('expires tokens after the session timeout, use does not extend it', async () => {
  let nowMs = 1_800_000_000_000;
  await using simulator = await startSimulator({
    metricKeys: 'useful',
    sessionTimeoutMs: 1000,
    now: () => nowMs,
  });
  const token = await logIn(simulator);
  nowMs += 999;
  expect((await ask(`${simulator.clusterUrl}/api/v2/nodes/`, { token })).status).toBe(200);
  nowMs += 1;
  expect((await ask(`${simulator.clusterUrl}/api/v2/nodes/`, { token })).status).toBe(401);
});
