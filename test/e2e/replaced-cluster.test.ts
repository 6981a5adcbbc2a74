import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { startTestExporter, type TestExporter } from '../support/exporter.ts';

/** A proxy in front of a cluster that can be pointed at another one, or answer `/nodes/` from its cache. */
interface SwitchingProxy extends AsyncDisposable {
  readonly url: string;
  pointAt(simulator: Simulator): void;
  /** From now on the list of nodes is the last one, said to be so old. */
  cache(ageSeconds: number): void;
}

async function openProxy(first: Simulator): Promise<SwitchingProxy> {
  let target = first.clusterUrl;
  let ageSeconds: number | undefined;
  let kept = '';
  const server = createServer((request, response) => {
    const isNodes = request.url?.startsWith('/api/v2/nodes/?') === true;
    if (isNodes && ageSeconds !== undefined) {
      response
        .writeHead(200, { age: String(ageSeconds), 'content-type': 'application/json' })
        .end(kept);
      return;
    }
    const { method = 'GET', headers } = request;
    const onward = httpRequest(
      `${target}${request.url}`,
      { method, headers: { ...headers, 'accept-encoding': 'identity' } },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        answer.on('end', () => {
          if (isNodes) kept = text;
          response.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' });
          response.end(text);
        });
      },
    );
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    pointAt: (simulator) => {
      target = simulator.clusterUrl;
    },
    cache: (seconds) => {
      ageSeconds = seconds;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

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

function startAt(url: string): Promise<TestExporter> {
  const yaml = `clusters:\n  - name: c\n    cluster_api: { urls: ["${url}"] }\n`;
  return startTestExporter({ intervalSeconds: 0.3, yaml });
}

const BACKUP = 'crdb_backup_last_completed_timestamp_seconds';
const LEASES = 'crdb_range_lease_changes_total';

test('another cluster behind the same URL inherits neither lease changes nor a backup', async () => {
  await using east = await simulate('east', 1);
  await using west = await simulate('west', 2);
  for (const range of west.world.state.ranges.values()) {
    for (let times = 0; times < 30; times += 1) {
      for (const { nodeId } of range.replicas.slice(0, 2)) west.world.moveLease(range.id, nodeId);
    }
  }
  for (const nodeId of [1, 2, 3]) {
    west.world.setMetric(nodeId, 'schedules.BACKUP.last-completed-time', 0);
  }
  await using proxy = await openProxy(east);
  await using exporter = await startAt(proxy.url);
  await exporter.until(
    (scrape) => scrape.value(BACKUP) !== undefined && scrape.value(LEASES) === 0,
  );
  proxy.pointAt(west);
  const isWest = { cluster_name: 'west' };
  await exporter.until((scrape) => scrape.all('crdb_node_info', isWest).length === 3);
  expect((await exporter.scrape()).value(BACKUP)).toBeUndefined();
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

test('a list of nodes from a cache fails the poll, and says where to look', async () => {
  await using simulator = await simulate('east', 1);
  await using proxy = await openProxy(simulator);
  await using exporter = await startAt(proxy.url);
  const nodes = { collector: 'nodes' };
  await exporter.until((scrape) => scrape.value('crdb_exporter_collector_success', nodes) === 1);
  proxy.cache(3600);
  const seen = await exporter.until(
    (scrape) => scrape.value('crdb_exporter_collector_success', nodes) === 0,
  );
  const failures = { ...nodes, reason: 'decode' };
  expect(seen.value('crdb_exporter_poll_failures_total', failures)).toBeGreaterThan(0);
  expect(exporter.log()).toContain('header Age');
  expect(exporter.log()).toContain('without caching');
});
