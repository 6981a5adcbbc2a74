import { fractionOf } from '../random.ts';
import type { Range } from './ranges.ts';
import type { WorldState } from './state.ts';
import type { Table } from './tables.ts';

/** Sizes of a table at a time, in bytes. */
interface TableSize {
  readonly table: Table;
  readonly ranges: number;
  readonly storeIds: readonly number[];
  /** Of one replica, with deleted and overwritten rows. */
  readonly dataBytes: number;
  readonly liveBytes: number;
  /** On disk over all replicas, compressed. */
  readonly replicatedBytes: number;
}

const BYTES_PER_RANGE = 48_000_000;
const MAX_GROWTH_PER_SECOND = 400_000;
const COMPRESSION = 0.4;

/** Every table with its size; tables grow from the start of the world on, each at its own speed. */
export function sizesOf(state: WorldState, atMs: number): readonly TableSize[] {
  const byTable = Map.groupBy(state.ranges.values(), ({ tableId }) => tableId);
  const seconds = Math.max(0, (atMs - state.startMs) / 1000);
  return state.tables.map((table) => sizeOf(table, byTable.get(table.id) ?? [], seconds));
}

function sizeOf(table: Table, ranges: readonly Range[], seconds: number): TableSize {
  const fraction = (topic: string): number => fractionOf(topic, table.id);
  const atStart = (1 + ranges.length * BYTES_PER_RANGE) * (0.6 + 0.6 * fraction('size'));
  const growth = MAX_GROWTH_PER_SECOND * fraction('growth') ** 3;
  const dataBytes = Math.floor(atStart + growth * seconds);
  const replicas = table.zone.replicas ?? 3;
  return {
    table,
    ranges: ranges.length,
    storeIds: [...new Set(ranges.flatMap((range) => range.replicas.map((each) => each.storeId)))],
    dataBytes,
    liveBytes: Math.floor(dataBytes * (0.6 + 0.4 * fraction('live'))),
    replicatedBytes: Math.floor(dataBytes * replicas * COMPRESSION),
  };
}
