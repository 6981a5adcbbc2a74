import { COLLECTORS } from '../../src/collectors/index.ts';
import { type CatalogueEntry, listCatalogue } from '../../src/reference/catalogue.ts';
import { PROCESS_FAMILIES, type ProcessFamily } from '../../src/reference/process-families.ts';
import { readRules } from '../rules/rule-set.ts';

/** Labels of each series that a query may name; Prometheus adds job and instance to what it scrapes. */
export type KnownSeries = ReadonlyMap<string, ReadonlySet<string>>;

/** Labels that the first part of a recorded name stands for. */
const LEVELS: Readonly<Record<string, string>> = {
  collector: 'collector',
  shard: 'shard',
  node: 'node_id',
  store: 'store_id',
  problem: 'problem',
  application: 'application',
  reason: 'reason',
};

/** What Prometheus says itself; an alert has the labels of its expression. */
const OF_PROMETHEUS: readonly Named[] = [
  ['up', ['job', 'instance']],
  ['ALERTS', ['alertname', 'alertstate', 'severity', 'component', 'crdb_cluster']],
];

/** The catalogue, what the rules record, and what Prometheus adds. */
export function knownSeries(): KnownSeries {
  const families = [...listCatalogue(COLLECTORS), ...PROCESS_FAMILIES];
  const scraped = families.flatMap(seriesOf);
  const recorded = readRules()
    .flatMap(({ rules }) => rules.flatMap(({ record }) => record ?? []))
    .map((name): Named => [name, labelsOfRecorded(name)]);
  const all = [...scraped, ...recorded, ...OF_PROMETHEUS];
  return new Map(all.map(([name, labels]) => [name, new Set(labels)]));
}

type Named = readonly [name: string, labels: readonly string[]];

function seriesOf({ name, type, labels }: CatalogueEntry | ProcessFamily): readonly Named[] {
  const all = [...labels, 'job', 'instance'];
  if (type !== 'histogram') return [[name, all]];
  return [
    [`${name}_bucket`, [...all, 'le']],
    [`${name}_sum`, all],
    [`${name}_count`, all],
  ];
}

function labelsOfRecorded(name: string): readonly string[] {
  const [level = '', metric] = name.split(':');
  const parts = level.replace(/^crdb_cluster_?/, '').split('_');
  const labels = parts.flatMap((part) => LEVELS[part] ?? []);
  const more = metric === 'crdb_node_info' ? ['address', 'locality', 'build_tag'] : [];
  return ['crdb_cluster', ...labels, ...more];
}
