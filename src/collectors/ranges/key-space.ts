import { hashOf } from '../../json/index.ts';
import { IS_UNCERTAIN, type RangeTable, walk, type Work } from './range-table.ts';
import type { KeySpaceStatus } from './scan-result.ts';

// The start key of each range is the end key of another, but for the first and the last. A key is known by the hash of its
// bytes in the response. Example: of the ranges [a, b), [b, c) and [c, d) the second is missing. Then b is an end and no
// start, and c a start and no end: these are the open ends, and what lies between them is the gap.

/** The last key, 0xff 0xff, in both forms of bytes. */
const LAST_KEYS = ['"//8="', '[255,255]'];
/** The first range has no start key, or an empty one. */
const EMPTY_KEYS = ['""', '[]'];

/** Keys that are sorted at a time. */
const MAX_SORTED = 65_536;

/** How many more ranges begin at a key than end there, by its hash, where that is not 0; of the first and the last key one is expected. */
export type OpenEnds = ReadonlyMap<number, number>;

/**
 * Finds the keys that are not as often a start as an end, the first and the last key where not exactly one range begins or
 * ends there. They are compared part by part: five million keys at once would stop all other work for a second.
 */
export function* findOpenEnds(table: RangeTable): Work<OpenEnds> {
  const open = new Map<number, number>();
  const parts = Math.ceil(table.size / MAX_SORTED);
  const lastKeys = new Set(LAST_KEYS.map(hashOf));
  const noKeys = new Set([0, ...EMPTY_KEYS.map(hashOf)]);
  const more = { first: -1, last: 1 };
  for (let part = 0; part < parts; part += 1) {
    const keys = { starts: [] as number[], ends: [] as number[] };
    yield* walk(table.capacity, (from, to) => {
      collectKeys(table, { from, to }, { part, parts }, keys);
    });
    compareKeys(
      Uint32Array.from(keys.starts).toSorted(),
      Uint32Array.from(keys.ends).toSorted(),
      (hash, count) => {
        if (noKeys.has(hash)) more.first += count;
        else if (lastKeys.has(hash) && count < 0) more.last += count;
        else open.set(hash, count);
      },
    );
    yield;
  }
  if (more.first !== 0) for (const hash of noKeys) open.set(hash, more.first);
  if (more.last !== 0) for (const hash of lastKeys) open.set(hash, more.last);
  return open;
}

function collectKeys(
  { columns: { found }, keys }: RangeTable,
  { from, to }: { readonly from: number; readonly to: number },
  { part, parts }: { readonly part: number; readonly parts: number },
  collected: { readonly starts: number[]; readonly ends: number[] },
): void {
  for (let slot = from; slot < to; slot += 1) {
    if (found[slot] === 0) continue;
    const [start, end] = [keys[2 * slot] ?? 0, keys[2 * slot + 1] ?? 0];
    // A range whose response has no keys; a million of them would be one part.
    if (start === end) continue;
    if (Math.floor((start / 2 ** 32) * parts) === part) collected.starts.push(start);
    if (Math.floor((end / 2 ** 32) * parts) === part) collected.ends.push(end);
  }
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

/** The slots of at most `max` ranges that begin or end at an open end, or whose replicas disagree about their keys or about whether there is such a range. */
export function* findUncertain(
  table: RangeTable,
  open: OpenEnds,
  max: number,
): Work<readonly number[]> {
  const slots: number[] = [];
  yield* walk(table.capacity, (from, to) => {
    const { columns, keys } = table;
    const { found, marks } = columns;
    for (let slot = from; slot < to && slots.length < max; slot += 1) {
      if (found[slot] === 0) continue;
      const isOpen = open.has(keys[2 * slot] ?? 0) || open.has(keys[2 * slot + 1] ?? 0);
      if (isOpen || ((marks[slot] ?? 0) & IS_UNCERTAIN) !== 0) slots.push(slot);
    }
  });
  return slots;
}

/** The open ends of the key space without the ranges in these slots. */
export function endsWithout(
  { keys }: RangeTable,
  open: OpenEnds,
  slots: ReadonlySet<number>,
): OpenEnds {
  if (slots.size === 0) return open;
  const left = new Map(open);
  const forms = [[0, ...EMPTY_KEYS.map((key) => hashOf(key))], LAST_KEYS.map((key) => hashOf(key))];
  const add = (key: number, more: number): void => {
    const count = (left.get(key) ?? 0) + more;
    for (const form of forms.find((each) => each.includes(key)) ?? [key]) {
      if (count === 0) left.delete(form);
      else left.set(form, count);
    }
  };
  for (const slot of slots) {
    add(keys[2 * slot] ?? 0, -1);
    add(keys[2 * slot + 1] ?? 0, 1);
  }
  return left;
}

/** The hash of a key; one number for all forms of the first key, and of the last one. */
export function nameKeys(): (hash: number) => number {
  const names = new Map([
    ...EMPTY_KEYS.map((key) => [hashOf(key), 0] as const),
    ...LAST_KEYS.map((key) => [hashOf(key), -1] as const),
  ]);
  return (hash) => names.get(hash) ?? hash;
}

/** A gap is confirmed by so many complete scans in a row. */
const CONFIRMING_SCANS = 3;

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
