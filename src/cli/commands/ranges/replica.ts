import type { RangeRoute } from '../../../cockroach/cluster-api.ts';
import {
  labelsOfPlace,
  leaseKindOf,
  LEASE_KINDS,
  placeOf,
} from '../../../collectors/ranges/range.ts';
import { discoverTables } from '../../../collectors/tables/discovery.ts';
import { formatTableName } from '../../../collectors/tables/table.ts';
import { RequestError } from '../../../http/errors.ts';
import {
  array,
  boolean,
  type Infer,
  integer,
  number,
  object,
  optional,
  raw,
  record,
  string,
} from '../../../json/shape.ts';
import { type ClusterTarget, clusterApiOf } from '../../cluster-target.ts';

/** One element of GET /nodes/{node_id}/ranges/. */
export const rangeElement = object({
  desc: object({ range_id: integer() }),
  span: object({ start_key: string(), end_key: string() }),
  source_node_id: integer(),
  source_store_id: integer(),
  lease_history: array(
    object({
      start: raw(),
      expiration: raw(),
      proposed_ts: raw(),
      epoch: integer(),
      term: integer(),
      sequence: integer(),
      acquisition_type: integer(),
      replica: object({ node_id: integer(), store_id: integer(), replica_id: integer() }),
    }),
  ),
  problems: record(boolean()),
  stats: object({
    queries_per_second: number(),
    writes_per_second: number(),
    requests_per_second: optional(number()),
    reads_per_second: optional(number()),
    write_bytes_per_second: optional(number()),
    read_bytes_per_second: optional(number()),
    cpu_time_per_second: optional(number()),
  }),
  quiescent: boolean(),
  ticking: boolean(),
});

export type RangeElement = Infer<typeof rangeElement>;
export type Replica = ReturnType<typeof toReplica>;

/**
 * A replica as JSON, names as in the API. Of its keys only the table is shown without `showKeys`.
 * Copied: the element is reused for the next one.
 */
export function toReplica(
  range: RangeElement,
  names?: ReadonlyMap<string, string>,
  showKeys?: boolean,
) {
  const { desc, span, stats, lease_history: leases } = range;
  const lease = leases.at(-1);
  const { table_id, index_id } = labelsOfPlace(placeOf(range.span.start_key ?? ''));
  return {
    range_id: desc.range_id,
    node_id: range.source_node_id,
    store_id: range.source_store_id,
    table_id: table_id === '' ? null : Number(table_id),
    table: names?.get(table_id) ?? null,
    index_id: index_id === '' ? null : Number(index_id),
    problems: [...range.problems].flatMap(([name, isSet]) => (isSet ? [name] : [])),
    is_leaseholder: lease !== undefined && lease.replica.store_id === range.source_store_id,
    lease_kind: lease === undefined ? null : (LEASE_KINDS[leaseKindOf(lease)] ?? null),
    quiescent: range.quiescent,
    ticking: range.ticking,
    stats: { ...stats },
    ...(showKeys && { start_key: span.start_key, end_key: span.end_key }),
    lease_history: leases,
  };
}

/** `movr.public.rides` by table id; empty where the server lists no tables, or not for this user. */
export async function readTableNames(target: ClusterTarget): Promise<ReadonlyMap<string, string>> {
  try {
    const tables = await discoverTables(clusterApiOf(target), target.stats);
    return new Map(tables.map((table) => [table.tableId, formatTableName(table)]));
  } catch (error) {
    // Names are an addition: what needs them fails by its own requests, or not at all.
    if (error instanceof RequestError) return new Map();
    throw error;
  }
}

/** As configured for the collector; `auto` is for repeated scans. */
export function routeOf({ config }: ClusterTarget): RangeRoute {
  const route = config.collectors['ranges']?.['route'];
  return route === 'proxy' || route === 'local' ? route : 'gateway';
}

/** Nanoseconds per second as a share of one CPU. */
export function formatCpuTime(nanoseconds: number): string {
  return `${(nanoseconds / 1e7).toFixed(2)}%`;
}
