import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startScaleSimulator, type ScaleSimulator } from '../../bench/scale/simulator.ts';
import { hasProgram } from '../support/programs.ts';
import { evaluateRules } from './rule-results.ts';
import { addUp, ownersOf, runShards, type Shards } from './shards.ts';

const NODES = 12;
const PATIENCE_MS = 600_000;

let simulator: ScaleSimulator;
let one: Shards;
let other: Shards;
let two: Shards;

beforeAll(async () => {
  simulator = await startScaleSimulator({
    nodes: NODES,
    replicasPerNode: 60,
    metricKeys: 'useful',
  });
  [one, other, two] = await Promise.all([
    runShards(simulator, 1),
    runShards(simulator, 1),
    runShards(simulator, 2),
  ]);
}, PATIENCE_MS);

afterAll(async () => {
  await Promise.all([one, other, two].map((shards) => shards[Symbol.asyncDispose]()));
  await simulator.close();
});

describe('shards as processes', () => {
  test('scan each node once, with the requests of one exporter', () => {
    expect(ownersOf(two.scrapes).size).toBe(NODES);
    // One exporter, another one and two shards.
    expect(simulator.answers.get('node_ranges')).toBe(3 * NODES);
  });

  test('add up to the range metrics of one exporter', () => {
    const whole = addUp(one.scrapes);
    expect(whole.size).toBeGreaterThan(NODES * 15);
    expect(addUp(two.scrapes)).toEqual(whole);
  });
});

describe.skipIf(!hasProgram('prometheus'))('the rules in a real Prometheus', () => {
  test(
    'have the same results for one exporter, an HA pair and shards',
    async () => {
      const [alone, pair, shards] = await Promise.all(
        [one.addresses, [...one.addresses, ...other.addresses], two.addresses].map(evaluateRules),
      );
      expect(alone?.size).toBeGreaterThan(NODES * 5);
      expect(pair).toEqual(alone);
      // Only an exporter that reads all nodes knows how many ranges there are, and what is lost or verified.
      const known = [...(alone ?? [])].filter(
        ([series]) =>
          !/crdb_ranges:max|ranges_lost|crdb_safe_to_stop|serving_nothing|unverified|key_space|may_decommission/.test(
            series,
          ),
      );
      expect(shards).toEqual(new Map(known));
    },
    PATIENCE_MS,
  );
});
