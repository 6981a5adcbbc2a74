import { expect, it, onTestFinished } from 'vitest';
import { startSimulator, type Simulator } from '../../simulator/index.ts';
import { ask, type RangesBody } from './client.ts';

async function openWorld(nodes: number, replication: number): Promise<Simulator> {
  const simulator = await startSimulator({
    nodes,
    replication,
    gateways: nodes,
    ranges: 12,
    storesPerNode: 1,
    sessions: 0,
    metricKeys: 'useful',
    faultyNodes: false,
    frozen: true,
    insecure: true,
  });
  onTestFinished(() => simulator.close());
  return simulator;
}

/** The problems of a range by any of its replicas on live nodes. */
async function problemsOf(simulator: Simulator, rangeId = 6): Promise<readonly string[]> {
  const problems = new Set<string>();
  for (const { nodeId, scannable } of simulator.truth().nodes) {
    if (!scannable) continue;
    const url = `${simulator.clusterUrl}/api/v2/nodes/${nodeId}/ranges/?ranges=${rangeId}`;
    const [range] = (await ask<RangesBody>(url)).json().ranges;
    for (const problem of Object.keys(range?.problems ?? {})) problems.add(problem);
  }
  return [...problems].toSorted();
}

it('drops `underreplicated` when dead members are leaving and the zone asks for more than are left', async () => {
  const simulator = await openWorld(5, 5);
  const { world } = simulator;
  world.killNode(4);
  world.killNode(5);
  expect(await problemsOf(simulator)).toEqual(['underreplicated']);
  world.beginDecommission(4);
  // Four members: three voters are wanted, and there are three.
  expect(await problemsOf(simulator)).toEqual([]);
  world.beginDecommission(5);
  expect(await problemsOf(simulator)).toEqual([]);
  world.recommission(4);
  world.recommission(5);
  expect(await problemsOf(simulator)).toEqual(['underreplicated']);
});

it('never wants fewer than three voters, unless the zone does', async () => {
  const alone = await openWorld(1, 3);
  expect(await problemsOf(alone)).toEqual(['underreplicated']);
  const pair = await openWorld(2, 1);
  expect(await problemsOf(pair)).toEqual([]);
});

it('counts non-voters apart from voters', async () => {
  const simulator = await openWorld(6, 3);
  const { world } = simulator;
  world.setZone([6], { voters: 3, nonVoters: 2 });
  world.placeRange(6, [1, 2, 3, 4, 5]);
  // Five voters are no three voters and two non-voters.
  expect(await problemsOf(simulator)).toEqual(['underreplicated']);
  world.placeRange(6, [1, 2, 3], [4, 5]);
  expect(await problemsOf(simulator)).toEqual([]);
  world.placeRange(6, [1, 2, 3], [4, 5, 6]);
  expect(await problemsOf(simulator)).toEqual(['overreplicated']);
  world.killNode(6);
  expect(await problemsOf(simulator)).toEqual([]);
  world.killNode(5);
  expect(await problemsOf(simulator)).toEqual(['underreplicated']);
});

it('is under-replicated by the zone of the range alone', async () => {
  const simulator = await openWorld(5, 3);
  simulator.world.setZone([7], { voters: 5 });
  expect(await problemsOf(simulator, 7)).toEqual(['underreplicated']);
  expect(await problemsOf(simulator, 8)).toEqual([]);
});

it('is `unavailable` without a majority of live voters', async () => {
  const simulator = await openWorld(5, 3);
  const { world } = simulator;
  world.placeRange(6, [1, 2, 3], [4, 5]);
  world.setZone([6], { voters: 3, nonVoters: 2 });
  world.killNode(3);
  expect(await problemsOf(simulator)).toEqual(['underreplicated']);
  world.killNode(2, 'unavailable');
  expect(await problemsOf(simulator)).toEqual(['no_raft_leader', 'unavailable', 'underreplicated']);
});

it('repeats a problem of a replica until it is cleared, and reports another one once', async () => {
  const simulator = await openWorld(3, 3);
  const { world } = simulator;
  world.reportOnce(6, 2, 'no_raft_leader');
  expect(await problemsOf(simulator)).toEqual(['no_raft_leader']);
  expect(await problemsOf(simulator)).toEqual([]);
  const [store] = world.state.nodes.get(2)?.stores ?? [];
  world.setProblem(6, 'circuit_breaker_error', true, store?.id);
  for (let time = 0; time < 2; time++)
    expect(await problemsOf(simulator)).toEqual(['circuit_breaker_error']);
});

it('is `no_raft_leader` on replicas of a partitioned node alone', async () => {
  const simulator = await openWorld(3, 3);
  const { world } = simulator;
  world.partition(1);
  const listed = async (nodeId: number) => {
    const url = `${simulator.clusterUrls[nodeId - 1]}/api/v2/nodes/local/ranges/?ranges=6`;
    return (await ask<RangesBody>(url)).json().ranges[0]?.problems;
  };
  expect(await listed(1)).toMatchObject({ no_raft_leader: true });
  expect(await listed(2)).not.toHaveProperty('no_raft_leader');
});

it('is claimed by one replica, while the others know better', async () => {
  const simulator = await openWorld(5, 3);
  const { world } = simulator;
  world.placeRange(6, [1, 2, 3]);
  const [store] = world.state.nodes.get(3)?.stores ?? [];
  world.setProblem(6, 'unavailable', true, store?.id);
  const url = `${simulator.clusterUrl}/api/v2/nodes`;
  const listed = async (nodeId: number) =>
    (await ask<RangesBody>(`${url}/${nodeId}/ranges/?ranges=6`)).json().ranges[0]?.problems;
  expect(await listed(3)).toHaveProperty('unavailable', true);
  expect(await listed(1)).not.toHaveProperty('unavailable');
  expect(simulator.dependence().withoutQuorum).toEqual([]);
  world.setProblem(6, 'unavailable', false, store?.id);
  expect(await problemsOf(simulator)).toEqual([]);
});
