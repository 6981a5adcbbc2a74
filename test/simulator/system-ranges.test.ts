import { describe, expect, onTestFinished, test } from 'vitest';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../simulator/index.ts';
import { ask, logIn } from './client.ts';

const PATHS = [
  '/api/v2/nodes/',
  '/api/v2/nodes/1/ranges/',
  '/api/v2/nodes/local/ranges/?remote_node_id=1',
  '/api/v2/sessions/',
  '/api/v2/users/',
  '/api/v2/databases/movr/tables/public.rides/',
  '/api/v2/table_metadata/',
  '/_status/ranges/1',
  '/_status/connectivity',
  '/_admin/v1/jobs',
];
const PATIENCE_MS = 300;

async function openWorld(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const simulator = await startSimulator({
    nodes: 9,
    ranges: 40,
    faultyNodes: false,
    metricKeys: 'useful',
    ...options,
  });
  onTestFinished(() => simulator.close());
  return simulator;
}

/** Kills nodes other than the gateway until the range has no majority. */
function loseRange({ world }: Simulator, id: number): readonly number[] {
  const replicas = world.state.ranges.get(id)?.replicas ?? [];
  const holders = replicas.map(({ nodeId }) => nodeId).filter((nodeId) => nodeId !== 1);
  const killed = holders.slice(0, Math.ceil(replicas.length / 2));
  for (const nodeId of killed) world.killNode(nodeId);
  return killed;
}

/** The status of the response; with a signal `hangs` when none has come until then. */
async function statusOf(
  { clusterUrl, username, password }: Simulator,
  path: string,
  token = '',
  signal?: AbortSignal,
): Promise<number | 'hangs'> {
  const form = { method: 'POST', body: new URLSearchParams({ username, password }) };
  const headers = { 'X-Cockroach-API-Session': token, Cookie: `session=${token}` };
  const asking = path.endsWith('/login/') ? form : { headers };
  try {
    return (await ask(`${clusterUrl}${path}`, { ...asking, ...(signal && { signal }) })).status;
  } catch (error) {
    if (signal?.aborted === true) return 'hangs';
    throw error;
  }
}

describe('system ranges', () => {
  test('have five replicas where there are nodes for them, the time series as all others', async () => {
    const { world } = await openWorld();
    const counts = [1, 2, 3, 4, 5, 6].map((id) => world.state.ranges.get(id)?.replicas.length);
    expect(counts).toEqual([5, 5, 5, 3, 5, 3]);
    const small = await openWorld({ nodes: 3 });
    expect(small.world.state.ranges.get(1)?.replicas).toHaveLength(3);
  });

  test('without a quorum: login and every endpoint hang, until a node returns', async () => {
    const simulator = await openWorld();
    const token = await logIn(simulator);
    const [first = 0] = loseRange(simulator, 2);
    const all = ['/api/v2/login/', '/api/v2/logout/', ...PATHS];
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const hanging = await Promise.all(all.map((path) => statusOf(simulator, path, token, signal)));
    expect(hanging).toEqual(all.map(() => 'hangs'));
    simulator.world.reviveNode(first);
    for (const path of ['/api/v2/login/', ...PATHS]) {
      expect([path, await statusOf(simulator, path, token)]).toEqual([path, 200]);
    }
  });

  test('without a quorum: health and metrics of a node go on', async () => {
    const simulator = await openWorld();
    loseRange(simulator, 1);
    expect(await statusOf(simulator, '/health')).toBe(200);
    expect(await statusOf(simulator, '/_status/vars')).toBe(200);
  });

  test('without a quorum: a cluster without login fails at the list of nodes alone', async () => {
    const simulator = await openWorld({ insecure: true });
    loseRange(simulator, 5);
    for (const path of PATHS) {
      const expected = path === '/api/v2/nodes/' ? 500 : 200;
      expect([path, await statusOf(simulator, path)]).toEqual([path, expected]);
    }
  });

  test('with a quorum: two dead nodes of nine, or lost time series, hold up nothing', async () => {
    const simulator = await openWorld();
    const token = await logIn(simulator);
    loseRange(simulator, 4);
    expect(await statusOf(simulator, '/api/v2/nodes/', token)).toBe(200);
  });

  test('can be lost without an effect, by a switch', async () => {
    const simulator = await openWorld();
    const token = await logIn(simulator);
    loseRange(simulator, 2);
    simulator.setQuirk('systemRangesLost', 'works');
    expect(await statusOf(simulator, '/api/v2/nodes/', token)).toBe(200);
  });
});
