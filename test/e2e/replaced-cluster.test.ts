import { request as httpRequest } from 'node:http';
import { expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { startTestExporter, type TestExporter } from '../support/exporter.ts';
import { serve } from '../support/http-server.ts';

/** A proxy in front of a cluster that can be pointed at another one. */
interface SwitchingProxy extends AsyncDisposable {
  readonly url: string;
  pointAt(simulator: Simulator): void;
}

async function openProxy(first: Simulator): Promise<SwitchingProxy> {
  let target = first.clusterUrl;
  const { url, [Symbol.asyncDispose]: close } = await serve((request, response) => {
    const { method = 'GET', headers } = request;
    const onward = httpRequest(`${target}${request.url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  return {
    url,
    pointAt: (simulator) => {
      target = simulator.clusterUrl;
    },
    [Symbol.asyncDispose]: close,
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
