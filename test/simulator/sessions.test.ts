import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/index.ts';
import { clusterClient, type SessionsBody } from './client.ts';

const UNLIMITED = 'fDB8MHw=';

function decoded(token: string | undefined): string {
  return Buffer.from(token ?? '', 'base64url').toString();
}

describe('GET /sessions/', () => {
  let simulator: Simulator;
  let client: Awaited<ReturnType<typeof clusterClient>>;

  beforeAll(async () => {
    simulator = await startSimulator({ metricKeys: 'useful', frozen: true, sessions: 60 });
    client = await clusterClient(simulator);
  });
  afterAll(() => simulator.close());

  const page = async (query = ''): Promise<SessionsBody> =>
    (await client<SessionsBody>(`/sessions/${query}`)).json();

  it('lists the sessions of all nodes, nodes by id and sessions by start', async () => {
    const { sessions } = await page();
    const order = sessions.map((session) => [session.node_id, Date.parse(session.start)] as const);
    const sorted = order.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]);
    expect(order).toEqual(sorted);
    const { open, closed } = simulator.truth().sessions;
    expect(sessions).toHaveLength(open + closed);
  });

  it('reports a dead node among the errors, with status 200, but not the decommissioned one', async () => {
    const { errors } = await page();
    expect(errors).toEqual([
      { node_id: 9, message: 'failed to dial into node 9 (DEAD): connection refused' },
    ]);
  });

  it('always contains the prefix of internal applications and a next token', async () => {
    expect(await page()).toMatchObject({ internal_app_name_prefix: '$ internal', next: UNLIMITED });
    expect(decoded(UNLIMITED)).toBe('|0|0|');
  });

  it('marks closed sessions by status 1 and an end, and excludes them on request', async () => {
    const { sessions } = await page();
    const closed = sessions.filter((session) => session.status === 1);
    expect(closed).toHaveLength(simulator.truth().sessions.closed);
    expect(closed.every((session) => session.end !== undefined)).toBe(true);
    const open = (await page('?exclude_closed_sessions=true')).sessions;
    expect(open).toEqual(sessions.filter((session) => session.status !== 1));
  });

  it('contains every state', async () => {
    const { sessions } = await page('?exclude_closed_sessions=true');
    const active = sessions.filter((session) => session.active_queries !== null);
    const waiting = sessions.filter((s) => s.active_queries === null && s.active_txn !== undefined);
    const idle = sessions.filter((session) => session.active_txn === undefined);
    for (const list of [active, waiting, idle]) expect(list.length).toBeGreaterThan(0);
    expect(active.every((session) => session.status === undefined)).toBe(true);
    expect(idle.every((session) => session.status === 2)).toBe(true);
  });

  it('contains names that need escaping', async () => {
    const names = (await page()).sessions.map((session) => session.application_name);
    expect(names).toContain('two\nlines');
    expect(names).toContain('🚕 dispatch');
    expect(names).toContain('C:\\Program Files\\psql');
    expect(names).toContain(undefined);
    expect(Math.max(...names.map((name) => name?.length ?? 0))).toBe(10_240);
  });

  it('filters by user name', async () => {
    const { sessions } = await page('?username=REPORTING');
    expect(new Set(sessions.map((session) => session.username))).toEqual(new Set(['reporting']));
  });

  it('hides internal sessions unless the cluster shows them', async () => {
    const { internal, open, closed } = simulator.truth().sessions;
    expect(internal).toBe(7);
    simulator.setQuirk('internalSessions', true);
    expect((await page()).sessions).toHaveLength(internal + open + closed);
    simulator.setQuirk('internalSessions', false);
  });

  it('pages over the nodes with tokens of the position', async () => {
    const perNode = await page().then(({ sessions }) => Map.groupBy(sessions, (s) => s.node_id));
    const onFirst = perNode.get(1)?.length ?? 0;
    const first = await page('?limit=3');
    expect(decoded(first.next)).toBe('|1|3|2,3,4,5,6,8,9,');
    const whole = await page(`?limit=${onFirst}`);
    expect(decoded(whole.next)).toBe('1,|2|0|3,4,5,6,8,9,');
    const across = await page(`?limit=${onFirst + 2}`);
    expect(decoded(across.next)).toBe('1,|2|2|3,4,5,6,8,9,');
  });

  it('returns all sessions in pages, then empty pages with the same token forever', async () => {
    const whole = await page();
    const joined = [];
    let start = '';
    let last = await page('?limit=10');
    while (last.sessions.length === 10) {
      joined.push(...last.sessions);
      start = last.next ?? '';
      last = await page(`?limit=10&start=${start}`);
    }
    joined.push(...last.sessions);
    expect(joined).toEqual(whole.sessions);
    // Node 9 is dead and the last: it stays in progress and is queried each time.
    expect(decoded(last.next)).toBe('1,2,3,4,5,6,8,|9|0|');
    const again = await page(`?limit=10&start=${last.next}`);
    expect(again).toMatchObject({ sessions: [], next: last.next, errors: [{ node_id: 9 }] });
  });

  it('leaves a last node without sessions in progress: one more page, which is empty', async () => {
    await using quiet = await startSimulator({
      metricKeys: 'useful',
      nodes: 2,
      sessions: 4,
      faultyNodes: false,
      frozen: true,
    });
    const ask = await clusterClient(quiet);
    const { sessions } = (await ask<SessionsBody>('/sessions/')).json();
    for (const { id, node_id: node } of sessions) {
      if (node === 2) quiet.world.closeSession(Buffer.from(String(id), 'base64').toString('hex'));
    }
    const query = '/sessions/?limit=100&exclude_closed_sessions=true';
    const first = (await ask<SessionsBody>(query)).json();
    expect(first.sessions.length).toBeGreaterThan(0);
    expect(decoded(first.next)).toBe('1,|2|0|');
    const second = (await ask<SessionsBody>(`${query}&start=${first.next}`)).json();
    expect(second).toMatchObject({ sessions: [], next: first.next });
  });

  it('starts over with an invalid token, and ignores one without a limit', async () => {
    const first = await page('?limit=2');
    for (const token of ['!!!!', 'abc', Buffer.from('1|2').toString('base64url'), UNLIMITED]) {
      expect(await page(`?limit=2&start=${token}`)).toEqual(first);
    }
    expect(await page(`?start=${first.next}`)).toEqual(await page());
  });

  const mine = async (): Promise<SessionsBody['sessions'][number] | undefined> =>
    (await page()).sessions.find((session) => session.application_name === 'mine');

  it('opens and closes sessions on request', async () => {
    const id = simulator.world.openSession({
      nodeId: 2,
      applicationName: 'mine',
      state: 'idle_in_transaction',
      transactionAgeMs: 90_000,
    });
    expect(await mine()).toMatchObject({
      id: Buffer.from(id, 'hex').toString('base64'),
      active_queries: null,
      active_txn: { elapsed_time: 90e9, deadline: '0001-01-01T00:00:00Z' },
    });
    simulator.world.closeSession(id);
    expect(await mine()).toMatchObject({ status: 1 });
    simulator.world.dropOpenedSessions();
  });

  it('sessionsPageCap: pages are shorter than requested, and the token continues after them', async () => {
    simulator.setQuirk('sessionsPageCap', 7);
    const whole = await page();
    const first = await page('?limit=1000');
    const second = await page(`?limit=1000&start=${first.next}`);
    simulator.setQuirk('sessionsPageCap', 0);
    expect(whole.sessions.length).toBeGreaterThan(14);
    expect(first.sessions).toEqual(whole.sessions.slice(0, 7));
    expect(second.sessions).toEqual(whole.sessions.slice(7, 14));
  });

  it('never responds while a node is frozen', async () => {
    simulator.world.freezeNode(3);
    const signal = AbortSignal.timeout(100);
    await expect(client('/sessions/', { signal })).rejects.toThrow('timeout');
    simulator.world.reviveNode(3);
    expect((await page()).sessions.length).toBeGreaterThan(0);
  });
});

it('finishes with a token that lists every node when all of them responded', async () => {
  await using simulator = await startSimulator({
    metricKeys: 'useful',
    frozen: true,
    nodes: 3,
    sessions: 9,
  });
  const client = await clusterClient(simulator);
  const { next } = (await client<SessionsBody>('/sessions/?limit=1000')).json();
  expect(next).toBe('MSwyLDMsfDB8MHw=');
  const again = (await client<SessionsBody>(`/sessions/?limit=1000&start=${next}`)).json();
  expect(again).toMatchObject({ sessions: [], next });
});

it('opens and closes sessions over time', async () => {
  let nowMs = 1_800_000_000_000;
  await using simulator = await startSimulator({ metricKeys: 'useful', now: () => nowMs });
  const ids = (): string[] => simulator.world.sessionsOf(1).map((session) => session.id);
  const before = ids();
  nowMs += 600_000;
  const after = ids();
  expect(after).not.toEqual(before);
  expect(after.filter((id) => before.includes(id)).length).toBeGreaterThan(0);
});
