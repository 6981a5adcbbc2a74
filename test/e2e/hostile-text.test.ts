import { expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { openProxy } from '../support/changing-proxy.ts';
import { everyCollector } from '../support/collectors.ts';
import { clusterYaml, startTestExporter } from '../support/exporter.ts';

/** Colour by C0 and C1, text from right to left, a separator of lines, a tag beyond the first plane, half a pair. */
const HOSTILE = '\u001B[31m\u009B31m\u007F\u202Eevil\u2028\u2066\u{E0041}\uD800\r\n';
/** Line feeds and tabs belong to the formats of page, JSON and log. */
// oxlint-disable-next-line no-control-regex -- what terminals obey
const OBEYED = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
/** The texts that somebody may choose who writes to the cluster, or is a node of it. */
const CHOSEN =
  /"(address_field|build_tag|cluster_name|key|value|username|application_name|client_address|database|db_name|schema_name|table_name|type|message|name|user)":\s*"((?:[^"\\]|\\.)*)"/g;

function poison(text: string): string {
  const end = JSON.stringify(HOSTILE).slice(1, -1);
  return text.replaceAll(CHOSEN, (_all, key: string, value: string) => `"${key}":"${value}${end}"`);
}

test('controls in names, rows and errors of a cluster reach no output of the exporter', async () => {
  const simulator = await startSimulator({
    nodes: 3,
    ranges: 12,
    sessions: 4,
    sqlResults: [
      {
        contains: 'system.replication_constraint_stats',
        columns: [
          ['zone_id', 'STRING'],
          ['type', 'STRING'],
          ['violating_ranges', 'INT8'],
        ],
        rows: [[HOSTILE, `row${HOSTILE}`, 3]],
      },
    ],
  });
  onTestFinished(() => simulator.close());
  await using proxy = await openProxy(new URL(simulator.clusterUrl).origin, (url, text) =>
    // Columns and tokens keep their names: the response would be refused as a whole.
    /\/(login|sql)\//.test(url) ? text : poison(text),
  );
  const { username, password } = simulator;
  const cluster = clusterYaml({ clusterUrls: [`${proxy.url}/api/v2`], username, password });
  await using exporter = await startTestExporter({
    yaml: `clusters:\n${cluster}${everyCollector({})}`,
    intervalSeconds: 0.1,
  });
  await exporter.until(
    (scrape) =>
      scrape.all('crdb_sql_constraints_violating_ranges').length > 0 &&
      scrape.all('crdb_application_sessions').length > 0 &&
      scrape.all('crdb_table_info').length > 0 &&
      scrape.all('crdb_node_info').length > 0,
  );
  const paths = ['/metrics', '/', '/api/status', '/probe?cluster=sim', '/sd/nodes', '/config'];
  const texts = await Promise.all(paths.map(async (path) => (await exporter.get(path)).text));
  for (const [index, text] of [...texts, exporter.log()].entries()) {
    expect(OBEYED.exec(text)?.[0], paths[index] ?? 'the log').toBeUndefined();
  }
  expect(texts.slice(0, 3).map((text) => text.includes('row\uFFFD'))).toEqual([true, true, true]);
});
