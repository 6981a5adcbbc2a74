import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../simulator/index.ts';
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

  it('always contains the prefix of internal applications and a next token', async () => {
    expect(await page()).toMatchObject({ internal_app_name_prefix: '$ internal', next: UNLIMITED });
    expect(decoded(UNLIMITED)).toBe('|0|0|');
  });

  it('filters by user name', async () => {
    const { sessions } = await page('?username=REPORTING');
    expect(new Set(sessions.map((session) => session.username))).toEqual(new Set(['reporting']));
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

  it('starts over with an invalid token, and ignores one without a limit', async () => {
    const first = await page('?limit=2');
    for (const token of ['!!!!', 'abc', Buffer.from('1|2').toString('base64url'), UNLIMITED]) {
      expect(await page(`?limit=2&start=${token}`)).toEqual(first);
    }
    expect(await page(`?start=${first.next}`)).toEqual(await page());
  });
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
