import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startSimulator, type Simulator, type Truth } from '../../simulator/index.ts';
import { clusterClient, type NodesBody } from './client.ts';

const START_MS = 1_800_000_000_000;

interface Incident extends AsyncDisposable {
  readonly simulator: Simulator;
  at(second: number): Truth;
}

async function startIncident(timeScale = 1): Promise<Incident> {
  let nowMs = START_MS;
  const simulator = await startSimulator({
    scenario: 'incident',
    metricKeys: 'useful',
    ranges: 200,
    timeScale,
    now: () => nowMs,
  });
  return {
    simulator,
    at: (second) => {
      nowMs = START_MS + second * 1000;
      return simulator.truth();
    },
    [Symbol.asyncDispose]: () => simulator.close(),
  };
}

it('starts like a calm world', async () => {
  await using incident = await startIncident();
  const truth = incident.at(1);
  expect(truth.nodesByStatus).toEqual({ live: 9 });
  expect(truth.ranges.problems.underreplicated).toBe(0);
});

it('has a node that dies while it is decommissioned, with the last replica of a range, and then stays', async () => {
  await using incident = await startIncident();
  const seen = [150, 160, 175, 200, 235, 260].map((second) => {
    const { nodes, dependence } = incident.at(second);
    return [nodes.find(({ nodeId }) => nodeId === 7)?.status, dependence.lost.length];
  });
  expect(seen).toEqual([
    ['live', 0],
    ['decommissioning', 0],
    ['unavailable', 1],
    ['decommissioned', 1],
    ['decommissioning', 0],
    ['live', 0],
  ]);
});

it('starts over after five minutes, also after hours without requests', async () => {
  await using incident = await startIncident();
  expect(incident.at(355).nodesByStatus).toMatchObject({ dead: 1 });
  expect(incident.at(36_000).nodesByStatus).toEqual({ live: 9 });
  expect(incident.at(36_055).nodesByStatus).toMatchObject({ dead: 1 });
});

it('advances with requests, at the speed of timeScale', async () => {
  await using incident = await startIncident(10);
  const client = await clusterClient(incident.simulator);
  incident.at(0);
  const before = (await client<NodesBody>('/nodes/')).json().nodes ?? [];
  incident.at(5.5);
  const after = (await client<NodesBody>('/nodes/')).json().nodes ?? [];
  expect(before.map((node) => node.liveness_status)).toEqual([3, 3, 3, 3, 3, 3, 3, 3, 3]);
  expect(after.map((node) => node.liveness_status)).toEqual([3, 3, 3, 3, 3, 3, 3, 3, 1]);
});

it('keeps the quorum of the system ranges: the API responds all the time', async () => {
  await using incident = await startIncident();
  const client = await clusterClient(incident.simulator);
  for (let second = 0; second <= 300; second += 10) {
    incident.at(second);
    expect([second, (await client('/nodes/')).status]).toEqual([second, 200]);
  }
});

it('of three nodes loses them with two: the API hangs, and responds again', async () => {
  let nowMs = START_MS;
  const simulator = await startSimulator({
    scenario: 'incident',
    nodes: 3,
    metricKeys: 'useful',
    now: () => nowMs,
  });
  await using _open = simulator;
  const client = await clusterClient(simulator);
  const askAt = async (second: number): Promise<boolean> => {
    nowMs = START_MS + second * 1000;
    return await client('/nodes/').then(() => true);
  };
  await askAt(70);
  expect(await Promise.race([askAt(100), sleep(300, false)])).toBe(false);
  await askAt(160);
});
