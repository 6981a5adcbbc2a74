import { describe, expect, it, onTestFinished } from 'vitest';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../simulator/index.ts';
import { createRandom } from '../../simulator/random.ts';
import { describeRanges } from './client.ts';

const RANGE = 6;
const [VOTER, LEARNER, INCOMING, DEMOTING, NON_VOTER, TO_NON_VOTER] = [0, 1, 2, 4, 5, 6];

async function openWorld(more: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const simulator = await startSimulator({
    nodes: 6,
    gateways: 6,
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
  simulator.world.placeRange(RANGE, [1, 2, 3]);
  return simulator;
}

/** Types by node, as the first of these nodes describes the range. */
async function typesOf(simulator: Simulator, nodeId = 1): Promise<Record<number, number>> {
  const [range] = await describeRanges(simulator, nodeId, [RANGE]);
  const replicas = range?.state.state.desc.internalReplicas ?? [];
  return Object.fromEntries(replicas.map((replica) => [replica.nodeId, replica.type]));
}

async function stepsOf(simulator: Simulator, nodeId = 1): Promise<Record<number, number>[]> {
  const steps = [];
  while (simulator.world.stepReplicas(RANGE)) steps.push(await typesOf(simulator, nodeId));
  return steps;
}

describe('a change of replicas', () => {
  it('adds a learner, joins two configurations, and removes the replica that was demoted', async () => {
    const simulator = await openWorld();
    simulator.world.aimReplicas(RANGE, [1, 2, 4]);
    expect(await stepsOf(simulator)).toEqual([
      { 1: VOTER, 2: VOTER, 3: VOTER, 4: LEARNER },
      { 1: VOTER, 2: VOTER, 3: DEMOTING, 4: INCOMING },
      { 1: VOTER, 2: VOTER, 3: LEARNER, 4: VOTER },
      { 1: VOTER, 2: VOTER, 4: VOTER },
    ]);
  });

  it('of a single added voter needs no joint configuration', async () => {
    const simulator = await openWorld();
    simulator.world.aimReplicas(RANGE, [1, 2, 3, 4]);
    expect(await stepsOf(simulator)).toEqual([
      { 1: VOTER, 2: VOTER, 3: VOTER, 4: LEARNER },
      { 1: VOTER, 2: VOTER, 3: VOTER, 4: VOTER },
    ]);
  });

  it('swaps voters and non-voters where they are', async () => {
    const simulator = await openWorld();
    simulator.world.placeRange(RANGE, [1, 2, 3], [4]);
    simulator.world.aimReplicas(RANGE, [1, 2, 4], [3]);
    expect(await stepsOf(simulator)).toEqual([
      { 1: VOTER, 2: VOTER, 3: TO_NON_VOTER, 4: INCOMING },
      { 1: VOTER, 2: VOTER, 3: NON_VOTER, 4: VOTER },
    ]);
  });

  it('moves the lease away from a voter that goes', async () => {
    const simulator = await openWorld();
    simulator.world.aimReplicas(RANGE, [2, 3, 4]);
    await stepsOf(simulator);
    const [range] = await describeRanges(simulator, 2, [RANGE]);
    expect(range).toMatchObject({ isLeaseholder: true, leaseValid: true });
    expect(await describeRanges(simulator, 1, [RANGE])).toEqual([]);
  });

  it('stops without a majority of both configurations', async () => {
    const simulator = await openWorld();
    const { world } = simulator;
    world.aimReplicas(RANGE, [1, 4, 5]);
    for (let step = 0; step < 3; step++) world.stepReplicas(RANGE);
    // Of the old voters 1, 2, 3 two are live, of the new ones 1, 4, 5 one.
    world.killNode(4);
    world.killNode(5);
    expect(world.stepReplicas(RANGE)).toBe(false);
    expect(simulator.truth().dependence.withoutQuorum).toContain(RANGE);
    world.reviveNode(4);
    expect(simulator.truth().dependence.withoutQuorum).not.toContain(RANGE);
    expect(await stepsOf(simulator)).toHaveLength(2);
    expect(await typesOf(simulator)).toEqual({ 1: VOTER, 4: VOTER, 5: VOTER });
  });

  it('gives up a target that dies, and removes its learner', async () => {
    const simulator = await openWorld();
    const { world } = simulator;
    world.aimReplicas(RANGE, [1, 4, 5]);
    world.stepReplicas(RANGE);
    world.killNode(5);
    await stepsOf(simulator);
    expect(await typesOf(simulator)).toEqual({ 1: VOTER, 2: VOTER, 3: VOTER });
  });
});

const placed = (simulator: Simulator) =>
  simulator.world.state.ranges.get(RANGE)?.replicas.map(({ nodeId }) => nodeId);

describe('the allocator', () => {
  it('replaces replicas on dead nodes while there are others, one step at a time', async () => {
    const simulator = await openWorld();
    const { world } = simulator;
    world.killNode(3, 'unavailable');
    expect(world.allocate()).toBe(0);
    world.killNode(3);
    let visits = 0;
    while (world.allocate(1) > 0) visits += 1;
    // One for the new replica, two for the joint configuration, one to remove the old replica.
    expect(visits).toBe(4);
    expect(placed(simulator)).toHaveLength(3);
    for (const { replicas } of world.state.ranges.values())
      expect(replicas.some(({ nodeId }) => nodeId === 3)).toBe(false);
    expect(simulator.truth().dependence.unsafeToStop).toEqual([]);
  });

  it('leaves a dead replica where no node can take another one', async () => {
    const simulator = await openWorld({ nodes: 3, gateways: 3 });
    simulator.world.killNode(3);
    expect(simulator.world.allocate()).toBe(0);
    expect(placed(simulator)).toEqual([1, 2, 3]);
    expect(simulator.truth().dependence.unsafeToStop).toEqual([1, 2]);
  });

  it('drops dead voters when their nodes leave, and fewer are wanted', async () => {
    const simulator = await openWorld({ nodes: 5, gateways: 5, replication: 5 });
    const { world } = simulator;
    world.placeRange(RANGE, [1, 2, 3, 4, 5]);
    for (const id of [4, 5]) {
      world.killNode(id);
      world.beginDecommission(id);
    }
    expect(simulator.truth().dependence.unsafeToStop).toEqual([1, 2, 3]);
    world.allocate();
    expect(placed(simulator)).toEqual([1, 2, 3]);
    expect(simulator.truth().dependence.unsafeToStop).toEqual([]);
  });

  it('changes a zone in place: 5 voters to 3 and 2 non-voters, and back', async () => {
    const simulator = await openWorld();
    const { world } = simulator;
    world.placeRange(RANGE, [1, 2, 3, 4, 5]);
    world.setZone([RANGE], { voters: 3, nonVoters: 2 });
    world.allocate();
    expect(placed(simulator)).toEqual([1, 2, 3, 4, 5]);
    expect(Object.values(await typesOf(simulator)).toSorted((a, b) => a - b)).toEqual([
      0, 0, 0, 5, 5,
    ]);
    world.setZone([RANGE], { voters: 5 });
    world.allocate();
    expect(placed(simulator)).toEqual([1, 2, 3, 4, 5]);
    expect(Object.values(await typesOf(simulator))).toEqual([0, 0, 0, 0, 0]);
  });

  it('reduces 3 replicas to 1 and raises them again', async () => {
    const simulator = await openWorld();
    const { world } = simulator;
    world.setZone([RANGE], { voters: 1 });
    world.allocate();
    expect(placed(simulator)).toEqual([1]);
    expect(simulator.truth().dependence.nodes[1]?.allReplicas).toBe(1);
    world.setZone([RANGE], { voters: 3 });
    world.allocate();
    expect(placed(simulator)).toHaveLength(3);
  });

  it('empties a node that is to leave', async () => {
    const simulator = await openWorld();
    const { world } = simulator;
    world.beginDecommission(2);
    world.allocate();
    expect(await describeRanges(simulator, 2, [])).toEqual([]);
    world.decommission(2, true);
    expect(simulator.truth().nodes.map(({ nodeId }) => nodeId)).not.toContain(2);
  });
});

it('random histories end healthy once every node is live and caught up', async () => {
  for (let seed = 1; seed <= 25; seed++) {
    const simulator = await openWorld({ seed, storesPerNode: 2 });
    const { world } = simulator;
    const random = createRandom(seed);
    const nodes = [...world.state.nodes.keys()];
    const isUp = (id: number): boolean => world.state.nodes.get(id)?.process === 'up';
    for (let step = 0; step < 60; step++) {
      const [node, id] = [random.pick(nodes), random.pick([...world.state.ranges.keys()])];
      random.pick([
        () => world.killNode(node),
        () => world.reviveNode(node, random.chance(0.5)),
        () => world.catchUp(node),
        () => world.beginDecommission(node),
        () => world.recommission(node),
        () =>
          world.setZone([id], { voters: random.pick([1, 3, 5]), nonVoters: random.integer(0, 2) }),
        () => world.allocate(random.integer(1, 3)),
        () => world.allocate(1),
        () => world.splitRange(id),
        () => world.mergeRange(id),
      ])();
    }
    for (const node of nodes) world.recommission(node);
    for (const node of nodes) world.reviveNode(node);
    world.allocate();
    const { dependence } = simulator.truth();
    expect([seed, dependence.withoutQuorum, dependence.lost]).toEqual([seed, [], []]);
    expect(nodes.every(isUp)).toBe(true);
    const ranges = [...world.state.ranges.values()];
    expect(world.state.removed).toEqual([]);
    expect(ranges.flatMap(({ replicas }) => replicas.filter(({ knows }) => knows))).toEqual([]);
    for (const { replicas, wantedVoters, wantedReplicas } of ranges) {
      const types = replicas.map(({ type }) => type).toSorted((a, b) => a - b);
      const expected = [
        ...Array.from({ length: wantedVoters }, () => VOTER),
        ...Array.from({ length: Math.min(wantedReplicas, 6) - wantedVoters }, () => NON_VOTER),
      ];
      expect(types).toEqual(expected);
      expect(new Set(replicas.map(({ nodeId }) => nodeId)).size).toBe(replicas.length);
    }
  }
});
