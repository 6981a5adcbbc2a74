import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readSettings } from '../../src/alerts/rule-settings.ts';
import { DIALECTS, writeRules } from '../../src/alerts/rules-template.ts';
import { eventually } from '../support/prometheus.ts';
import { NEWEST, startVictoriaMetrics } from '../support/victoria-metrics.ts';
import { nameOf, type RuleGroup } from './rule-set.ts';

/** VictoriaMetrics keeps nothing that is older than a month. */
const NOW = Math.floor(Date.now() / 1000);
const [PROMQL, METRICSQL] = DIALECTS.map((dialect) => {
  const text = writeRules(readSettings([]), dialect);
  const { groups }: { readonly groups: readonly RuleGroup[] } = parse(text, { version: '1.1' });
  return groups.flatMap(({ rules }) => rules);
});

/** Lines of a series, one for each value: the last is now, the others a minute apart. */
function series(text: string, values: readonly number[]): readonly string[] {
  return values.map(
    (value, index) => `${text} ${value} ${1000 * (NOW - 60 * (values.length - 1 - index))}`,
  );
}

const STARTED = 'crdb_cluster_node:crdb_node_started_timestamp_seconds:max';
const SAMPLES = [
  // It restarts once, and then three times.
  ...series(`${STARTED}{crdb_cluster="p",node_id="1"}`, [5, 5, 9, 9]),
  ...series(`${STARTED}{crdb_cluster="p",node_id="2"}`, [5, 6, 7, 9]),
  // A new exporter, whose counters have old failures.
  ...series('crdb_node_backup_schedule_failures_total{crdb_cluster="p",node_id="1"}', [3, 3, 3]),
  ...series('crdb_node_backup_schedule_failures_total{crdb_cluster="q",node_id="1"}', [3, 3, 4]),
];

/** What is alike in both, by rule: the clusters and nodes that the expression selects. */
const SELECTED: Readonly<Record<string, readonly string[]>> = {
  CrdbNodeFlapping: ['p 2'],
  'crdb_cluster:crdb_node_backup_failures:increase15m': ['q'],
};

test.skipIf(NEWEST === undefined)(
  'VictoriaMetrics counts no first sample with the rules in its dialect',
  { timeout: 120_000 },
  async () => {
    await using storage = await startVictoriaMetrics();
    await storage.import(SAMPLES);
    await fetch(`${storage.url}/internal/force_flush`);
    const select = async (query: string): Promise<readonly string[]> => {
      const target = `query?nocache=1&time=${NOW}&query=${encodeURIComponent(query)}`;
      const text = await (await fetch(`${storage.url}/api/v1/${target}`)).text();
      const answer: {
        readonly data: { readonly result: readonly { metric: Record<string, string> }[] };
      } = JSON.parse(text);
      return answer.data.result
        .map(({ metric }) => `${metric['crdb_cluster']} ${metric['node_id'] ?? ''}`.trim())
        .toSorted();
    };
    await eventually(async () => ((await select(STARTED)).length === 2 ? true : undefined));
    for (const [name, selected] of Object.entries(SELECTED)) {
      const of = (rules = PROMQL): string =>
        rules?.find((rule) => nameOf(rule) === name)?.expr ?? '';
      expect([name, await select(of(METRICSQL))]).toEqual([name, selected]);
      expect(await select(of(PROMQL))).not.toEqual(selected);
    }
  },
);
