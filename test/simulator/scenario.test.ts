import { expect, it } from 'vitest';
import { startSimulator, type Simulator, type Truth } from '../../src/simulator/index.ts';
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

it('loses a node, then a quorum, and both recover', async () => {
  await using incident = await startIncident();
  expect(incident.at(25).nodesByStatus).toMatchObject({ unavailable: 1 });
  expect(incident.at(55).nodesByStatus).toMatchObject({ dead: 1 });
  expect(incident.at(60).ranges.problems).toMatchObject({ unavailable: 0 });
  const worst = incident.at(100);
  expect(worst.nodesByStatus).toMatchObject({ dead: 1, unavailable: 1 });
  expect(worst.ranges.problems.unavailable).toBeGreaterThan(0);
  expect(worst.ranges.problems.circuit_breaker_error).toBe(1);
  expect(worst.sessions.failedNodeIds).toEqual([8, 9]);
  const end = incident.at(299);
  expect(end.nodesByStatus).toEqual({ live: 9 });
  expect(Object.values(end.ranges.problems).every((count) => count === 0)).toBe(true);
});

it('loads one range beyond a core for a time', async () => {
  await using incident = await startIncident();
  expect(incident.at(45).ranges.hot[0]?.cpuNanosPerSecond).toBeGreaterThan(0.75e9);
  expect(incident.at(250).ranges.hot[0]?.cpuNanosPerSecond).toBeLessThan(0.5e9);
});

it('has a range that is hot by CPU alone, in another table', async () => {
  await using incident = await startIncident();
  const { hot } = incident.at(50).ranges;
  const byCpu = hot.toSorted((a, b) => b.cpuNanosPerSecond - a.cpuNanosPerSecond).slice(0, 2);
  const expensive = byCpu.find(({ queriesPerSecond }) => queriesPerSecond < 5);
  expect(expensive?.cpuNanosPerSecond).toBeGreaterThan(0.75e9);
  expect(expensive?.tableId).not.toBe(hot[0]?.tableId);
});

it('loses the only replica of a range with a node, until that is back', async () => {
  await using incident = await startIncident();
  const lost = [65, 85, 155, 299].map((second) => incident.at(second).dependence.lost.length);
  expect(lost).toEqual([0, 1, 0, 0]);
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

it('has an application that leaves transactions open for many minutes', async () => {
  await using incident = await startIncident();
  const truth = incident.at(130);
  const leaky = truth.sessions.byApplication.find((each) => each.application === 'leaky-service');
  expect(leaky?.idleInTransaction).toBe(6);
  expect(truth.nowMs - (leaky?.oldestIdleTransactionMs ?? truth.nowMs)).toBeGreaterThan(900_000);
  expect(incident.at(270).sessions.byApplication.map((each) => each.application)).not.toContain(
    'leaky-service',
  );
});

const REPLICATED = 'physical_replication.replicated_time_seconds';

it('pauses a changefeed, stops backups and replication, and recovers', async () => {
  await using incident = await startIncident();
  const client = await clusterClient(incident.simulator);
  const at = async (second: number) => {
    incident.at(second);
    const [node] = (await client<NodesBody>('/nodes/')).json().nodes ?? [];
    const { metrics = {}, store_metrics: stores = {} } = node ?? {};
    const seconds = START_MS / 1000 + second;
    return {
      paused: metrics['jobs.changefeed.currently_paused'],
      protectedHours: Math.round((metrics['jobs.changefeed.protected_age_sec'] ?? 0) / 3600),
      replicates: metrics['jobs.replication_stream_ingestion.currently_running'],
      lagMinutes: Math.floor((seconds - (metrics[REPLICATED] || seconds)) / 60),
      unhealthy: metrics['rpc.connection.unhealthy'],
      purgatory: Object.values(stores)[0]?.['queue.replicate.purgatory'],
    };
  };
  const calm = { paused: 0, protectedHours: 0, replicates: 0, unhealthy: 0, purgatory: 0 };
  expect(await at(10)).toEqual({ ...calm, lagMinutes: 0 });
  const incidents = { paused: 1, protectedHours: 3, replicates: 1, lagMinutes: 15, purgatory: 4 };
  expect(await at(130)).toMatchObject(incidents);
  expect(await at(230)).toMatchObject({ unhealthy: 2, purgatory: 0 });
  // The node keeps the replicated time of the job that has ended.
  expect(await at(290)).toEqual({ ...calm, lagMinutes: expect.any(Number) });
});

it('has had no backup for more than a day, then one ends', async () => {
  await using incident = await startIncident();
  const client = await clusterClient(incident.simulator);
  const ageHours = async (second: number): Promise<number> => {
    const nowMs = incident.at(second).nowMs;
    const nodes = (await client<NodesBody>('/nodes/')).json().nodes ?? [];
    const ends = nodes.map(({ metrics }) => metrics['schedules.BACKUP.last-completed-time'] ?? 0);
    return (nowMs / 1000 - Math.max(...ends)) / 3600;
  };
  expect(await ageHours(10)).toBeGreaterThan(29);
  expect(await ageHours(290)).toBeLessThan(1);
});

it('has a storm of sessions that ends', async () => {
  await using incident = await startIncident();
  const applications = (second: number): number =>
    incident.at(second).sessions.byApplication.filter(({ user }) => user === 'payments').length;
  expect(applications(150)).toBeGreaterThan(500);
  expect(applications(290)).toBeLessThan(20);
});

it('fails to provision the assistant once, then runs it, then deletes it', async () => {
  await using incident = await startIncident();
  const statuses = [15, 40, 105, 130, 270, 290].map(
    (second) => incident.at(second).assistant?.status,
  );
  expect(statuses).toEqual(['PENDING', 'FAILED', 'PENDING', 'RUNNING', 'DELETING', undefined]);
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
