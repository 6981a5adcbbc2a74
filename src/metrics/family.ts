/**
 * A bounded list of entries that are named by label values, as applications or hot ranges. Over a series budget a list
 * keeps its first entries, the same in all of its families.
 */
export interface FamilyList<L extends string = string> {
  /** Families with the same name share their entries. */
  readonly name: string;
  /** The labels that name an entry; the entry that is written first is the most important one. */
  readonly entry: readonly L[];
  /** The label whose values have a list of their own each. Families without it are written after those with it. */
  readonly per?: L;
}

/** A declared metric. `labels` leaves out `crdb_cluster`: the sample set puts it first. */
export interface Family<L extends string = string> {
  readonly name: string;
  /** The type in the words of the formats; `untyped` is `unknown` in OpenMetrics, and the text format has no `gaugehistogram`. */
  readonly type: 'gauge' | 'counter' | 'untyped' | 'histogram' | 'gaugehistogram';
  readonly help: string;
  readonly labels: readonly L[];
  /** How two values of one label set become one. */
  readonly merge: 'sum' | 'last';
  /** Unit of the values, for the reference. */
  readonly unit:
    | 'count'
    | 'seconds'
    | 'Unix time in seconds'
    | 'bytes'
    | 'ratio, 0 to 1'
    | 'ratio'
    | '0 or 1'
    | 'always 1'
    | 'number'
    | 'per second'
    | 'bytes per second'
    | 'CPU seconds per second'
    | 'that of its key';
  /** Derived from the name, for OpenMetrics: `seconds`, `bytes`, `ratio`. */
  readonly openMetricsUnit: string | undefined;
  /** Members of the response that the values come from; undefined where whole responses or elements are counted. */
  readonly field: string | undefined;
  /** The request, where it is another one than the collector's first: `GET /users/`. */
  readonly request: string | undefined;
  /** Caveats, and what bounds a list, for the reference: `For the max_users users with most sessions`. */
  readonly notes: string;
  /** The subject of its series, which decides what is dropped first over a series budget. */
  readonly importance: 'cluster' | 'node' | 'store' | 'store_and_kind' | 'list' | 'chosen';
  /** The list to which its series belong. */
  readonly list?: FamilyList<L> | undefined;
}

/** The samples of one family, keyed by their label text, oldest first. */
export interface FamilySamples {
  readonly family: Family;
  readonly samples: ReadonlyMap<string, number>;
  /** For a family of a list: the label texts of its first entries. */
  readonly first?: ReadonlySet<string> | undefined;
}

/** The declaration of a family. One without `labels` has one series. */
export interface FamilyDefinition<L extends string> extends Partial<
  Pick<Family<L>, 'labels' | 'merge' | 'unit' | 'field' | 'request' | 'notes'>
> {
  readonly name: string;
  readonly help: string;
  /** Marks series that the user requests by name. Otherwise the importance follows from `list` and `labels`. */
  readonly importance?: 'chosen';
  readonly list?: FamilyList<NoInfer<L>>;
}

/** Members that differ between families of one kind. */
export type OwnDefinition = Pick<
  FamilyDefinition<never>,
  'name' | 'help' | 'unit' | 'field' | 'notes'
>;

/** The unit of a name that ends so, before `_total`. */
const UNITS: readonly (readonly [end: string, unit: Family['unit']])[] = [
  ['_cpu_seconds_per_second', 'CPU seconds per second'],
  ['_bytes_per_second', 'bytes per second'],
  ['_per_second', 'per second'],
  ['_timestamp_seconds', 'Unix time in seconds'],
  ['_seconds', 'seconds'],
  ['_bytes', 'bytes'],
  ['_info', 'always 1'],
];
const OPEN_METRICS_UNIT = /_(seconds|bytes|ratio)$/;

/** A value that may go up and down. */
export const gauge = definer('gauge');

/** A value that only grows until its source restarts; the name ends in `_total`. */
export const counter = definer('counter');

/** A value whose kind the exporter cannot know. */
export const untyped = definer('untyped');

/**
 * A distribution now, as the cumulative counts of its buckets: the name ends in `_bucket`, and the label `le` has the
 * upper bounds.
 */
export const gaugeHistogram = definer('gaugehistogram');

function definer(type: Family['type']) {
  return <const L extends string = never>(definition: FamilyDefinition<L>): Family<L> => {
    const { name, help, labels = [], merge = 'last', list } = definition;
    const withoutTotal = name.replace(/_total$/, '');
    const unit = UNITS.find(([end]) => withoutTotal.endsWith(end))?.[1] ?? 'count';
    return {
      name,
      type,
      help,
      labels,
      merge,
      unit: definition.unit ?? unit,
      openMetricsUnit: OPEN_METRICS_UNIT.exec(baseName({ name, type }))?.[1],
      field: definition.field,
      request: definition.request,
      notes: definition.notes ?? '',
      importance: definition.importance ?? (list === undefined ? importanceOf(labels) : 'list'),
      list,
    };
  };
}

/**
 * Cumulative buckets. Bounds must not be integers: OpenMetrics writes 1 as `1.0` and the text format as `1`,
 * which would be two series.
 */
export function histogram<const L extends string = never>({
  buckets,
  ...definition
}: FamilyDefinition<L> & { readonly buckets: readonly number[] }) {
  return { ...definer('histogram')(definition), buckets };
}

/** Suffixes that belong to the samples of a family in OpenMetrics, not to its name. */
const SAMPLE_SUFFIXES: Partial<Record<Family['type'], string>> = {
  counter: '_total',
  gaugehistogram: '_bucket',
};

/** The name that OpenMetrics gives the family. */
export function baseName({ name, type }: Pick<Family, 'name' | 'type'>): string {
  return name.slice(0, name.length - (SAMPLE_SUFFIXES[type] ?? '').length);
}

/** The subject of a family with these labels, when it is no list. */
function importanceOf(labels: readonly string[]): Family['importance'] {
  if (labels.includes('store_id')) {
    const kinds = labels.filter((label) => !['node_id', 'store_id', 'shard'].includes(label));
    return kinds.length === 0 ? 'store' : 'store_and_kind';
  }
  return labels.includes('node_id') ? 'node' : 'cluster';
}
