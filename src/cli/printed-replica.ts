import { formatAge, formatBytes, formatNumber, toTimestamp } from '#base';
import {
  lastTableIdOf,
  lastTableLabel,
  LEASE_KINDS,
  leaseKindOf,
  type LOADS,
  type ReplicaDetails,
  tableLabels,
} from '#collectors';
import { findLastTable, systemRangeName } from '#status';
import { type Column, numberColumn } from './output/table.ts';

/** A replica as JSON, with the names of the API, and without its keys, which may hold user data. */
export interface PrintedReplica extends Pick<
  ReplicaDetails,
  'quiescent' | 'ticking' | 'lease_history'
> {
  readonly range_id: number | undefined;
  readonly node_id: number | undefined;
  readonly store_id: number | undefined;
  /** A number; of a table in virtual cluster 3 the text `3/104`; null outside of tables. */
  readonly table_id: number | string | null;
  /** `movr.public.rides`, where the server lists the table. */
  readonly table: string | null;
  readonly index_id: number | null;
  /** The last table of a range that small tables share, as `table_id`; null where it is the first one. */
  readonly last_table_id: number | string | null;
  readonly last_table: string | null;
  /** Null where they cannot be read: not known. */
  readonly problems: readonly string[] | null;
  readonly is_leaseholder: boolean;
  readonly lease_kind: string | null;
  readonly stats: Readonly<Partial<Record<(typeof LOADS)[number], number>>>;
}

/** Copies a replica from the element, which is reused for the next one; `names` has the tables by their id. */
export function toReplica(
  element: ReplicaDetails,
  names: ReadonlyMap<string, string>,
): PrintedReplica {
  const { desc, span, stats, lease_history: leases } = element;
  const lease = leases.at(-1);
  const kind = lease && leaseKindOf(lease.term ?? NaN, lease.epoch ?? NaN);
  const { start_key: first = 0, end_key: end = 0 } = span;
  const { table_id, index_id } = tableLabels(first);
  const lastLabel = lastTableLabel(first, lastTableIdOf(first, end));
  const last = findLastTable(table_id, lastLabel, names) ?? '';
  return {
    range_id: desc.range_id,
    node_id: element.source_node_id,
    store_id: element.source_store_id,
    table_id: toTableId(table_id),
    table: names.get(table_id) ?? null,
    index_id: index_id === '' ? null : Number(index_id),
    last_table_id: toTableId(last),
    last_table: names.get(last) ?? null,
    problems: element.problems === undefined ? null : namesSet(element.problems),
    is_leaseholder: lease !== undefined && lease.replica.store_id === element.source_store_id,
    lease_kind: kind === undefined ? null : (LEASE_KINDS[kind] ?? null),
    quiescent: element.quiescent,
    ticking: element.ticking,
    stats: toStats(stats),
    lease_history: leases,
  };
}

function namesSet(problems: ReadonlyMap<string, boolean>): readonly string[] {
  return [...problems].flatMap(([name, isSet]) => (isSet ? [name] : []));
}

/** What the server sends of the load; queries and writes are 0 where it sends none. */
function toStats(stats: ReplicaDetails['stats']): PrintedReplica['stats'] {
  const known = Object.entries(stats).filter(([, load]) => load !== undefined);
  return { queries_per_second: 0, writes_per_second: 0, ...Object.fromEntries(known) };
}

/** The columns of a list of replicas, the most important first: a narrow terminal hides the last. */
export const REPLICA_COLUMNS: readonly Column<PrintedReplica>[] = [
  { title: 'RANGE', value: (replica) => replica.range_id, format: String },
  { title: 'NODE', value: (replica) => replica.node_id, format: String },
  { title: 'STORE', value: (replica) => replica.store_id, format: String },
  {
    title: 'TABLE',
    value: tableOf,
  },
  { title: 'LEASE', value: (replica) => (replica.is_leaseholder ? replica.lease_kind : null) },
  numberColumn('QPS', formatNumber, ({ stats }) => stats.queries_per_second),
  numberColumn('WRITES/S', formatNumber, ({ stats }) => stats.writes_per_second),
  numberColumn('READ/S', formatBytes, ({ stats }) => stats.read_bytes_per_second),
  numberColumn('WRITTEN/S', formatBytes, ({ stats }) => stats.write_bytes_per_second),
  // Nanoseconds per second, as a share of one CPU.
  numberColumn(
    'CPU',
    (nanoseconds) => `${formatNumber(nanoseconds / 1e7)} %`,
    ({ stats }) => stats.cpu_time_per_second,
  ),
  {
    title: 'PROBLEMS',
    value: (replica) => replica.problems?.join(',') ?? null,
    style: (problems) => (problems === '' ? undefined : 'red'),
  },
];

/** A number; the text of a table in a virtual cluster; null for the empty text. */
function toTableId(label: string): number | string | null {
  return label === '' || label.includes('/') ? label || null : Number(label);
}

/** The tables, by their names if they are known; of a range outside of tables what the system keeps there. */
function tableOf(replica: PrintedReplica): string | null {
  const { range_id: rangeId = 0, table_id: id, last_table_id: lastId } = replica;
  if (id === null) return systemRangeName({ rangeId, table: '' }) ?? null;
  const first = replica.table ?? String(id);
  return lastId === null ? first : `${first} to ${replica.last_table ?? lastId}`;
}

/** Time and age of the start of a lease. */
export function startOf(start: unknown): string {
  const hasTime = typeof start === 'object' && start !== null && 'wall_time' in start;
  const startMs = hasTime ? Math.round(Number(start.wall_time) / 1e6) : 0;
  const time = startMs > 0 ? toTimestamp(startMs) : undefined;
  if (time === undefined) return '-';
  return `${time} (${formatAge(Math.max(0, (Date.now() - startMs) / 1000))} ago)`;
}
