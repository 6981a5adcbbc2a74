import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { listLosses } from '../../tools/report/losses.ts';
import { configFlag, runHere } from '../cli/run.ts';
import { expectGolden } from '../support/golden.ts';
import { lossesOf, parseReport, reportOf, reportOfNodes, withoutFigures } from './reports.ts';

const CAPTURES = path.join(import.meta.dirname, '../collectors/nodes/captures');
const captures = readdirSync(CAPTURES).filter((name) => name.endsWith('.json'));

describe('the report of a simulator', () => {
  test.each(['real', 'documented'] as const)('in the dialect %s', async (dialect) => {
    const text = await reportOf({ dialect, faultyNodes: false, unusualNames: false });
    const file = `test/reports/simulator-${dialect}.json`;
    await expectGolden(withoutFigures(text), file);
    await expectGolden(lossesOf(text), file.replace('.json', '.losses.txt'));
  });

  test('counts each node and each range once, and says of which nodes it read the ranges', async () => {
    const options = { nodes: 3, ranges: 30, faultyNodes: false, unusualNames: false };
    for (const [scan, ...flags] of [['one node'], ['all nodes', '--scan']] as const) {
      const report = parseReport(await reportOf(options, ...flags));
      const { listed, described, ...counts } = report.ranges;
      expect([report.scan, listed, described]).toEqual([scan, 30, 30]);
      const nodes = report.requests.find(({ request }) => request === 'GET /api/v2/nodes/');
      expect(nodes?.enumerations['nodes[].liveness_status']).toEqual({ 3: 3 });
      for (const figures of Object.values(counts)) {
        expect(Object.values(figures).reduce((sum, count) => sum + count, 0)).toBe(30);
      }
    }
  });

  test('has the states of jobs, and which texts it does not know', async () => {
    const report = parseReport(await reportOf({}));
    const jobs = report.requests.find(({ request }) => request === 'GET /_admin/v1/jobs');
    expect(jobs?.enumerations['jobs[].status']).toMatchObject({ running: expect.any(Number) });
    expect(Object.keys(jobs?.enumerations['jobs[].type'] ?? {})).toContain('BACKUP');
  });
});

describe('the report of a record that an operator published', () => {
  test.each(captures)('%s', async (name) => {
    const text = reportOfNodes(readFileSync(path.join(CAPTURES, name)));
    const file = `test/reports/${name}`;
    await expectGolden(text, file);
    const losses = listLosses(parseReport(text)).filter((line) => !line.endsWith('not requested'));
    await expectGolden(`${losses.join('\n')}\n`, file.replace('.json', '.losses.txt'));
  });
});

test('a loss names the families of a metric, and how many objects had no such field', () => {
  const report = parseReport(reportOfNodes(Buffer.from('{ "nodes": [{}, { "node_id": 2 }] }')));
  const losses = listLosses({ ...report, metrics: { ...report.metrics, sent: 1 } });
  expect(losses).toContain('GET /api/v2/nodes/: nodes[].build_tag was not seen in 2 objects');
  expect(losses).toContain('GET /api/v2/nodes/: next was not seen in 1 response');
  const ofMetrics = losses.filter((line) => line.startsWith('metric '));
  expect(ofMetrics).toContain(
    'metric jobs.backup.resume_failed is missing: crdb_node_job_failures_total',
  );
  expect(ofMetrics.filter((line) => !line.includes(' is missing: crdb_'))).toEqual([]);
});

test('a metric that was renamed is missing, and its new name is listed', () => {
  const metrics = { 'sys.rss': 1, 'sql.connections.open': 3, 'sql.query.total.count': 4 };
  const document = { nodes: [{ node_id: 1, build_tag: 'v27.1.0', metrics }] };
  const report = parseReport(reportOfNodes(Buffer.from(JSON.stringify(document))));
  expect(report.metrics.missing).toContain('sql.query.count');
  expect(report.metrics.missing).not.toContain('sys.rss');
  expect(report.metrics.similar['sql.query.count']).toEqual(['sql.query.total.count']);
});

test('a field of known words is listed whatever its case, one of other words never', () => {
  const record = { node_id: 1, buildTag: 'v27.1.0', liveNodeIds: [1], aliceTag: 1, alice_tag: 1 };
  const text = reportOfNodes(Buffer.from(JSON.stringify({ nodes: [record] })));
  expect(text).toContain('nodes[].buildTag');
  expect(text).not.toMatch(/alice/i);
});

test('of a response that is too long the complete elements of its start are counted', async () => {
  const text = await reportOf({ nodes: 3, ranges: 4_000, faultyNodes: false });
  const lists = parseReport(text).requests.find(
    ({ request }) => request === 'GET /api/v2/nodes/{node_id}/ranges/',
  );
  const [, count] = /^number (\d+)$/.exec(lists?.fields['ranges[].source_node_id'] ?? '') ?? [];
  expect(Number(count)).toBeGreaterThan(100);
  expect(Number(count)).toBeLessThan(4_000);
});

test('a file that cannot be written is an error that names it', async () => {
  await using simulator = await startSimulator({ nodes: 1, ranges: 4, sessions: 2 });
  const args = ['diagnose', '--report', '/nowhere/report.json', await configFlag(simulator)];
  const { code, err } = await runHere(args);
  expect({ code, err }).toEqual({
    code: 1,
    err: 'crdb-exporter: cannot write /nowhere/report.json: there is no such folder; correct that, or choose another place with --report\n',
  });
});
