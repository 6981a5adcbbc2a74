import { describe, expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { clusterClient, type NodesBody } from './client.ts';

const START_MS = 1_800_000_000_000;

/** A world of five healthy nodes whose clock the test moves. */
async function openWorld(timeScale = 1) {
  let nowMs = START_MS;
  const simulator = await startSimulator({
    nodes: 5,
    ranges: 40,
    timeScale,
    faultyNodes: false,
    metricKeys: 'useful',
    now: () => nowMs,
  });
  onTestFinished(() => simulator.close());
  const client = await clusterClient(simulator);
  return {
    simulator,
    world: simulator.world,
    client,
    pass: (seconds: number): void => {
      nowMs += seconds * 1000;
    },
    /** `liveness_status` of the node; undefined when it is not listed. */
    status: async (id: number) => {
      const { nodes } = (await client<NodesBody>('/nodes/')).json();
      return nodes?.find(({ node_id }) => node_id === id)?.liveness_status;
    },
  };
}

describe('the liveness of a node', () => {
  test('that crashed is live for 30 s, unavailable until 5 min, then dead', async () => {
    const { world, status, pass } = await openWorld();
    world.crashNode(4);
    expect(await status(4)).toBe(3);
    pass(29);
    expect(await status(4)).toBe(3);
    pass(1);
    expect(await status(4)).toBe(2);
    pass(269);
    expect(await status(4)).toBe(2);
    pass(1);
    expect(await status(4)).toBe(1);
  });

  test('that came back is unavailable for 30 s', async () => {
    const { world, status, pass } = await openWorld();
    world.crashNode(4);
    pass(60);
    world.startNode(4);
    expect(await status(4)).toBe(2);
    pass(29);
    expect(await status(4)).toBe(2);
    pass(1);
    expect(await status(4)).toBe(3);
    pass(600);
    expect(await status(4)).toBe(3);
  });

  test('that crashed while it was decommissioned is unavailable, then decommissioned until somebody finishes', async () => {
    const { world, status, pass } = await openWorld();
    world.beginDecommission(4);
    world.crashNode(4);
    expect(await status(4)).toBe(4);
    pass(30);
    expect(await status(4)).toBe(2);
    pass(270);
    expect(await status(4)).toBe(5);
    pass(86_400);
    expect(await status(4)).toBe(5);
    world.decommission(4, true);
    expect(await status(4)).toBeUndefined();
  });

  test('that is up reads decommissioning even when its decommissioning has finished', async () => {
    const { world, status } = await openWorld();
    world.decommission(4, true, true);
    expect(await status(4)).toBe(4);
    world.killNode(4, 'unavailable');
    expect(await status(4)).toBe(5);
  });
});

describe('a decommissioning', () => {
  test('that finishes deletes the record at once, and the node is asked for nothing', async () => {
    const { world, simulator, client, status } = await openWorld();
    world.decommission(4);
    expect(await status(4)).toBe(4);
    world.decommission(4, true);
    expect(await status(4)).toBeUndefined();
    expect(simulator.truth().nodes.map(({ nodeId }) => nodeId)).toEqual([1, 2, 3, 5]);
    expect((await client('/nodes/local/ranges/?remote_node_id=4')).status).toBe(400);
    expect((await client<{ errors: object[] }>('/sessions/')).json().errors).toEqual([]);
  });
});
