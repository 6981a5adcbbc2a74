import {
  counter,
  type Family,
  type FamilyDefinition,
  gauge,
  type OwnDefinition,
} from '../../metrics/family.ts';

// Families that are single metrics of a node or store, by their CockroachDB keys.

/** The metric that is the value of one series, divided to the unit of its family. */
export interface KeyedSeries {
  readonly key: string;
  readonly divisor: number;
  readonly family: Family;
  /** Besides node_id and store_id. */
  readonly labels: Readonly<Record<string, string>>;
}

export const NODE = { labels: ['node_id'], series: ['nodes'], source: 'metrics' } as const;
export const STORE = {
  labels: ['node_id', 'store_id'],
  series: ['stores'],
  source: 'store_metrics',
} as const;

type Owner = typeof NODE | typeof STORE;

const COUNTER_NOTES =
  'Counts since the start of the node and is updated every 10 s: use rate windows of 2 m and more.';

/** A family whose value is one metric. */
export function keyed(owner: Owner, key: string, definition: OwnDefinition): KeyedSeries {
  const family = define(owner, key, owner, definition);
  return { key, divisor: divisorOf(family), family, labels: {} };
}

/** A family with one metric for each value of a further label. */
export function keyedBy(
  owner: Owner,
  label: string,
  keys: Readonly<Record<string, string>>,
  definition: OwnDefinition,
): readonly KeyedSeries[] {
  const entries = Object.entries(keys);
  const shape = {
    labels: [...owner.labels, label],
    series: [...owner.series, entries.length],
  };
  const family = define(owner, Object.values(keys).join(', '), shape, definition);
  return entries.map(([value, key]) => {
    return { key, divisor: divisorOf(family), family, labels: { [label]: value } };
  });
}

/** The keys of these kinds, by kind; `*` in the pattern stands for the kind. */
export function kindsOf(pattern: string, kinds: readonly string[]): Record<string, string> {
  return Object.fromEntries(kinds.map((kind) => [kind, pattern.replace('*', kind)]));
}

function define(
  { source }: Owner,
  field: string,
  shape: Pick<FamilyDefinition<string>, 'labels' | 'series'>,
  { notes = '', ...definition }: OwnDefinition,
): Family {
  const type = definition.name.endsWith('_total') ? counter : gauge;
  const allNotes = type === counter ? COUNTER_NOTES : notes;
  return type({ ...definition, ...shape, field: `${source} ${field}`, notes: allNotes });
}

/** CockroachDB measures durations in nanoseconds. */
function divisorOf({ unit }: Family): number {
  return unit === 'seconds' ? 1e9 : 1;
}
