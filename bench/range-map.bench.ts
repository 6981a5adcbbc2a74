// Memory of the ranges of a very large cluster: of the map alone, compared with a Map of objects, and of scans.
// Run: node --expose-gc bench/range-map.bench.ts
import { RangeMap } from '#collectors';
import { bytesOf } from '../test/collectors/ranges/cluster.ts';
import { optionsOfImage } from './image-options.ts';
import { startProcess } from './process.ts';
import { report } from './rows.ts';
import type { ServedCluster } from './scale-server.ts';
import type { Scanned } from './scan-process.ts';

const RANGES = 2_000_000;
/** Real ids have gaps, because ranges are merged. */
const ID_STEP = 3;
const ROUNDS = 7;
const MAX_BYTES = 48;
const MAX_BYTES_IN_SCAN = 58;
/** A smaller map is no matter. */
const MIN_RANGES = 10_000;
/** Each range is in a table of its own: 15 nodes are 5 groups of three that hold the same 50,000 ranges. */
const TABLES = { nodes: 15, replicasPerNode: 50_000, tablePerRange: true };
const SCANS = 4;
const MAX_MIB = 286;

interface Measured {
  readonly bytesPerRange: number;
  /** The most at any size, which is right after the store has grown, and that with what a scan needs. */
  readonly most?: { readonly kept: number; readonly inScan: number };
  readonly insertNanos: number;
  readonly updateNanos: number;
}

interface Store {
  /** Adds one to the range's count. */
  readonly update: (id: number, sequence: number) => void;
  /** Bytes outside the heap, if the store knows them. */
  readonly bytes?: () => number;
  readonly most?: { readonly kept: number; readonly inScan: number };
}

/** Does the work without pauses. */
function doNow(work: Iterator<unknown>): void {
  while (work.next().done !== true) continue;
}

function rangeMapStore(): Store {
  const map = new RangeMap();
  doNow(map.beginScan());
  const most = { kept: 0, inScan: 0 };
  return {
    most,
    update(id, sequence) {
      const { capacity } = map;
      doNow(map.reserve(map.size + 1));
      const slot = map.put(id);
      map.columns.sequences[slot] = sequence;
      map.columns.problems[slot] = (map.columns.problems[slot] ?? 0) | 1;
      map.columns.found[slot] = 1;
      map.keys[2 * slot] = sequence;
      if (map.capacity === capacity || map.size < MIN_RANGES) return;
      const inScan = bytesOf(map);
      const kept = inScan - map.keys.byteLength;
      most.inScan = Math.max(most.inScan, inScan / map.size);
      most.kept = Math.max(most.kept, kept / map.size);
    },
    bytes() {
      map.endScan();
      const bytes = bytesOf(map);
      doNow(map.beginScan());
      return bytes;
    },
  };
}

function mapStore(): Store {
  const map = new Map<number, { sequence: number; problems: number; found: number }>();
  return {
    update(id, sequence) {
      const range = map.get(id);
      if (range === undefined) map.set(id, { sequence, problems: 1, found: 1 });
      else {
        range.sequence = sequence;
        range.problems |= 1;
        range.found = 1;
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
  const { most } = store;
  return {
    bytesPerRange: bytes / RANGES,
    ...(most && { most }),
    insertNanos,
    updateNanos: median(updates),
  };
}

/** Nanoseconds per call, ids ascending as a store lists them. */
function time({ update }: Store): number {
  const startedAt = performance.now();
  for (let at = 1; at <= RANGES; at += 1) update(at * ID_STEP, at);
  return ((performance.now() - startedAt) * 1e6) / RANGES;
}

/** The heap only: other memory is freed later than it is collected. */
function usedBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

interface TableScans {
  /** MiB above idle, at the peak of all scans. */
  readonly aboveMib: number;
  readonly ranges: number;
}

async function scanTables(): Promise<TableScans> {
  await using server = await startProcess('scale-server.ts', TABLES);
  const cluster = await server.call<ServedCluster>('cluster');
  await using scanner = await startProcess('scan-process.ts', cluster, optionsOfImage());
  const idleMib = await scanner.call<number>('resident');
  let scanned = await scanner.call<Scanned>('scan');
  for (let scan = 1; scan < SCANS; scan += 1) scanned = await scanner.call<Scanned>('scan');
  const peakMib = await scanner.call<number>('peak');
  return { aboveMib: peakMib - idleMib, ranges: scanned.knownRanges };
}

const rangeMap = measure(rangeMapStore);
const { kept = NaN, inScan = NaN } = rangeMap.most ?? {};
const map = measure(mapStore);
const tables = await scanTables();

function describe({ bytesPerRange, most, insertNanos, updateNanos }: Measured): string {
  const atMost =
    most === undefined
      ? ''
      : `, at any size at most ${most.kept.toFixed(1)} and during a scan ${most.inScan.toFixed(1)}`;
  return `${bytesPerRange.toFixed(1)} B per range${atMost}, ${insertNanos.toFixed(0)} ns per insert, ${updateNanos.toFixed(0)} ns per update`;
}

report([
  {
    name: `Memory of ${RANGES.toLocaleString('en')} ranges`,
    target: `≤ ${MAX_BYTES} B per range, during a scan ≤ ${MAX_BYTES_IN_SCAN} B, at any size`,
    result: `**${describe(rangeMap)}**`,
    baseline: `a Map of objects: ${describe(map)}`,
    isMet: kept <= MAX_BYTES && inScan <= MAX_BYTES_IN_SCAN,
  },
  {
    name: `Peak RSS above idle of ${SCANS} scans of ${tables.ranges.toLocaleString('en')} ranges in as many tables`,
    target: `≤ ${MAX_MIB} MiB (300 MB)`,
    result: `**${tables.aboveMib.toFixed(0)} MiB**`,
    baseline: '–',
    isMet: tables.aboveMib <= MAX_MIB,
  },
]);
