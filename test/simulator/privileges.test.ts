import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SQL_MARKER, startSimulator, type Simulator } from '../../src/simulator/index.ts';
import { ask, logIn, type SessionsBody } from './client.ts';

const GATED = ['/nodes/', '/nodes/local/ranges/', '/sessions/'];

describe('privileges', () => {
  let simulator: Simulator;

  beforeAll(async () => {
    simulator = await startSimulator({
      metricKeys: 'useful',
      users: [
        {
          name: 'Reader',
          password: 'r',
          privileges: ['VIEWCLUSTERMETADATA', 'VIEWACTIVITY'],
        },
      ],
    });
  });
  afterAll(() => simulator.close());

  async function asUser(
    name: string,
    password: string,
    path: string,
  ): Promise<{ status: number; text: string }> {
    const token = await logIn(simulator, name, password);
    return ask(`${simulator.clusterUrl}/api/v2${path}`, { token });
  }

  it('refuses nodes, ranges and sessions to a user without VIEWCLUSTERMETADATA', async () => {
    for (const path of GATED) {
      expect(await asUser('plain', 'plain-demo', path)).toMatchObject({
        status: 403,
        text: 'user not allowed to access this endpoint\n',
      });
    }
  });

  it('allows administrators and users with VIEWCLUSTERMETADATA', async () => {
    for (const path of GATED) {
      expect((await asUser('admin_user', 'admin-demo', path)).status).toBe(200);
      expect((await asUser('watcher', 'watcher-demo', path)).status).toBe(200);
    }
  });

  it('allows only administrators on old releases', async () => {
    simulator.setQuirk('gate', 'admin');
    expect((await asUser('watcher', 'watcher-demo', '/nodes/')).status).toBe(403);
    expect((await asUser('admin_user', 'admin-demo', '/nodes/')).status).toBe(200);
    simulator.setQuirk('gate', 'metadata');
  });

  it('shows users without VIEWACTIVITY only their own sessions', async () => {
    const { text } = await asUser('watcher', 'watcher-demo', '/sessions/');
    const body: SessionsBody = JSON.parse(text);
    expect(body.sessions.length).toBeGreaterThan(0);
    expect(new Set(body.sessions.map((session) => session.username))).toEqual(new Set(['watcher']));
  });

  it('hides constants with VIEWACTIVITYREDACTED, and shows them with VIEWACTIVITY', async () => {
    const redacted = await asUser(simulator.username, simulator.password, '/sessions/');
    const whole = await asUser('reader', 'r', '/sessions/');
    expect(redacted.text).toContain(SQL_MARKER);
    expect(redacted.text).not.toContain(`${SQL_MARKER}-constant`);
    expect(whole.text).toContain(`${SQL_MARKER}-constant`);
  });

  it('returns 500 to a user without SELECT on system.users', async () => {
    expect((await asUser('watcher', 'watcher-demo', '/users/')).status).toBe(500);
    expect((await asUser(simulator.username, simulator.password, '/users/')).status).toBe(200);
  });

  it('returns 403 to every user under the quirk', async () => {
    simulator.setQuirk('forbidden', true);
    expect((await asUser('admin_user', 'admin-demo', '/nodes/')).status).toBe(403);
    simulator.setQuirk('forbidden', false);
  });
});
