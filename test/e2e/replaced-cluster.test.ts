import { request as httpRequest } from 'node:http';
import { expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { startTestExporter } from '../support/exporter.ts';
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
  let target = east.clusterUrl;
  const held: (() => void)[] = [];
  let holdsRanges = false;
  await using proxy = await serve((request, response) => {
    const { method = 'GET', headers, url = '' } = request;
    const address = `${target}${url}`;
    const forward = () => {
      const onward = httpRequest(address, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      onward.on('error', () => response.destroy());
      request.pipe(onward);
    };
    if (holdsRanges && url.includes('/ranges/')) held.push(forward);
    else forward();
  });
  const yaml = `clusters:\n  - name: c\n    cluster_api: { urls: ["${proxy.url}"] }\n`;
  await using exporter = await startTestExporter({ intervalSeconds: 0.3, yaml });
  await exporter.until(
    (scrape) => scrape.value(BACKUP) !== undefined && scrape.value(LEASES) === 0,
  );
  // A scan has begun; it reads the first nodes of east and the others of west.
  holdsRanges = true;
  await exporter.until(() => held.length > 0);
  target = west.clusterUrl;
  const isWest = { cluster_name: 'west' };
  await exporter.until((scrape) => scrape.all('crdb_node_info', isWest).length === 3);
  expect((await exporter.scrape()).value(BACKUP)).toBeUndefined();
  holdsRanges = false;
  for (const forward of held) forward();
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

test('a second URL of another cluster fails the scan, and the page names both', async () => {
  await using east = await simulate('east', 1);
  await using west = await simulate('west', 2);
  const urls = [east.clusterUrl, west.clusterUrl].map((url) => JSON.stringify(url)).join(', ');
  const yaml = `clusters:\n  - name: c\n    cluster_api: { urls: [${urls}] }\n`;
  await using exporter = await startTestExporter({ intervalSeconds: 0.3, yaml });
  await exporter.until(
    (scrape) => scrape.value('crdb_exporter_collector_success', { collector: 'ranges' }) === 0,
  );
  const scrape = await exporter.scrape();
  expect(scrape.all('crdb_ranges')).toEqual([]);
  const status = await (await fetch(`${exporter.url}/api/status`)).text();
  expect(status).toMatch(/the URLs lead to different clusters: [^"]*east[^"]*west/);
});
