import { describe, expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../src/simulator/index.ts';
import { clusterClient, type RangesBody } from './client.ts';

describe('the history of leases', () => {
  const WORLD = { nodes: 3, ranges: 30, faultyNodes: false, metricKeys: 'useful' } as const;

  it('is empty after a restart, until a lease is applied', async () => {
    const simulator = await startSimulator(WORLD);
    onTestFinished(() => simulator.close());
    const client = await clusterClient(simulator);
    const histories = async (): Promise<Map<number, unknown>> => {
      const response = await client<RangesBody>('/nodes/1/ranges/');
      const { ranges } = response.json();
      return new Map(ranges.map((range) => [range.desc.range_id, range.lease_history]));
    };
    const [before] = [...(await histories()).keys()];
    simulator.world.restartNode(1);
    expect(new Set((await histories()).values())).toEqual(new Set([null]));
    simulator.world.moveLease(before ?? 0, 1);
    expect((await histories()).get(before ?? 0)).toHaveLength(1);
  });

  it('is kept where that is switched on', async () => {
    const simulator = await startSimulator({ ...WORLD, keepsLeaseHistory: true });
    onTestFinished(() => simulator.close());
    const client = await clusterClient(simulator);
    simulator.world.restartNode(1);
    const response = await client<RangesBody>('/nodes/1/ranges/');
    const { ranges } = response.json();
    expect(ranges.every((range) => Array.isArray(range.lease_history))).toBe(true);
  });
});
