import type { MetricObject } from 'prom-client';
import { type CatalogueEntry, listCatalogue } from '../../src/exporter/catalogue.ts';
import { createProcessRegistry } from '../../src/metrics/exporter-metrics.ts';
import { readRules } from '../rules/rule-set.ts';

/** Labels of each known series; Prometheus adds job and instance to scraped series. */
export type KnownSeries = ReadonlyMap<string, ReadonlySet<string>>;

/** Labels in the first part of a recorded name. */
const LEVELS: Readonly<Record<string, string>> = {
  collector: 'collector',
  shard: 'shard',
  node: 'node_id',
  store: 'store_id',
  problem: 'problem',
  application: 'application',
  user: 'user',
  // Of `job_type`.
  type: 'job_type',
  reason: 'reason',
  status: 'status',
  tier: 'tier',
  locality: 'locality',
  value: 'value',
  build: 'build_tag',
  name: 'cluster_name',
  region: 'region',
  certificate: 'certificate',
  kind: 'kind',
};

/** Series of Prometheus itself; an alert has the labels of its expression. */
const OF_PROMETHEUS: readonly Named[] = [
  ['up', ['job', 'instance']],
  [
    'ALERTS',
    [
      'alertname',
      'alertstate',
      'severity',
      'component',
      'crdb_cluster',
      'node_id',
      'store_id',
      'application',
      'user',
    ],
  ],
];

/** Series of the catalogue, of the recording rules and of Prometheus. */
export function knownSeries(): KnownSeries {
  const ofProcess = createProcessRegistry().getMetricsAsArray().map(describe);
  const scraped = [...listCatalogue(), ...ofProcess].flatMap(seriesOf);
  const recorded = readRules()
    .flatMap(({ rules }) => rules.flatMap(({ record }) => record ?? []))
    .map((name): Named => [name, labelsOfRecorded(name)]);
  const all = [...scraped, ...recorded, ...OF_PROMETHEUS];
  return new Map(all.map(([name, labels]) => [name, new Set(labels)]));
}

type Named = readonly [name: string, labels: readonly string[]];

/** What the names of its series follow from. */
type Declared = Pick<CatalogueEntry, 'name' | 'labels'> & { readonly type: string };

/** A metric as prom-client declares it. */
function describe(metric: MetricObject): Declared {
  const labels: unknown = 'labelNames' in metric ? metric.labelNames : [];
  const { name, type } = metric;
  return { name, type: String(type), labels: Array.isArray(labels) ? labels.map(String) : [] };
}

function seriesOf({ name, type, labels }: Declared): readonly Named[] {
  const all = [...labels, 'job', 'instance'];
  if (type !== 'histogram') return [[name, all]];
  return [
    // Where Prometheus converts classic histograms to native ones.
    [name, all],
    [`${name}_bucket`, [...all, 'le']],
    [`${name}_sum`, all],
    [`${name}_count`, all],
  ];
}

function labelsOfRecorded(name: string): readonly string[] {
  const [level = '', metric] = name.split(':');
  const parts = level.replace(/^crdb_cluster_?/, '').split('_');
  const labels = parts.flatMap((part) => LEVELS[part] ?? []);
  // An exporter is a target: a job and an instance.
  if (parts.includes('instance')) labels.push('job', 'instance');
  const more = metric === 'crdb_node_info' ? ['address', 'locality', 'build_tag'] : [];
  return ['crdb_cluster', ...labels, ...more];
}
