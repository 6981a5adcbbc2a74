import type { SelectedKeys } from '#json';
import { JOB_KEYS } from './job-status.ts';
import { CERTIFICATE_PREFIX, LICENSE_KEYS, NODE_METRICS, STORE_METRICS } from './node-families.ts';
import { CPU_KEYS, type ListedNode } from './node-record.ts';

// Which of the metrics that the exporter reads are sent by nodes: newer servers move some out of the records, without an error.

/** A metric that is read, under one of several names, or all that begin with a prefix. */
interface WantedKey {
  /** `sys.rss`, or `sql.mem.*` for a prefix. */
  readonly name: string;
  readonly keys: readonly string[];
  readonly prefix?: string;
}

/** Servers run changes of schemas under two names, and newer ones have another key for the license: one of both is enough. */
const OTHER_NAMES: readonly (readonly string[])[] = [
  LICENSE_KEYS,
  ...JOB_KEYS.filter((key) => key.startsWith('jobs.schema_change.')).map((key) => [
    key,
    key.replace('jobs.schema_change.', 'jobs.new_schema_change.'),
  ]),
];

/** What the families of nodes and stores are read from. */
const FAMILY_KEYS: readonly WantedKey[] = [
  ...new Set([
    ...[...NODE_METRICS, ...STORE_METRICS].map(({ key }) => key),
    ...Object.values(CPU_KEYS),
    ...JOB_KEYS,
  ]),
]
  .filter((key) => !OTHER_NAMES.flat().includes(key))
  .map((key): WantedKey => ({ name: key, keys: [key] }))
  .concat(
    OTHER_NAMES.map((keys) => ({ name: keys[0] ?? '', keys })),
    { name: `${CERTIFICATE_PREFIX}*`, keys: [], prefix: CERTIFICATE_PREFIX },
  );

/** The metrics that are read and that no node with a fresh record sends. */
export interface UnsentKeys {
  /** The keys of the families, in the order in which they are declared. */
  readonly familyKeys: readonly string[];
  /** The keys and prefixes of `collectors.nodes.metrics`, as the user wrote them. */
  readonly selectedKeys: readonly string[];
}

/** Whether any node with a fresh record, or one of its stores, sends a metric; undefined while no record is fresh. */
export function isSent(all: readonly ListedNode[], key: string): boolean | undefined {
  const fresh = all.filter(({ isFresh }) => isFresh);
  return fresh.length === 0 ? undefined : sends(fresh, { name: key, keys: [key] });
}

/** Finds the metrics that are read and that none of the fresh records has. */
export function findUnsent(
  all: readonly ListedNode[],
  selected: SelectedKeys,
): UnsentKeys | undefined {
  const fresh = all.filter(({ isFresh }) => isFresh);
  if (fresh.length === 0) return undefined;
  const selectedKeys: readonly WantedKey[] = [
    ...selected.keys.map((key) => ({ name: key, keys: [key] })),
    ...selected.prefixes.map((prefix) => ({ name: `${prefix}*`, keys: [], prefix })),
  ];
  const unsentOf = (wanted: readonly WantedKey[]): readonly string[] =>
    wanted.filter((key) => !sends(fresh, key)).map(({ name }) => name);
  return { familyKeys: unsentOf(FAMILY_KEYS), selectedKeys: [...new Set(unsentOf(selectedKeys))] };
}

function sends(nodes: readonly ListedNode[], { keys, prefix }: WantedKey): boolean {
  const has = (values: ReadonlyMap<string, number>): boolean =>
    keys.some((key) => values.has(key)) ||
    (prefix !== undefined && [...values.keys()].some((key) => key.startsWith(prefix)));
  return nodes.some(({ metrics, stores }) => has(metrics) || [...stores.values()].some(has));
}

/** Remembers which metrics the nodes of a cluster have sent. */
export class SentKeys {
  /** Keys of families that a node has sent. The keys of the user are not remembered. */
  readonly #sent = new Set<string>();

  /**
   * The keys that are missing: those that a node has sent before, and those of the user; undefined without a fresh record.
   * Example: node 1 of three is upgraded and sends `schedules.BACKUP.last-completed-time` no more. It is missing once none of the three does.
   */
  findMissing(unsent: UnsentKeys | undefined): readonly string[] | undefined {
    if (unsent === undefined) return undefined;
    for (const { name } of FAMILY_KEYS) if (!unsent.familyKeys.includes(name)) this.#sent.add(name);
    const vanished = unsent.familyKeys.filter((name) => this.#sent.has(name));
    return [...new Set([...vanished, ...unsent.selectedKeys])];
  }
}
