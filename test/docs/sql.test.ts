import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { startSimulator } from '../../simulator/index.ts';
import { DEMO_QUERIES } from '../../src/cli/demo-queries.ts';
import { runQueries } from '../collectors/sql/queries.ts';
import { makeFolder } from '../config/folder.ts';
import { loadText } from '../config/loading.ts';
import { run } from '../rules/promtool.ts';
import { hasProgram } from '../support/programs.ts';

const PAGE = readFileSync(path.join(import.meta.dirname, '../../docs/sql.md'), 'utf8');
const BLOCKS = Array.from(PAGE.matchAll(/```yaml\n([^`]*)```/g), ([, text = '']) => text);
const QUERIES = BLOCKS.filter((text) => text.startsWith('- name:')).map((text) => text.trimEnd());
const ALERTS = BLOCKS.filter((text) => text.startsWith('- alert:'));

const CLUSTER = 'clusters: [{ name: a, cluster_api: { urls: ["http://127.0.0.1:8080"] } }]\n';

test('the seven queries of the page are those of the demo', async () => {
  const indented = QUERIES.join('\n').replaceAll(/^/gm, '      ');
  const { config } = await loadText(`${CLUSTER}collectors:\n  sql:\n    queries:\n${indented}\n`);
  expect(config.clusters[0]?.collectors['sql']?.['queries']).toEqual(DEMO_QUERIES);
  expect(DEMO_QUERIES).toHaveLength(7);
});

test('the example at the top of the page can be used', async () => {
  const { config } = await loadText(`${CLUSTER}${BLOCKS[0]}`);
  expect(config.clusters[0]?.collectors['sql']?.['queries']).toHaveLength(1);
});

test('the simulator answers them, and each alert is about a metric of its query', async () => {
  const simulator = await startSimulator({ nodes: 3, ranges: 12, sessions: 4, faultyNodes: false });
  onTestFinished(() => simulator.close());
  const queries: readonly object[] = QUERIES.flatMap((text) => parse(text));
  const exporter = await runQueries(simulator, queries, { timeout: '30s' });
  const seen = await exporter.until((scrape) =>
    DEMO_QUERIES.every(
      ({ name }) => scrape.value('crdb_exporter_sql_query_success', { query: name }) === 1,
    ),
  );
  const names = new Set(seen.samples.map(({ name }) => name));
  const expressions = ALERTS.map((text) => String(parse(text)[0].expr));
  expect(expressions).toHaveLength(8);
  for (const expression of expressions) {
    const used = expression.match(/crdb_(?:sql|exporter)_\w+/g) ?? [];
    expect(used.filter((name) => !names.has(name))).toEqual([]);
  }
});

test.skipIf(!hasProgram('promtool'))('promtool accepts the alerts', async () => {
  const rules = `groups:\n  - name: sql\n    rules:\n${ALERTS.join('').replaceAll(/^/gm, '      ')}`;
  const folder = await makeFolder({ 'rules.yml': rules });
  const { output } = await run('promtool', ['check', 'rules', path.join(folder, 'rules.yml')]);
  expect(output).toContain('SUCCESS: 8 rules found');
});
