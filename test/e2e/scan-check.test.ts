import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import type { Status } from '../../src/status/findings/status.ts';
import { configFlag, runHere } from '../cli/run.ts';
import { type Keep, openLossyProxy } from '../support/changing-proxy.ts';
import { onlyCollectors } from '../support/collectors.ts';
import {
  clusterYaml,
  type Scrape,
  startTestExporter,
  type TestExporter,
} from '../support/exporter.ts';

/** Between two polls of everything the exporter's calendar goes on by more than a minute: counts after a scan are soon there. */
const STEP_MS = 61_000;
const POLLED = ['nodes', 'ranges', 'network'];
const RANGES = 200;
/** What the comparison and the answer for a node that shall stop are made of. */
const COLLECTORS = onlyCollectors(Object.fromEntries(POLLED.map((name) => [name, {}])));

function simulate(storesPerNode: number): Promise<Simulator> {
  return startSimulator({
    nodes: 3,
    ranges: RANGES,
    storesPerNode,
    faultyNodes: false,
    metricKeys: 'useful',
  });
}

/** The proxy loses a third of the replicas of node 2. */
const loseSome: Keep = ({ source_node_id: id }, index) => id !== 2 || index % 3 > 0;
const loseNothing: Keep = () => true;
/** The response of node 2 lacks its last store. */
const loseStore: Keep = ({ source_node_id: id, source_store_id: store }) => id !== 2 || store !== 4;

function countPolls(scrape: Scrape): readonly number[] {
  return POLLED.map((collector) => scrape.value('crdb_exporter_polls_total', { collector }) ?? 0);
}

interface Watched extends TestExporter {
  /** Waits for the next polls, after which the exporter's calendar goes on. */
  readonly pass: () => Promise<void>;
}

async function watch(simulator: Simulator, url: string): Promise<Watched> {
  let passedMs = 0;
  const clock = {
    wallMs: () => Date.now() + passedMs,
    monotonicMs: () => performance.now() + passedMs,
    runningMs: () => performance.now(),
  };
  const exporter = await startTestExporter({
    yaml: `${COLLECTORS}clusters:\n${clusterYaml({ ...simulator, clusterUrls: [url] })}`,
    intervalSeconds: 0.4,
    app: { clock },
  });
  return {
    ...exporter,
    async pass() {
      const before = countPolls(await exporter.scrape());
      await exporter.until((scrape) =>
        countPolls(scrape).every((count, at) => count > (before[at] ?? 0)),
      );
      passedMs += STEP_MS;
    },
  };
}

async function readCluster(exporter: TestExporter) {
  const status: Status = JSON.parse((await exporter.get('/api/status')).text);
  const [cluster] = status.clusters;
  if (cluster === undefined) throw new Error('no cluster');
  return cluster;
}

type ClusterStatus = Awaited<ReturnType<typeof readCluster>>;

function disagrees({ findings }: ClusterStatus): boolean {
  return findings.some(({ alert }) => alert === 'CrdbScanDisagrees');
}

async function untilStatus(
  exporter: TestExporter,
  isThere: (cluster: ClusterStatus) => boolean,
  between: () => Promise<unknown>,
): Promise<ClusterStatus> {
  for (;;) {
    const cluster = await readCluster(exporter);
    if (isThere(cluster)) return cluster;
    await between();
  }
}

/** The check `own counts` of `diagnose --scan` through the proxy. */
async function diagnose(simulator: Simulator, url: string) {
  const flag = await configFlag({ ...simulator, clusterUrls: [url] });
  const { out } = await runHere(['diagnose', '--scan', '--output', 'json', flag]);
  const report: {
    clusters: readonly { findings: readonly { check: string; detail: string }[] }[];
  } = JSON.parse(out);
  const findings = report.clusters.flatMap((cluster) => cluster.findings);
  return findings.find(({ check }) => check === 'own counts');
}

describe('an exporter that reads the ranges of a node wrongly', { timeout: 600_000 }, () => {
  test.each([
    { lost: 'a third of the replicas', keep: loseSome, stores: [3, 4] },
    { lost: 'a whole store', keep: loseStore, stores: [4] },
  ])('($lost) shows it on the page, on /metrics and in diagnose', async ({ keep, stores }) => {
    await using simulator = await simulate(2);
    await using proxy = await openLossyProxy(new URL(simulator.clusterUrl).origin, keep);
    await using exporter = await watch(simulator, proxy.url);
    await untilStatus(exporter, disagrees, exporter.pass);
    // The descriptors contradict the lists, too. The last scan is too old for a moment after its time has passed.
    const { findings, state, safeToStop } = await untilStatus(
      exporter,
      (cluster) => !cluster.safeToStop?.reason?.startsWith('the last range scan ended'),
      () => sleep(200),
    );
    const found = findings.find(({ alert }) => alert === 'CrdbScanDisagrees');
    expect(found).toMatchObject({ about: 'exporter', level: 'info' });
    expect(state).toBe('unknown');
    const reason = expect.stringMatching(/ranges are not verified/);
    expect(safeToStop).toMatchObject({ answer: 'unknown', nodes: [], reason });
    const flag = await configFlag({ ...simulator, clusterUrls: [proxy.url] });
    const command = await runHere(['nodes', '--safe-to-stop', flag]);
    expect(command).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/not known: .*ranges are not verified/),
    });
    const wrong = [...(found?.text.matchAll(/n2 s(\d): [\d,]+ read, \d+ counted/g) ?? [])];
    expect(wrong.map(([, store]) => Number(store))).toEqual(stores);
    expect((await exporter.get('/')).text).toContain('CrdbScanDisagrees');
    const scrape = await exporter.scrape();
    for (const store_id of stores.map(String)) {
      const read = scrape.value('crdb_range_replicas', { store_id }) ?? 0;
      expect(scrape.value('crdb_store_replicas', { store_id })).toBeGreaterThan(read + 20);
    }
    const result = await diagnose(simulator, proxy.url);
    expect(result).toMatchObject({ check: 'own counts', verdict: 'failed' });
    for (const storeId of stores) expect(result?.detail).toContain(`n2 s${storeId}: `);
  });
});

describe('an exporter that reads all ranges', { timeout: 60_000 }, () => {
  test.each([1, 3])('agrees with nodes of %i stores', async (stores) => {
    await using simulator = await simulate(stores);
    await using proxy = await openLossyProxy(new URL(simulator.clusterUrl).origin, loseNothing);
    await using exporter = await watch(simulator, proxy.url);
    for (let scans = 0; scans < 5; scans += 1) await exporter.pass();
    const { findings, ranges } = await readCluster(exporter);
    expect(ranges?.scanCheck?.replicas).toEqual({ read: 600, counted: 600 });
    const { text } = await exporter.get('/');
    expect(text).toMatch(/600 replicas read, the nodes count 600; \d+ leases/);
    expect(findings.map(({ alert }) => alert)).not.toContain('CrdbScanDisagrees');
    expect(await diagnose(simulator, proxy.url)).toMatchObject({
      verdict: 'ok',
      detail: expect.stringContaining('600 replicas read, the nodes count 600'),
    });
  });
});
