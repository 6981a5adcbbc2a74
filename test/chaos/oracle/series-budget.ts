import type { ParsedSample } from '../../metrics/parse-exposition.ts';
import { type Expected, keyOf, nameOf } from './expected.ts';

/** What a series describes, the least important first, as the contract drops them over the budget. */
const CLASSES = ['key', 'list', 'store and kind', 'store', 'node', 'cluster'] as const;
type Class = (typeof CLASSES)[number];

/** Entries of these lists are named by these labels. */
const LISTS: readonly { readonly families: RegExp; readonly entry: readonly string[] }[] = [
  { families: /^crdb_application_/, entry: ['application', 'user'] },
  { families: /^crdb_user_sessions$/, entry: ['user'] },
  { families: /^crdb_hot_range_/, entry: ['range_id'] },
  { families: /^crdb_range_table_(?!problem)/, entry: ['table_id'] },
  {
    families: /^crdb_table_(?:info|ranges|columns|indexes)$/,
    entry: ['database', 'schema', 'table'],
  },
];
/** Of each list so many are as important as what is told of single nodes. */
const KEPT_ENTRIES = 5;
const KEYED = new Set(['crdb_node_metric', 'crdb_store_metric']);
const LIST_LABELS = ['application', 'database', 'range_id', 'table', 'table_id', 'user'];
const KIND_LABELS = ['problem', 'kind', 'state'];

function classOf(name: string, labels: ParsedSample['labels']): Class {
  if (KEYED.has(name)) return 'key';
  if (LIST_LABELS.some((label) => label in labels)) return 'list';
  if (!('node_id' in labels)) return 'cluster';
  if (!('store_id' in labels)) return 'node';
  return KIND_LABELS.some((label) => label in labels) ? 'store and kind' : 'store';
}

/** What no budget may take away. */
export function ofWholeCluster(expected: Expected): Expected {
  return new Map([...expected].filter(([key]) => classOfKey(key) === 'cluster'));
}

function classOfKey(key: string): Class {
  const pairs: unknown = JSON.parse(key.slice(key.indexOf(' ') + 1));
  const names = Array.isArray(pairs) ? pairs.map((pair: unknown[]) => String(pair[0])) : [];
  return classOf(nameOf(key), Object.fromEntries(names.map((name) => [name, ''])));
}

/** The families of one list: each entry is the values of these labels. */
type List = (typeof LISTS)[number];

function countEntries(samples: readonly ParsedSample[], { families, entry }: List): number {
  // The sum of the rest is no entry of its own.
  const ofList = samples.filter(
    ({ name, labels }) => families.test(name) && entry.every((label) => labels[label] !== 'other'),
  );
  return new Set(ofList.map(({ labels }) => entry.map((label) => labels[label]).join(' / '))).size;
}

/** Every family of a list shows the same entries of it. */
export function findDisagreement(samples: readonly ParsedSample[]): string | undefined {
  for (const { families, entry } of LISTS) {
    const byFamily = Map.groupBy(
      samples.filter(({ name }) => families.test(name)),
      ({ name }) => name,
    );
    const entriesOf = (each: readonly ParsedSample[]): string =>
      [...new Set(each.map(({ labels }) => entry.map((label) => labels[label]).join(' / ')))]
        .toSorted()
        .join(', ');
    const [first, ...rest] = [...byFamily].map(([name, each]) => ({
      name,
      entries: entriesOf(each),
    }));
    const other = rest.find(({ entries }) => entries !== first?.entries);
    if (other)
      return `${first?.name} lists ${first?.entries}, ${other.name} lists ${other.entries}`;
  }
  return undefined;
}

/** Where something of a class is missing, nothing less important is there. */
export function findUnfairness(
  samples: readonly ParsedSample[],
  missing: readonly string[],
): string | undefined {
  for (const key of missing) {
    const rank = CLASSES.indexOf(classOfKey(key));
    // Lists go in two steps, of which the second comes after everything but the whole cluster.
    if (rank <= CLASSES.indexOf('list')) continue;
    const long = LISTS.find((list) => countEntries(samples, list) > KEPT_ENTRIES);
    if (long)
      return `${key} was dropped, more than ${KEPT_ENTRIES} entries of ${long.families} were not`;
    const lesser = samples.find(({ name, labels }) => {
      const of = classOf(name, labels);
      return of !== 'list' && CLASSES.indexOf(of) < rank;
    });
    if (lesser) return `${key} was dropped, ${keyOf(lesser.name, lesser.labels)} was not`;
  }
  return undefined;
}
