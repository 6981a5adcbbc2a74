import type { Column } from '../listing.ts';
import { writeBytes, writeNumber } from '../human.ts';
import type { Replica } from './replica.ts';

/** What a person sees of a replica. */
export const COLUMNS: readonly Column<Replica>[] = [
  { title: 'RANGE', value: (replica) => replica.range_id, write: String },
  { title: 'NODE', value: (replica) => replica.node_id, write: String },
  { title: 'STORE', value: (replica) => replica.store_id, write: String },
  { title: 'TABLE', value: (replica) => replica.table_id ?? undefined, write: String },
  { title: 'LEASE', value: (replica) => (replica.is_leaseholder ? replica.lease_kind : '') ?? '' },
  {
    title: 'QPS',
    value: (replica) => replica.stats.queries_per_second,
    write: writeNumber,
    order: 'descending',
  },
  {
    title: 'WRITES/S',
    value: (replica) => replica.stats.writes_per_second,
    write: writeNumber,
    order: 'descending',
  },
  {
    title: 'READ/S',
    value: (replica) => replica.stats.read_bytes_per_second,
    write: writeBytes,
    order: 'descending',
  },
  {
    title: 'WRITTEN/S',
    value: (replica) => replica.stats.write_bytes_per_second,
    write: writeBytes,
    order: 'descending',
  },
  {
    title: 'CPU',
    // Nanoseconds per second, as a share of one CPU.
    value: (replica) => toShare(replica.stats.cpu_time_per_second),
    write: (share) => `${(share * 100).toFixed(2)}%`,
    order: 'descending',
  },
  {
    title: 'PROBLEMS',
    value: (replica) => replica.problems.join(','),
    style: (problems) => (problems === '' ? undefined : 'red'),
    shrinks: true,
  },
];

/** Keys stand last: they are long. */
export const KEY_COLUMNS: readonly Column<Replica>[] = [
  { title: 'START KEY', value: (replica) => replica.start_key, shrinks: true },
  { title: 'END KEY', value: (replica) => replica.end_key, shrinks: true },
];

function toShare(nanoseconds: number | undefined): number | undefined {
  return nanoseconds === undefined ? undefined : nanoseconds / 1e9;
}
