import { request as httpRequest } from 'node:http';
import { expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { SYSTEM_CLOCK } from '../../src/base/clock.ts';
import type { Config } from '../../src/config/keys-and-flags.ts';
import type { Status } from '../../src/status/findings/status.ts';
import {
  type Scrape,
  startTestExporter,
  type TestExporterOptions,
  withCollectors,
} from '../support/exporter.ts';
import { serve } from '../support/http-server.ts';

function simulate(clusterName: string, seed: number): Promise<Simulator> {
  return startSimulator({
    clusterName,
    seed,
    nodes: 3,
    ranges: 40,
    metricKeys: 'useful',
    faultyNodes: false,
    insecure: true,
  });
}

/** A server before a cluster, whose target may change; while `heldPath` is set, requests for that path wait. */
interface Gateway {
  target: string | undefined;
  heldPath: string | undefined;
  readonly held: (() => void)[];
}

function serveGateway(gateway: Gateway) {
  return serve((request, response) => {
    const { method = 'GET', headers, url = '' } = request;
    const forward = () => {
      const { target } = gateway;
      if (target === undefined) {
        response.destroy();
        return;
      }
      const onward = httpRequest(`${target}${url}`, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      onward.on('error', () => response.destroy());
      request.pipe(onward);
    };
    if (gateway.heldPath !== undefined && url.includes(gateway.heldPath))
      gateway.held.push(forward);
    else forward();
  });
}

function release({ held }: Gateway): void {
  for (const forward of held) forward();
}

/** Two clusters, a gateway that leads to `east`, and the configuration of an exporter that polls what is behind it. */
async function prepareReplacement() {
  await using stack = new AsyncDisposableStack();
  const east = stack.use(await simulate('east', 1));
  const west = stack.use(await simulate('west', 2));
  const gateway: Gateway = { target: east.clusterUrl, heldPath: undefined, held: [] };
  const proxy = stack.use(await serveGateway(gateway));
  const yaml = `clusters:\n  - name: c\n    cluster_api: { urls: ["${proxy.url}"] }\n`;
  const owned = stack.move();
  return { west, gateway, yaml, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Options with which a reload finds another timeout, so that it restarts the cluster. */
function changedByReload(
  app: TestExporterOptions['app'] = {},
): Pick<TestExporterOptions, 'adapt' | 'app'> {
  let loaded: Config | undefined;
  return {
    adapt: (config) => (loaded = config),
    app: {
      ...app,
      load: () => {
        if (loaded === undefined) throw new Error('nothing was loaded');
        const config = withCollectors(loaded, (each) => ({ ...each, timeout: each.timeout + 1 }));
        return Promise.resolve({ config, warnings: [] });
      },
    },
  };
}

const BACKUP = 'crdb_backup_last_completed_timestamp_seconds';
const LEASES = 'crdb_range_lease_changes_total';

test('another cluster behind the same URL inherits neither lease changes nor a backup', async () => {
  await using two = await prepareReplacement();
  const { west, gateway, yaml } = two;
  for (const range of west.world.state.ranges.values()) {
    for (let times = 0; times < 30; times += 1) {
      for (const { nodeId } of range.replicas.slice(0, 2)) west.world.moveLease(range.id, nodeId);
    }
  }
  for (const nodeId of [1, 2, 3]) {
    west.world.setMetric(nodeId, 'schedules.BACKUP.last-completed-time', 0);
  }
  await using exporter = await startTestExporter({ intervalSeconds: 0.3, yaml });
  await exporter.until(
    (scrape) => scrape.value(BACKUP) !== undefined && scrape.value(LEASES) === 0,
  );
  // A scan has begun; it reads the first nodes of east and the others of west.
  gateway.heldPath = '/ranges/';
  await exporter.until(() => gateway.held.length > 0);
  gateway.target = west.clusterUrl;
  const isWest = { cluster_name: 'west' };
  await exporter.until((scrape) => scrape.all('crdb_node_info', isWest).length === 3);
  expect((await exporter.scrape()).value(BACKUP)).toBeUndefined();
  gateway.heldPath = undefined;
  release(gateway);
  const polls = { collector: 'ranges' };
  const before = (await exporter.scrape()).value('crdb_exporter_polls_total', polls) ?? 0;
  const seen = await exporter.until(
    (scrape) => (scrape.value('crdb_exporter_polls_total', polls) ?? 0) > before + 2,
  );
  expect(seen.value(LEASES)).toBe(0);
  const lines = exporter.log().match(/.*cluster replaced, or all its nodes restarted.*/g);
  expect(lines).toEqual([
    expect.stringMatching(/before=east .*after=west|after=west .*before=east/),
  ]);
});

test('of a cluster that was replaced no ranges are shown as last known', async () => {
  await using two = await prepareReplacement();
  const { west, gateway, yaml } = two;
  await using exporter = await startTestExporter({
    intervalSeconds: 0.3,
    yaml,
    adapt: (config) => withCollectors(config, (each) => ({ ...each, max_age: 2 })),
  });
  const lastKnown = async () => {
    const status: Status = JSON.parse(await (await fetch(`${exporter.url}/api/status`)).text());
    return status.clusters[0]?.lastKnown;
  };
  await exporter.until((scrape) => scrape.value('crdb_ranges') !== undefined);
  gateway.target = undefined;
  await expect.poll(lastKnown).toMatchObject({ nodes: {}, ranges: {} });

  // The nodes of the other cluster are read, and no scan of it ends.
  gateway.heldPath = '/ranges/';
  gateway.target = west.clusterUrl;
  await exporter.until(
    (scrape) => scrape.all('crdb_node_info', { cluster_name: 'west' }).length === 3,
  );
  gateway.target = undefined;
  gateway.heldPath = undefined;
  release(gateway);
  await expect.poll(lastKnown).toHaveProperty('nodes');
  expect((await lastKnown())?.ranges).toBeUndefined();
});

test.for([
  { when: 'between two polls', isReloaded: false },
  { when: 'while the configuration is reloaded', isReloaded: true },
])(
  'of a cluster that is replaced $when no data is left, and no node of the other one is called safe to stop',
  async ({ isReloaded }) => {
    await using two = await prepareReplacement();
    const { west, gateway, yaml } = two;
    await using exporter = await startTestExporter({
      intervalSeconds: 0.3,
      yaml,
      ...changedByReload(),
    });
    await exporter.until((scrape) => scrape.value('crdb_ranges') !== undefined);
    gateway.heldPath = '/ranges/';
    gateway.target = west.clusterUrl;
    if (isReloaded) await exporter.app.reload();
    const isWest = { cluster_name: 'west' };
    const scrape = await exporter.until((each) => each.all('crdb_node_info', isWest).length === 3);
    expect(scrape.all('crdb_ranges')).toEqual([]);
    expect(scrape.all('crdb_node_dependent_ranges')).toEqual([]);
    const status: Status = JSON.parse(await (await fetch(`${exporter.url}/api/status`)).text());
    expect(status.clusters[0]?.safeToStop.answer).toBe('unknown');
    gateway.heldPath = undefined;
    release(gateway);
  },
);

function isUp(scrape: Scrape): number | undefined {
  return scrape.value('crdb_up', { api: 'cluster' });
}

function countPolls(scrape: Scrape): number {
  return scrape.value('crdb_exporter_polls_total', { collector: 'nodes' }) ?? 0;
}

test('a cache in front of the cluster is noticed after a reload, too', async () => {
  const date = new Date().toUTCString();
  await using cache = await serve((_request, response) => {
    response.setHeader('date', date);
    response.end('{"nodes":[{"node_id":1,"liveness_status":3}]}');
  });
  let aheadMs = 0;
  await using exporter = await startTestExporter({
    intervalSeconds: 0.3,
    yaml: `clusters:\n  - name: c\n    cluster_api: { urls: ["${cache.url}"] }\n`,
    ...changedByReload({
      clock: { ...SYSTEM_CLOCK, runningMs: () => SYSTEM_CLOCK.runningMs() + aheadMs },
    }),
  });
  await exporter.until((scrape) => isUp(scrape) === 1);
  aheadMs = 20_000;
  await exporter.until((scrape) => isUp(scrape) === 0);
  await exporter.app.reload();
  const before = countPolls(await exporter.scrape());
  await exporter.until((scrape) => {
    expect(isUp(scrape)).toBe(0);
    return countPolls(scrape) > before + 1;
  });
});

test('of two clusters that answer by turns nothing is published until one answers alone', async () => {
  await using east = await simulate('east', 1);
  await using west = await simulate('west', 2);
  let listings = 0;
  let isMixed = true;
  await using balancer = await serve((request, response) => {
    const { url = '', headers } = request;
    if (isMixed && url.includes('/nodes/?')) listings += 1;
    const target = listings % 2 === 0 ? east.clusterUrl : west.clusterUrl;
    const onward = httpRequest(`${target}${url}`, { headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    onward.end();
  });
  const yaml = `clusters:\n  - name: c\n    cluster_api: { urls: ["${balancer.url}"] }\n`;
  await using exporter = await startTestExporter({ intervalSeconds: 0.3, yaml });
  const readError = async () => {
    const status: Status = JSON.parse(await (await fetch(`${exporter.url}/api/status`)).text());
    return status.clusters[0]?.findings.find(({ alert }) => alert === 'CrdbClusterApiDown')?.text;
  };
  await expect
    .poll(readError)
    .toMatch(/two clusters answer by turns: node 1 at .* of the cluster (east|west) and node 1 at/);
  const end = listings + 15;
  const mixed = await exporter.until((scrape) => {
    const data = ['crdb_nodes', 'crdb_ranges', 'crdb_sessions', 'crdb_node_peers'];
    expect(data.flatMap((name) => scrape.all(name))).toEqual([]);
    return listings > end;
  });
  expect(mixed.value('crdb_up', { api: 'cluster' })).toBe(0);
  expect(exporter.log().match(/cluster replaced, or all its nodes restarted/g)).toHaveLength(2);

  isMixed = false;
  await exporter.until((scrape) => scrape.value('crdb_ranges') === 40);
  // Each collector succeeds at its next poll.
  await expect.poll(readError).toBeUndefined();
});

test('a second URL of another cluster fails the scan, and the page names both', async () => {
  await using east = await simulate('east', 1);
  await using west = await simulate('west', 2);
  const urls = [east.clusterUrl, west.clusterUrl].map((url) => JSON.stringify(url)).join(', ');
  const yaml = `clusters:\n  - name: c\n    cluster_api: { urls: [${urls}] }\n`;
  await using exporter = await startTestExporter({ intervalSeconds: 0.3, yaml });
  const scrape = await exporter.until(
    (each) => (each.value('crdb_exporter_polls_total', { collector: 'ranges' }) ?? 0) > 0,
  );
  const success = scrape.value('crdb_exporter_collector_success', { collector: 'ranges' });
  expect(success).toBe(0);
  expect(scrape.all('crdb_ranges')).toEqual([]);
  const status = await (await fetch(`${exporter.url}/api/status`)).text();
  expect(status).toMatch(/the URLs lead to different clusters: [^"]*east[^"]*west/);
});
