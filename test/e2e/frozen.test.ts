import { describe, type ExpectStatic, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import type { Config } from '../../src/config/keys-and-flags.ts';
import {
  clusterYaml,
  type Scrape,
  startTestExporter,
  type TestExporter,
} from '../support/exporter.ts';
import { measureSlowness } from '../support/slowness.ts';

const DEFAULT = ['nodes', 'ranges', 'sessions'];
/** Times are those of a machine that is up to twice as slow as an idle one, and longer on a slower one. */
const PACE = Math.min(4, Math.ceil(measureSlowness() / 2));
const LIMIT_MS = 600_000;
/** A scan begins after its interval, which is longer where max_duty stretches it. */
const PATIENCE = { timeout: LIMIT_MS };

function simulate(): Promise<Simulator> {
  return startSimulator({ nodes: 4, ranges: 40, metricKeys: 'useful', faultyNodes: false });
}

interface Timing {
  readonly intervalSeconds: number;
  /** Until the headers of a response, also of the ranges of a node. */
  readonly timeoutSeconds: number;
  readonly maxDuty?: number;
}

/** An exporter with short timeouts. */
function watch(
  simulator: Simulator,
  { intervalSeconds, timeoutSeconds, maxDuty = 1 }: Timing,
  collectors = '{}',
): Promise<TestExporter> {
  const adapt = (config: Config): Config => ({
    ...config,
    clusters: config.clusters.map((cluster) => ({
      ...cluster,
      ...(cluster.cluster_api && {
        cluster_api: { ...cluster.cluster_api, timeout: timeoutSeconds },
      }),
      collectors: Object.fromEntries(
        Object.entries(cluster.collectors).map(([name, each]) => [
          name,
          {
            ...each,
            max_duty: maxDuty,
            ...(name === 'ranges' && { node_timeout: timeoutSeconds }),
          },
        ]),
      ),
    })),
  });
  const yaml = `collectors: ${collectors}\nclusters:\n${clusterYaml(simulator)}`;
  return startTestExporter({ yaml, intervalSeconds, adapt });
}

function polls(scrape: Scrape, collector: string): number {
  return scrape.value('crdb_exporter_polls_total', { collector }) ?? 0;
}

function failures(scrape: Scrape, collector: string): number {
  const all = scrape.all('crdb_exporter_poll_failures_total', { collector });
  return all.reduce((sum, { value }) => sum + value, 0);
}

function succeeded(scrape: Scrape, collector: string): boolean {
  return scrape.value('crdb_exporter_collector_success', { collector }) === 1;
}

/** Expects that these collectors are not affected by the failure of others. */
function expectHealthy(expect: ExpectStatic, scrape: Scrape, collectors: readonly string[]): void {
  for (const collector of collectors) {
    expect([collector, failures(scrape, collector)]).toEqual([collector, 0]);
    expect(succeeded(scrape, collector)).toBe(true);
    const skipped = { collector, reason: 'breaker_open' };
    expect(scrape.value('crdb_exporter_polls_skipped_total', skipped)).toBe(0);
  }
  expect(scrape.value('crdb_up', { api: 'cluster' })).toBe(1);
  expect(scrape.value('crdb_exporter_breaker_state', { state: 'closed' })).toBe(1);
}

function freezeTwo(simulator: Simulator): void {
  for (const node of [3, 4]) simulator.fault({ endpoint: 'node_ranges', node, kind: 'hang' });
}

/** Duration or interval of the last range scan in seconds. */
function lastScan(scrape: Scrape, what: 'duration' | 'interval'): number {
  return scrape.value(`crdb_exporter_collector_${what}_seconds`, { collector: 'ranges' }) ?? 0;
}

// Concurrent tests use the `expect` of their own context.
describe.concurrent(
  'two of four nodes that are live but do not list their ranges',
  { timeout: LIMIT_MS },
  () => {
    const timing = { intervalSeconds: 2 * PACE, timeoutSeconds: 2 * PACE };

    test('lose only their own series', async ({ expect }) => {
      await using simulator = await simulate();
      freezeTwo(simulator);
      await using exporter = await watch(simulator, timing);
      const seen = await exporter.until(
        (scrape) => polls(scrape, 'ranges') > 3 && polls(scrape, 'nodes') > 3,
      );
      expectHealthy(expect, seen, DEFAULT);
      expect(seen.value('crdb_range_scan_nodes', { state: 'scanned' })).toBe(2);
      expect(seen.value('crdb_range_scan_nodes', { state: 'failed' })).toBe(2);
      for (const node_id of ['1', '2', '3', '4']) {
        const isRead = node_id < '3';
        expect(seen.value('crdb_range_scan_node_success', { node_id })).toBe(isRead ? 1 : 0);
      }
      simulator.clearFaults();
      await exporter.until(
        (scrape) => scrape.value('crdb_range_scan_nodes', { state: 'scanned' }) === 4,
      );
    });

    test('do not stretch the interval and are not queried at every scan', async ({ expect }) => {
      await using simulator = await simulate();
      freezeTwo(simulator);
      const slow = { intervalSeconds: 1.2 * PACE, timeoutSeconds: 1.2 * PACE, maxDuty: 0.2 };
      await using exporter = await watch(simulator, slow);
      // If waiting counted as duty, the interval would be six seconds after every scan of that length.
      await exporter.until(
        (scrape) =>
          lastScan(scrape, 'duration') >= slow.timeoutSeconds &&
          lastScan(scrape, 'interval') < slow.timeoutSeconds / slow.maxDuty / 1.5,
      );
      const seen = await exporter.until((scrape) => polls(scrape, 'ranges') > 5);
      const asked = (node: number): number =>
        simulator.requests.entries.filter(
          (each) => each.endpoint === 'node_ranges' && each.node === node,
        ).length;
      // On a busy machine the nodes are paused a scan or two later.
      await expect.poll(() => asked(1) / asked(3), PATIENCE).toBeGreaterThan(1.5);
      expect(failures(seen, 'nodes')).toBe(0);
    });
  },
);

describe.concurrent('one endpoint that fails', { timeout: LIMIT_MS }, () => {
  const timing = { intervalSeconds: PACE, timeoutSeconds: 2 * PACE };

  test.for([
    ['by 503', { kind: 'status', status: 503 }, 'http'],
    ['by silence', { kind: 'hang' }, 'timeout'],
  ] as const)('%s leaves the other collectors alone', async ([_how, fault, reason], { expect }) => {
    await using simulator = await simulate();
    const handle = simulator.fault({ endpoint: 'sessions', ...fault });
    await using exporter = await watch(simulator, timing);
    const seen = await exporter.until(
      (scrape) => failures(scrape, 'sessions') > 4 && polls(scrape, 'nodes') > 4,
    );
    const labels = { collector: 'sessions', reason };
    expect(seen.value('crdb_exporter_poll_failures_total', labels)).toBeGreaterThan(2);
    expectHealthy(expect, seen, ['nodes', 'ranges']);
    handle.remove();
    await exporter.until((scrape) => succeeded(scrape, 'sessions'));
  });

  test('fails crdb_up only for the collector that defines it', async ({ expect }) => {
    await using simulator = await simulate();
    simulator.fault({ endpoint: 'nodes', kind: 'status', status: 503 });
    await using exporter = await watch(simulator, timing);
    const seen = await exporter.until(
      (scrape) => failures(scrape, 'nodes') > 4 && polls(scrape, 'sessions') > 4,
    );
    expect(seen.value('crdb_up', { api: 'cluster' })).toBe(0);
    expect(failures(seen, 'sessions')).toBe(0);
    expect(seen.value('crdb_exporter_breaker_state', { state: 'closed' })).toBe(1);
  });
});

describe('an API that hangs and recovers', () => {
  const ALL = [...DEFAULT, 'users', 'tables'];
  const timing = { intervalSeconds: 5 * PACE, timeoutSeconds: PACE, maxDuty: 0.1 };
  const collectors = '{ users: { enabled: true }, tables: { tables: [movr.public.users] } }';

  test(
    'is polled successfully by every collector within one interval',
    async ({ expect }) => {
      await using simulator = await simulate();
      await using exporter = await watch(simulator, timing, collectors);
      await exporter.until((scrape) => ALL.every((collector) => succeeded(scrape, collector)));
      // The hang begins in the middle of a scan, so that nodes do not respond either.
      simulator.fault({ endpoint: 'node_ranges', kind: 'hang' });
      const before = simulator.requests.count('node_ranges');
      await expect
        .poll(() => simulator.requests.count('node_ranges'), PATIENCE)
        .toBeGreaterThan(before);
      simulator.fault({ kind: 'hang' });
      const down = await exporter.until((scrape) =>
        ALL.every((collector) => !succeeded(scrape, collector)),
      );
      expect(down.value('crdb_up', { api: 'cluster' })).toBe(0);
      // There is no other URL to use instead.
      expect(down.value('crdb_exporter_breaker_state', { state: 'closed' })).toBe(1);
      simulator.clearFaults();
      const backAt = performance.now();
      const goodAfter = new Map<string, number>();
      await exporter.until((scrape) => {
        for (const collector of ALL) {
          const isNew = succeeded(scrape, collector) && !goodAfter.has(collector);
          if (isNew) goodAfter.set(collector, performance.now() - backAt);
        }
        return goodAfter.size === ALL.length;
      });
      // Includes the drift and the duration of polls; two intervals would be too late.
      const latest = Math.max(...goodAfter.values()) / (timing.intervalSeconds * 1000);
      expect(latest).toBeLessThan(1.5);
    },
    LIMIT_MS,
  );
});
