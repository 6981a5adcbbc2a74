import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { listLosses } from '../../tools/report/losses.ts';
import { configFlag, runHere } from '../cli/run.ts';
import { expectGolden } from '../support/golden.ts';
import { parseReport, reportOf, reportOfNodes, withoutFigures } from './reports.ts';

const CAPTURES = path.join(import.meta.dirname, '../collectors/nodes/captures');
const captures = readdirSync(CAPTURES).filter((name) => name.endsWith('.json'));
const COMMAND = 'npx vitest run -u --project together test/reports';

describe('the report of a simulator', () => {
  test.each(['real', 'documented'] as const)('in the dialect %s', async (dialect) => {
    const text = await reportOf({ dialect, faultyNodes: false, unusualNames: false });
    const file = `test/reports/simulator-${dialect}.json`;
    await expectGolden(withoutFigures(text), file, COMMAND);
    const losses = listLosses(parseReport(text));
    await expectGolden(`${losses.join('\n')}\n`, file.replace('.json', '.losses.txt'), COMMAND);
  });
});

describe('the report of a record that an operator published', () => {
  test.each(captures)('%s', async (name) => {
    const text = reportOfNodes(readFileSync(path.join(CAPTURES, name)));
    const file = `test/reports/${name}`;
    await expectGolden(text, file, COMMAND);
    const losses = listLosses(parseReport(text)).filter((line) => !line.endsWith('not requested'));
    await expectGolden(`${losses.join('\n')}\n`, file.replace('.json', '.losses.txt'), COMMAND);
  });
});

test('a metric that was renamed is missing, and its new name is listed', () => {
  const metrics = { 'sys.rss': 1, 'sql.connections.open': 3, 'sql.query.total.count': 4 };
  const document = { nodes: [{ node_id: 1, build_tag: 'v27.1.0', metrics }] };
  const report = parseReport(reportOfNodes(Buffer.from(JSON.stringify(document))));
  expect(report.metrics.missing).toContain('sql.query.count');
  expect(report.metrics.missing).not.toContain('sys.rss');
  expect(report.metrics.similar['sql.query.count']).toEqual(['sql.query.total.count']);
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
    err: 'crdb-exporter: cannot write the report /nowhere/report.json: there is no such folder\n',
  });
});
