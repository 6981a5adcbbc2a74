import { describe, expect, it, onTestFinished } from 'vitest';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../simulator/index.ts';

const RANGE = 6;

/** Every range has voters on nodes 1, 2 and 3. */
async function openWorld(more: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const simulator = await startSimulator({
    nodes: 5,
    ranges: 12,
    storesPerNode: 1,
    sessions: 0,
    metricKeys: 'useful',
    faultyNodes: false,
    frozen: true,
    insecure: true,
    ...more,
  });
  onTestFinished(() => simulator.close());
  for (const id of simulator.world.state.ranges.keys()) simulator.world.placeRange(id, [1, 2, 3]);
  return simulator;
}

const storeOf = ({ world }: Simulator, nodeId: number): number =>
  world.state.nodes.get(nodeId)?.stores[0]?.id ?? NaN;

describe('what depends on a node', () => {
  it('is nothing while any node may stop', async () => {
    const simulator = await openWorld();
    const { nodes, unsafeToStop } = simulator.dependence();
    expect(Object.keys(nodes)).toEqual(['1', '2', '3', '4', '5']);
    expect(nodes[1]).toEqual({ quorum: 0, allReplicas: 0, withoutQuorum: 0 });
    expect(unsafeToStop).toEqual([]);
  });

  it('is the majority of ranges that have one replica less, by voters alone', async () => {
    const simulator = await openWorld();
    const { world } = simulator;
    world.placeRange(RANGE, [1, 2, 3], [4, 5]);
    world.killNode(3);
    const { nodes, unsafeToStop } = simulator.dependence();
    expect(nodes[1]).toEqual({ quorum: 12, allReplicas: 0, withoutQuorum: 0 });
    expect(nodes[4]).toEqual({ quorum: 0, allReplicas: 0, withoutQuorum: 0 });
    expect(unsafeToStop).toEqual([1, 2]);
  });

  it('is the only voter beside non-voters', async () => {
    const simulator = await openWorld();
    simulator.world.placeRange(RANGE, [4], [1, 2]);
    expect(simulator.dependence().unsafeToStop).toEqual([4]);
  });

  it('is read from both configurations while they are joint', async () => {
    const simulator = await openWorld();
    const { world } = simulator;
    world.aimReplicas(RANGE, [1, 4, 5]);
    for (let step = 0; step < 3; step++) world.stepReplicas(RANGE);
    // Old voters 1, 2, 3 and new ones 1, 4, 5: without node 5, node 4 is needed and node 2 is not.
    world.killNode(5);
    expect(simulator.dependence().unsafeToStop).toEqual([1, 4]);
  });

  it('counts a replica that knows no leader for none', async () => {
    const simulator = await openWorld();
    simulator.world.setProblem(RANGE, 'circuit_breaker_error', true, storeOf(simulator, 2));
    const { unsafeToStop, servingNothing } = simulator.dependence();
    expect([unsafeToStop, servingNothing]).toEqual([[1, 3], []]);
  });

  it('is by processes and not by liveness', async () => {
    let nowMs = 1_800_000_000_000;
    const simulator = await openWorld({ frozen: false, now: () => nowMs });
    simulator.world.crashNode(3);
    expect(simulator.truth().nodesByStatus).toEqual({ live: 5 });
    expect(simulator.dependence().unsafeToStop).toEqual([1, 2]);
    simulator.world.startNode(3);
    nowMs += 1_000;
    expect(simulator.truth().nodesByStatus).toEqual({ live: 4, unavailable: 1 });
    expect(simulator.dependence().unsafeToStop).toEqual([]);
  });

  it('is by locality, too', async () => {
    const simulator = await openWorld();
    // Nodes 1 and 4 are in one region, 2 and 5 in another.
    simulator.world.placeRange(RANGE, [1, 4, 3]);
    const { localities } = simulator.dependence();
    expect(localities['region region=us-east1']).toEqual({
      quorum: 1,
      allReplicas: 0,
      withoutQuorum: 0,
    });
    expect(localities['zone region=us-east1,zone=us-east1-b']?.quorum).toBe(0);
  });
});

describe('damage', () => {
  it('is a range without a majority: no node may stop', async () => {
    const simulator = await openWorld();
    const { world } = simulator;
    world.killNode(2);
    world.placeRange(RANGE, [1, 4, 5]);
    for (const id of world.state.ranges.keys()) if (id !== RANGE) world.placeRange(id, [1]);
    world.killNode(4);
    expect(simulator.dependence()).toMatchObject({ withoutQuorum: [], lost: [] });
    world.killNode(5);
    expect(simulator.dependence()).toMatchObject({
      withoutQuorum: [RANGE],
      lost: [],
      unsafeToStop: [1, 3],
    });
    expect(simulator.dependence().nodes[1]?.withoutQuorum).toBe(1);
  });

  it('is a range whose replicas are all down', async () => {
    const simulator = await openWorld();
    simulator.world.placeRange(RANGE, [4]);
    simulator.world.killNode(4);
    expect(simulator.dependence()).toMatchObject({ withoutQuorum: [RANGE], lost: [RANGE] });
  });

  it.each(['no_lease', 'no_raft_leader', 'circuit_breaker_error'] as const)(
    'is a leaseholder that reports %s',
    async (problem) => {
      const simulator = await openWorld();
      simulator.world.setProblem(RANGE, problem);
      expect(simulator.dependence()).toMatchObject({
        withoutQuorum: [],
        servingNothing: [RANGE],
        unsafeToStop: [1, 2, 3, 4, 5],
      });
    },
  );
});
