import { ESCAPED, type Scanner, sharedScanner, type Target } from './compiled-scanner.ts';
import type { AnyShape, SelectedKeys, TextParser } from './shape.ts';

/** In the order of scanner/read-values.ts. */
const KINDS: readonly AnyShape['kind'][] = [
  ...(['number', 'integer', 'boolean', 'string', 'time', 'raw', 'flags'] as const),
  ...(['hashed', 'object', 'last', 'array', 'selected'] as const),
];

/** Where the value of a shape is in a record, which consists of slots of 8 bytes (scanner/read-values.ts). */
export interface KeyLayout {
  readonly shape: Exclude<AnyShape, { readonly kind: 'optional' }>;
  /** Whether null is undefined. */
  readonly isOptional: boolean;
  readonly slot: number;
  readonly slots: number;
  /** The fields of an object; what is in an array, a map or `last`, without a name. */
  readonly children: readonly (readonly [name: string, layout: KeyLayout])[];
}

export const SLOT_BYTES = 8;
const PLAN_BYTES = 32;
/** Slots before those of an item of an array, and of an entry of a map. */
const ITEM_HEAD = 1;
const ENTRY_HEAD = 2;
/** The upper half of NaN, which stands for undefined. */
export const NOTHING = 0x7ff80000;

/** Lays out the record of a shape. */
export function layOut(shape: AnyShape, slot = 0, isOptional = false): KeyLayout {
  if (shape.kind === 'optional') return layOut(shape.inner, slot, true);
  const layout = { shape, isOptional, slot, slots: 1, children: [] };
  if (shape.kind === 'object') {
    let { slots } = layout;
    const children = Object.entries(shape.fields).map(([name, field]) => {
      const child = layOut(field, slot + slots);
      slots += child.slots;
      return [name, child] as const;
    });
    return { ...layout, slots, children };
  }
  if (!('inner' in shape)) return layout;
  // Items and entries have records of their own.
  const inner = layOut(shape.inner, shape.kind === 'last' ? slot + 1 : 0);
  const children = [['', inner]] as const;
  return { ...layout, slots: shape.kind === 'last' ? 1 + inner.slots : 1, children };
}

/** The keys that have a meaning where a shape has names or a filter. */
function filterOf(shape: AnyShape): SelectedKeys {
  if (shape.kind === 'selected') return shape.filter;
  return { keys: shape.kind === 'flags' ? shape.names : [], prefixes: [] };
}

/** Stores the plan of a layout, and what its record holds when the value is absent or wrong; returns the plan's address. */
function storePlan(scanner: Scanner, layout: KeyLayout, absent: number, wrong: number): number {
  const { shape, slot, slots, children } = layout;
  const { kind } = shape;
  const { keys: names, prefixes } = filterOf(shape);
  writeSlot(scanner, layout, absent, layout.isOptional);
  writeSlot(scanner, layout, wrong, true);
  const plans = children.map(([name, child]) => {
    const isWithin = kind === 'object' || kind === 'last';
    const record = (): number => scanner.allocate(child.slots * SLOT_BYTES);
    const [a, b] = isWithin ? [absent, wrong] : [record(), record()];
    return [name, storePlan(scanner, child, a, b)] as const;
  });
  const indexes = names.map((name, index) => [name, index + 1] as const);
  const keys = storeKeys(scanner, kind === 'object' ? plans : indexes, prefixes);
  const plan = scanner.allocate(PLAN_BYTES);
  const where = [slot * SLOT_BYTES, slots * SLOT_BYTES, absent, wrong];
  const inner = plans[0]?.[1] ?? 0;
  scanner.words.set([KINDS.indexOf(kind), ...where, keys, indexes.length, inner], plan / 4);
  return plan;
}

/** Writes a slot of a record for a value that is absent, or nothing: optional or of the wrong type. */
function writeSlot(scanner: Scanner, layout: KeyLayout, record: number, isNothing: boolean): void {
  const { isOptional, slot } = layout;
  const { kind } = layout.shape;
  const isList = kind === 'array' || kind === 'selected';
  const isUndefined = isList ? isOptional : isNothing || kind === 'time' || kind === 'raw';
  scanner.numbers[record / SLOT_BYTES + slot] = isUndefined ? NaN : 0;
}

function storeKeys(
  scanner: Scanner,
  keys: readonly (readonly [name: string, value: number])[],
  prefixes: readonly string[],
): number {
  const { createTable, addKey, addPrefix } = scanner.exports;
  const table = createTable(keys.length);
  const store = (name: string): readonly [start: number, length: number] => {
    const bytes = Buffer.from(name);
    const start = scanner.allocate(bytes.length);
    scanner.bytes.set(bytes, start);
    return [start, bytes.length];
  };
  for (const [name, value] of keys) addKey(table, ...store(name), value);
  for (const prefix of prefixes) addPrefix(table, ...store(prefix));
  return table;
}

/** Readers by shape, for all documents: code is only fast while the objects that it meets have few different types. */
const readers = new Map<string, RecordReader>();

const parsers: unknown[] = [];

function numberOf(parser: unknown): number {
  const known = parsers.indexOf(parser);
  return known < 0 ? parsers.push(parser) - 1 : known;
}

/** The reader of a shape. With `isCopied`, objects are copies, which the next value does not change; else views of the record. */
export function readerOf(shape: AnyShape, isCopied: boolean): RecordReader {
  const key = JSON.stringify([shape, isCopied], (_, value: unknown) =>
    typeof value === 'function' ? numberOf(value) : value,
  );
  let reader = readers.get(key);
  if (reader === undefined) {
    reader = new RecordReader(shape, isCopied);
    readers.set(key, reader);
  }
  return reader;
}

/** Reads the values of a shape in the record that the scanner wrote last. Arrays and maps are copies. */
export class RecordReader implements Target {
  readonly plan: number;
  readonly record: number;
  /** The size of a record, in slots. */
  readonly slots: number;
  /** Returns the value. */
  readonly read: () => unknown;

  constructor(shape: AnyShape, isCopied: boolean) {
    const scanner = sharedScanner();
    const layout = layOut(shape);
    const allocate = (): number => scanner.allocate(layout.slots * SLOT_BYTES);
    this.plan = storePlan(scanner, layout, allocate(), allocate());
    this.record = allocate();
    this.slots = layout.slots;
    this.read = createGetter(scanner, layout, { slot: this.record / SLOT_BYTES }, isCopied);
  }
}

type CreateReader = (
  scanner: Scanner,
  layout: KeyLayout,
  record: { slot: number },
  isCopied: boolean,
) => () => unknown;

const createGetter: CreateReader = (scanner, layout, record, isCopied) => {
  const { shape, slot, isOptional } = layout;
  const first = (): number => scanner.words[(record.slot + slot) * 2] ?? 0;
  const second = (): number => scanner.words[(record.slot + slot) * 2 + 1] ?? 0;
  const whenPresent = (read: () => unknown) => () =>
    scanner.numbers[record.slot + slot] === 1 ? read() : undefined;
  switch (shape.kind) {
    case 'boolean':
      return () => {
        const value = scanner.numbers[record.slot + slot];
        return value === 1 ? true : value === 0 ? false : undefined;
      };
    case 'string': {
      const { parse, maxLength = Infinity } = shape;
      const read = (start: number, traits: number): unknown => {
        if (parse !== undefined) return parseText(scanner, start, traits, parse);
        const end = start + (traits >>> 2);
        return end - start > maxLength
          ? scanner.startOfText(start, end, traits & 3, maxLength)
          : scanner.text(start, end, traits & 3);
      };
      return () => {
        const traits = second();
        return traits === NOTHING ? undefined : read(first(), traits);
      };
    }
    case 'raw':
      return () => {
        const value = second() === NOTHING ? undefined : scanner.raws[first()];
        return isOptional ? (value ?? undefined) : value;
      };
    case 'object': {
      const read = createViewReader(scanner, layout, record, isCopied);
      return isOptional ? whenPresent(read) : read;
    }
    case 'last':
      return whenPresent(createGetter(scanner, innerOf(layout), record, isCopied));
    case 'array':
    case 'selected': {
      const read = (shape.kind === 'array' ? createArrayReader : createMapReader)(scanner, layout);
      return () => (second() === NOTHING ? undefined : read(first(), second()));
    }
    default:
      return () => {
        const value = scanner.numbers[record.slot + slot];
        return value === value ? value : undefined;
      };
  }
};

/** Parses the text of a slot: its bytes in the document, or its characters in UTF-8 where they are escaped there (`\u0041`). */
export function parseText<Value>(
  scanner: Scanner,
  start: number,
  traits: number,
  parse: TextParser<Value>,
): Value {
  const end = start + (traits >>> 2);
  if ((traits & ESCAPED) === 0) return parse(scanner.bytes, start, end);
  const bytes = Buffer.from(scanner.text(start, end, traits & 3));
  return parse(bytes, 0, bytes.length);
}

/** Reads an object whose properties read the record, or a copy of it. */
const createViewReader: CreateReader = (scanner, layout, record, isCopied) => {
  const view = {};
  for (const [name, child] of layout.children) {
    const get = createGetter(scanner, child, record, isCopied);
    Object.defineProperty(view, name, { enumerable: true, get });
  }
  return isCopied ? () => ({ ...view }) : () => view;
};

function innerOf({ children: [inner] }: KeyLayout): KeyLayout {
  if (inner === undefined) throw new TypeError('a shape without an inner one');
  return inner[1];
}

/** Reads a number of items. Each begins with the address of the next one. */
function createArrayReader(scanner: Scanner, layout: KeyLayout) {
  const record = { slot: 0 };
  const read = createGetter(scanner, innerOf(layout), record, true);
  return (address: number, count: number): unknown => {
    const items: unknown[] = [];
    for (let at = address; items.length < count; at = scanner.words[at / 4] ?? 0) {
      record.slot = at / SLOT_BYTES + ITEM_HEAD;
      items.push(read());
    }
    return items;
  };
}

/** After the address: 0 if the value counts; the key's address and length, or 0 and the index of its name. */
function createMapReader(scanner: Scanner, layout: KeyLayout) {
  const record = { slot: 0 };
  const read = createGetter(scanner, innerOf(layout), record, true);
  const names = filterOf(layout.shape).keys;
  const { isOptional } = innerOf(layout);
  return (address: number, count: number): unknown => {
    const entries = new Map<string, unknown>();
    let at = address;
    for (let left = count; left > 0; left--) {
      const [next = 0, outcome, start = 0, length = 0] = scanner.words.subarray(at / 4, at / 4 + 4);
      const name = names[length] ?? '';
      const key = start === 0 ? name : scanner.keyText(start, start + length);
      record.slot = at / SLOT_BYTES + ENTRY_HEAD;
      // When a key occurs twice, the last value counts, even when it is null or of the wrong type.
      entries.delete(key);
      if (outcome === 0) entries.set(key, read());
      else if (isOptional) entries.set(key, undefined);
      at = next;
    }
    return entries;
  };
}
