import { mix, type RangeMap, walk, type Work, MARK } from './range-map.ts';
import type { KeySpaceStatus } from './scan-result.ts';

// The start key of each range is the end key of another, but for the first and the last. A key is known by the hash of its
// bytes in the response. Example: of the ranges [a, b), [b, c) and [c, d) the second is missing. Then b is an end and no
// start, and c a start and no end: these are the open ends, and what lies between them is the gap.

// Hashes, as the shape `hashed` gives them, of the two forms of a key that servers send.
/** The first range has no start key, or an empty one: `""` or `[]`. */
const FIRST_KEY = 0;
const FIRST_FORMS = [0x7958_7d69, 0x84ff_377c] as const;
/** The last key is 0xff 0xff: `"//8="` or `[255,255]`. */
const LAST_KEY = 0x7a81_d8c8;
const LAST_AS_LIST = 0xa797_4997;

/** The hash of a key; one number for all forms of the first key, and of the last one. */
export function nameKey(hash: number): number {
  if (hash === FIRST_FORMS[0] || hash === FIRST_FORMS[1]) return FIRST_KEY;
  return hash === LAST_AS_LIST ? LAST_KEY : hash;
}

/** Keys are compared in parts, by their first bits: of five million ranges some 1,200 starts and as many ends are in one. */
const PART_BITS = 12;
const PARTS = 2 ** PART_BITS;
/** Keys that are collected at a time. */
const MAX_COLLECTED = 2 ** 20;
/** Ranges that are read a second time in one scan. */
export const MAX_READ_AGAIN = 1_000;
/** So that the second sum is another one. */
const SECOND_SEED = 0x9e37_79b9;

/** How many more ranges begin at a key than end there, by its hash, where that is not 0; of the first and the last key one is expected. */
export type OpenEnds = ReadonlyMap<number, number>;

function addTo(open: Map<number, number>, key: number, more: number): void {
  const count = (open.get(key) ?? 0) + more;
  if (count === 0) open.delete(key);
  else open.set(key, count);
}

/**
 * Finds the keys that are not as often a start as an end, the first and the last key where not exactly one range begins or
 * ends there. Most parts have each key as often on both sides, which sums of two hashes show: only the others are sorted, for
 * five million keys at once would stop all other work for a second.
 */
export function* findOpenEnds(map: RangeMap): Work<OpenEnds> {
  const open = new Map([
    [FIRST_KEY, -1],
    [LAST_KEY, 1],
  ]);
  const outermost = new Set(Array.from(open.keys(), partOf));
  const sums = yield* sumKeys(map);
  for (const parts of differingParts(sums, outermost)) {
    const { starts, ends } = yield* collectKeys(map, sums, parts);
    for (const part of parts) {
      compareKeys(keysOf(starts, part), keysOf(ends, part), (key, more) => addTo(open, key, more));
      yield;
    }
  }
  return open;
}

function partOf(hash: number): number {
  return hash >>> (32 - PART_BITS);
}

/** For each part two sums over the starts, less the sums over the ends, and its numbers of starts and ends. */
interface KeySums {
  readonly first: Uint32Array;
  readonly second: Uint32Array;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

function* sumKeys(map: RangeMap): Work<KeySums> {
  const [first, second] = [new Uint32Array(PARTS), new Uint32Array(PARTS)];
  const sums = { first, second, starts: new Uint32Array(PARTS), ends: new Uint32Array(PARTS) };
  yield* walk(map.capacity, (from, to) => {
    addKeys(map, from, to, sums);
  });
  return sums;
}

function addKeys(
  { columns: { found }, keys }: RangeMap,
  from: number,
  to: number,
  { first, second, starts, ends }: KeySums,
): void {
  for (let slot = from; slot < to; slot += 1) {
    if (found[slot] === 0) continue;
    // Not `[start, end] = [...]`: V8 makes such arrays in a loop like this one, 200 bytes for each range.
    const start = keys[2 * slot] ?? 0;
    const end = keys[2 * slot + 1] ?? 0;
    // A range whose response has no keys; a million of them would be one part.
    if (start === end) continue;
    const a = partOf(start);
    const b = partOf(end);
    starts[a] = (starts[a] ?? 0) + 1;
    ends[b] = (ends[b] ?? 0) + 1;
    first[a] = (first[a] ?? 0) + mix(start);
    first[b] = (first[b] ?? 0) - mix(end);
    second[a] = (second[a] ?? 0) + mix(start ^ SECOND_SEED);
    second[b] = (second[b] ?? 0) - mix(end ^ SECOND_SEED);
  }
}

/** The parts to compare, some at a time. */
function* differingParts(
  { first, second, starts, ends }: KeySums,
  outermost: ReadonlySet<number>,
): Generator<readonly number[]> {
  let parts: number[] = [];
  let keys = 0;
  for (let part = 0; part < PARTS; part += 1) {
    if (first[part] === 0 && second[part] === 0 && !outermost.has(part)) continue;
    parts.push(part);
    keys += (starts[part] ?? 0) + (ends[part] ?? 0);
    if (keys < MAX_COLLECTED) continue;
    yield parts;
    parts = [];
    keys = 0;
  }
  if (parts.length > 0) yield parts;
}

/** Keys by part: those of a part follow each other from where it begins. */
interface PartedKeys {
  readonly keys: Uint32Array;
  readonly begins: ReadonlyMap<number, number>;
  /** For each collected part the index behind its last key so far. */
  readonly next: Float64Array;
}

function createPartedKeys(counts: Uint32Array, parts: readonly number[]): PartedKeys {
  const next = new Float64Array(PARTS).fill(-1);
  const begins = new Map<number, number>();
  let length = 0;
  for (const part of parts) {
    begins.set(part, length);
    next[part] = length;
    length += counts[part] ?? 0;
  }
  return { keys: new Uint32Array(length), begins, next };
}

function keysOf({ keys, begins, next }: PartedKeys, part: number): Uint32Array {
  return keys.subarray(begins.get(part), next[part]).toSorted();
}

function* collectKeys(
  map: RangeMap,
  counts: KeySums,
  parts: readonly number[],
): Work<{ readonly starts: PartedKeys; readonly ends: PartedKeys }> {
  const starts = createPartedKeys(counts.starts, parts);
  const ends = createPartedKeys(counts.ends, parts);
  yield* walk(map.capacity, (from, to) => {
    const { columns, keys } = map;
    for (let slot = from; slot < to; slot += 1) {
      if (columns.found[slot] === 0 || keys[2 * slot] === keys[2 * slot + 1]) continue;
      collectKey(starts, keys[2 * slot] ?? 0);
      collectKey(ends, keys[2 * slot + 1] ?? 0);
    }
  });
  return { starts, ends };
}

function collectKey({ keys, next }: PartedKeys, key: number): void {
  const at = next[partOf(key)] ?? -1;
  if (at < 0) return;
  keys[at] = key;
  next[partOf(key)] = at + 1;
}

/** Calls back with each hash that is not as often among the starts as among the ends, and how much more often. */
function compareKeys(
  starts: Uint32Array,
  ends: Uint32Array,
  onDifference: (hash: number, moreStarts: number) => void,
): void {
  let [start, end] = [0, 0];
  while (start < starts.length || end < ends.length) {
    const hash = Math.min(starts[start] ?? Infinity, ends[end] ?? Infinity);
    let moreStarts = 0;
    for (; starts[start] === hash; start += 1) moreStarts += 1;
    for (; ends[end] === hash; end += 1) moreStarts -= 1;
    if (moreStarts !== 0) onDifference(hash, moreStarts);
  }
}

/** The slots of ranges that begin or end at an open end, or whose replicas disagree about their keys or about whether there is such a range. */
export function* findUncertain(map: RangeMap, open: OpenEnds): Work<readonly number[]> {
  const slots: number[] = [];
  const isAnyOpen = open.size > 0;
  yield* walk(map.capacity, (from, to) => {
    const { columns, keys } = map;
    const { found, marks } = columns;
    for (let slot = from; slot < to && slots.length < MAX_READ_AGAIN; slot += 1) {
      if (found[slot] === 0) continue;
      const isOpen =
        isAnyOpen && (open.has(keys[2 * slot] ?? 0) || open.has(keys[2 * slot + 1] ?? 0));
      if (isOpen || ((marks[slot] ?? 0) & MARK.isUncertain) !== 0) slots.push(slot);
    }
  });
  return slots;
}

/** The open ends of the key space without the ranges in these slots. */
export function endsWithout(
  { keys }: RangeMap,
  open: OpenEnds,
  slots: ReadonlySet<number>,
): OpenEnds {
  if (slots.size === 0) return open;
  const left = new Map(open);
  for (const slot of slots) {
    addTo(left, keys[2 * slot] ?? 0, -1);
    addTo(left, keys[2 * slot + 1] ?? 0, 1);
  }
  return left;
}

/** Number of consecutive scans that confirm a gap, and after which an unresolved overlap counts as what it may be. */
export const CONFIRMING_SCANS = 3;

/** The open ends of the last complete scans. */
export class GapHistory {
  #scans: readonly ReadonlySet<number>[] = [];

  /** Takes over the open ends of a complete scan, none of an overlap. A gap is confirmed while an end was open in three scans in a row. */
  add(open: OpenEnds): Pick<KeySpaceStatus, 'isGapConfirmed'> {
    this.#scans = [...this.#scans, new Set(open.keys())].slice(-CONFIRMING_SCANS);
    const common = this.#scans.reduce((before, scan) => before.intersection(scan));
    return {
      isGapConfirmed: this.#scans.length === CONFIRMING_SCANS && common.size > 0,
    };
  }
}
