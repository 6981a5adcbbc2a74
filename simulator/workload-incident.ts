import { nodeIdsOf } from './world/state.ts';
import type { World } from './world/world.ts';

const HOUR_MS = 3_600_000;
const LAG_MS = 900_000;
const STORM_APPLICATIONS = 500;

/**
 * The part of the incident that does not concern the ranges: a paused changefeed, backups that stopped, a standby
 * cluster that lags, replicas without an allowed store, two nodes that do not reach each other, a session storm.
 */
export function workloadSteps(world: World) {
  const { state } = world;
  const [first = 1, second = first, third] = nodeIdsOf(state);
  const PURGATORY = 'queue.replicate.purgatory';
  return [
    {
      second: 35,
      text: 'a changefeed is paused and protects old data',
      apply: () => world.pauseJob('changefeed', 3 * HOUR_MS),
    },
    { second: 245, apply: () => world.resumeJob('changefeed') },
    {
      second: 0,
      text: 'no backup has ended for 30 hours',
      apply: () => world.stopBackups(30 * HOUR_MS),
    },
    { second: 250, text: 'a backup ends', apply: () => world.resumeBackups() },
    {
      second: 70,
      text: 'replication from another cluster stops',
      apply: () => world.replicate('physical', first, LAG_MS),
    },
    { second: 235, apply: () => world.endReplication('physical') },
    {
      second: 120,
      text: `the statistics of jobs move from node ${first} to node ${second}`,
      apply: () => world.moveStatistics(second),
    },
    { second: 280, apply: () => world.moveStatistics(first) },
    {
      second: 75,
      text: `replicas on node ${first} find no store that satisfies their constraints`,
      apply: () => world.setMetric(first, PURGATORY, 4, 'stores'),
    },
    { second: 225, apply: () => world.setMetric(first, PURGATORY, undefined, 'stores') },
    ...(third === undefined ? [] : partitionSteps(world, second, third)),
    {
      second: 140,
      text: `${STORM_APPLICATIONS} applications connect at once`,
      apply: () => openStorm(world, first),
    },
  ];
}

/** The first node reaches both: a scan by way of it goes on. */
function partitionSteps(world: World, a: number, b: number) {
  return [
    {
      second: 215,
      text: `nodes ${a} and ${b} do not reach each other`,
      apply: () => world.partitionPair(a, b),
    },
    { second: 275, apply: () => world.healPair(a, b) },
  ];
}

/** Ends with the other sessions that the scenario opened. */
function openStorm(world: World, nodeId: number): void {
  for (let number = 1; number <= STORM_APPLICATIONS; number++) {
    world.openSession({
      nodeId,
      username: 'payments',
      applicationName: `batch-runner-${number}`,
      state: 'idle',
    });
  }
}
