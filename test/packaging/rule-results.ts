import path from 'node:path';
import { makeFolder } from '../config/folder.ts';
import { readRules, rulesOfOneInterval } from '../rules/rule-set.ts';
import { eventually, startPrometheus } from '../support/prometheus.ts';

/** Series about the exporters or a point in time, not about the cluster. */
const APART =
  /^crdb_cluster_collector_shard:|^crdb_cluster_instance|:crdb_node_record_age_seconds:|:remaining_seconds:/;

function recordedNames(): readonly string[] {
  const names = readRules().flatMap(({ rules }) => rules.flatMap(({ record }) => record ?? []));
  return [...new Set(names)].filter((name) => !APART.test(name));
}

/** The results of the recording rules in a real Prometheus that scrapes these exporters, by series. */
export async function evaluateRules(
  addresses: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const folder = await makeFolder({ 'rules.yml': rulesOfOneInterval() });
  await using prometheus = await startPrometheus(`
global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
rule_files: [${JSON.stringify(path.join(folder, 'rules.yml'))}]
scrape_configs:
  - job_name: crdb-exporter
    static_configs: [{ targets: ${JSON.stringify(addresses)} }]
`);
  const names = recordedNames();
  const expression = `{__name__=~"${names.join('|')}"} and on() (count(up == 1) == ${addresses.length})`;
  let before = -1;
  const series = await eventually(async () => {
    const seen = await prometheus.query(expression);
    // Rules depend on rules: all have been evaluated when no new series appear for a second.
    const isSettled = seen.length > 0 && seen.length === before;
    before = seen.length;
    if (isSettled) return seen;
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    return undefined;
  });
  return new Map(
    series.map(({ labels, value }) => [JSON.stringify(sortKeys(labels)), rounded(value)]),
  );
}

/** Sums in another order differ in their last digits. */
function rounded(value: number): number {
  return Number(value.toPrecision(12));
}

function sortKeys(labels: Readonly<Record<string, string>>): readonly (readonly string[])[] {
  return Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
