// The cost of the table of ranges of a very large cluster, compared with a Map of objects.
// Run: node --expose-gc bench/range-table.bench.ts

import { RangeTable } from '../src/collectors/ranges/range-table.ts';
import { bytesOf } from '../test/collectors/ranges/cluster.ts';
import { report } from './rows.ts';

const RANGES = 2_000_000;
/** Real ids have gaps, because ranges are merged. */
const ID_STEP = 3;
const ROUNDS = 7;
const MAX_BYTES = 40;

interface Measured {
  readonly bytesPerRange: number;
  readonly insertNanos: number;
  readonly updateNanos: number;
}

interface Store {
  /** Adds one to the range's count. */
  readonly update: (id: number, sequence: number) => void;
  /** Bytes outside the heap, if the store knows them. */
  readonly bytes?: () => number;
}

function tableStore(): Store {
  const table = new RangeTable();
  return {
    update(id, sequence) {
      const slot = table.put(id);
      table.sequences[slot] = sequence;
      table.problems[slot] = (table.problems[slot] ?? 0) | 1;
      table.presence[slot] = 1;
    },
    bytes: () => bytesOf(table),
  };
}

function mapStore(): Store {
  const map = new Map<number, { sequence: number; problems: number; presence: number }>();
  return {
    update(id, sequence) {
      const range = map.get(id);
      if (range === undefined) map.set(id, { sequence, problems: 1, presence: 1 });
      else {
        range.sequence = sequence;
        range.problems |= 1;
        range.presence = 1;
      }
    },
  };
}

function measure(create: () => Store): Measured {
  const before = usedBytes();
  const store = create();
  const insertNanos = time(store);
  const bytes = store.bytes?.() ?? usedBytes() - before;
  const updates = Array.from({ length: ROUNDS }, () => time(store));
  return { bytesPerRange: bytes / RANGES, insertNanos, updateNanos: median(updates) };
}

/** Nanoseconds per call, ids ascending as a store lists them. */
function time({ update }: Store): number {
  const startedAt = performance.now();
  for (let at = 1; at <= RANGES; at += 1) update(at * ID_STEP, at);
  return ((performance.now() - startedAt) * 1e6) / RANGES;
}

function usedBytes(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

const table = measure(tableStore);
const map = measure(mapStore);

function describe({ bytesPerRange, insertNanos, updateNanos }: Measured): string {
  return `${bytesPerRange.toFixed(1)} B per range, ${insertNanos.toFixed(0)} ns per insert, ${updateNanos.toFixed(0)} ns per update`;
}

report([
  {
    name: `Memory of ${RANGES.toLocaleString('en')} ranges`,
    target: `≤ ${MAX_BYTES} B per range`,
    result: `**${describe(table)}**`,
    baseline: `a Map of objects: ${describe(map)}`,
    isMet: table.bytesPerRange <= MAX_BYTES,
  },
]);
