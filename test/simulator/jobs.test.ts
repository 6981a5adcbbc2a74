import { expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/index.ts';
import { clusterClient, type NodesBody } from './client.ts';

const START_MS = 1_800_000_000_000;
const HOUR_MS = 3_600_000;

/** The metric of every node with that key. */
async function metricOf(simulator: Simulator, key: string): Promise<readonly unknown[]> {
  const client = await clusterClient(simulator);
  const { nodes } = (await client<NodesBody>('/nodes/')).json();
  return (nodes ?? []).map(({ metrics }) => metrics[key]);
}

async function startThree(): Promise<{ simulator: Simulator; pass: (ms: number) => void }> {
  let nowMs = START_MS;
  const simulator = await startSimulator({
    nodes: 3,
    ranges: 5,
    faultyNodes: false,
    metricKeys: 'useful',
    now: () => nowMs,
  });
  return { simulator, pass: (ms) => void (nowMs += ms) };
}

test('one node counts the paused jobs, and a former one keeps its numbers until it restarts', async () => {
  const { simulator, pass } = await startThree();
  await using _ = simulator;
  const { world } = simulator;
  world.pauseJob('backup', HOUR_MS);
  const paused = 'jobs.backup.currently_paused';
  expect(await metricOf(simulator, 'jobs.poll_jobs_stats.currently_running')).toEqual([1, 0, 0]);
  expect(await metricOf(simulator, paused)).toEqual([1, 0, 0]);
  world.moveStatistics(2);
  world.resumeJob('backup');
  pass(60_000);
  expect(await metricOf(simulator, 'jobs.poll_jobs_stats.currently_running')).toEqual([0, 1, 0]);
  expect(await metricOf(simulator, paused)).toEqual([1, 0, 0]);
  expect(await metricOf(simulator, 'jobs.backup.protected_age_sec')).toEqual([
    expect.closeTo(3600, -2),
    0,
    0,
  ]);
  world.restartNode(1);
  expect(await metricOf(simulator, paused)).toEqual([0, 0, 0]);
});

test('the statistics move when their node dies, and a server may not say where they are', async () => {
  const { simulator } = await startThree();
  await using _ = simulator;
  simulator.world.moveStatistics(3);
  simulator.world.killNode(3);
  const key = 'jobs.poll_jobs_stats.currently_running';
  expect(await metricOf(simulator, key)).toEqual([1, 0, 1]);
  simulator.world.setStatisticsJob(false);
  expect((await metricOf(simulator, key)).slice(0, 2)).toEqual([undefined, undefined]);
});

test('a node on which replication has run keeps the time that it set', async () => {
  const { simulator, pass } = await startThree();
  await using _ = simulator;
  const key = 'physical_replication.replicated_time_seconds';
  const running = 'jobs.replication_stream_ingestion.currently_running';
  simulator.world.replicate('physical', 1, 5000);
  simulator.world.replicate('physical', 2, 5000);
  const [kept] = await metricOf(simulator, key);
  pass(HOUR_MS);
  const [former, present, other] = await metricOf(simulator, key);
  expect(former).toBe(kept);
  expect(Number(present) - Number(former)).toBeCloseTo(3600, -2);
  expect(other).toBe(0);
  expect(await metricOf(simulator, running)).toEqual([0, 1, 0]);
  simulator.world.endReplication('physical');
  expect(await metricOf(simulator, running)).toEqual([0, 0, 0]);
  expect(await metricOf(simulator, key)).toEqual([former, present, 0]);
});

test('the expiry of client certificates is a sum, and a disk is shared with others', async () => {
  const { simulator } = await startThree();
  await using _ = simulator;
  const [node] = await metricOf(simulator, 'security.certificate.expiration.node');
  const [client] = await metricOf(simulator, 'security.certificate.expiration.client');
  expect(client).toBe(3 * Number(node));
  const list = (await (await clusterClient(simulator))<NodesBody>('/nodes/')).json().nodes ?? [];
  const store = Object.values(list[0]?.store_metrics ?? {})[0] ?? {};
  expect(store['capacity.used']).toBeLessThan(
    Number(store['capacity']) - Number(store['capacity.available']),
  );
});

test('the retries of a transaction contain the automatic ones, except afresh after an abort', async () => {
  const { simulator, pass } = await startThree();
  await using _ = simulator;
  const { world } = simulator;
  const retried: { readonly retries: number; readonly autoRetries: number }[] = [];
  for (let minute = 0; minute < 60; minute += 1) {
    for (const { transaction } of world.sessionsOf(1)) {
      if (transaction !== undefined && transaction.autoRetries > 0) retried.push(transaction);
    }
    pass(60_000);
  }
  const afresh = retried.filter(({ retries, autoRetries }) => retries < autoRetries);
  expect(new Set(afresh.map(({ retries }) => retries))).toEqual(new Set([0]));
  expect(retried.length).toBeGreaterThan(afresh.length);
});
