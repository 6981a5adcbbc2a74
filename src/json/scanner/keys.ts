// Keys of objects: found by their bytes, without creating strings. Servers write the members of an object in one order, so
// after each key the one that followed it last time is tried first.
import { Byte, ESCAPED, skipBlanks, skipString, stringTraits, unexpected } from './skip.ts';

/** Writes the key between two addresses without its escapes to `target`; returns its length. */
declare function unescapeKey(start: usize, after: usize, target: usize): i32;
/** Memory that grew is another buffer for JavaScript. */
declare function memoryGrew(): void;

let heapTop: usize = (__heap_base + 15) & ~15;
/** Keys are remembered up to this address; what `allocate` requests is always granted. */
let heapLimit: usize = 0;

/** Zeroed memory for plans and keys, which is never freed. */
export function allocate(size: usize): usize {
  const start = heapTop;
  heapTop += (size + 15) & ~15;
  if (!growTo(heapTop)) unreachable();
  memory.fill(start, 0, heapTop - start);
  return start;
}

/** Makes addresses below `top` usable; false when there is no memory left. */
export function growTo(top: usize): bool {
  const missing = <i32>((top + 0xffff) >> 16) - memory.size();
  if (missing <= 0) return true;
  const isDone = memory.grow(missing) >= 0;
  memoryGrew();
  return isDone;
}

/** Returns where the memory for plans and keys ends, with room to remember some more. */
export function reserveHeap(): usize {
  const needed = heapTop + MIN_ROOM;
  if (needed > heapLimit) heapLimit = (needed + MIN_ROOM + 0xffff) & ~0xffff;
  return heapLimit;
}

const MIN_ROOM: usize = 16_384;
/** The maximum number and length of keys without a value that are remembered for an object. */
const MAX_UNKNOWN_KEYS: i32 = 64;
const MAX_LEARNED_LENGTH: i32 = 64;

@unmanaged
export class Key {
  /** The key that followed this one last time. */
  next: Key = changetype<Key>(0);
  /** Another key of the same bucket. */
  sibling: Key = changetype<Key>(0);
  /** The key in compact JSON: with quotes and colon. */
  token: usize = 0;
  length: i32 = 0;
  hash: u32 = 0;
  /** The number that the creator of the table stored; 0 for a key that is not wanted. */
  value: usize = 0;
}

@unmanaged
export class KeyTable {
  /** Precedes the first key. */
  start: Key = changetype<Key>(0);
  /** Represents every key that is not remembered. */
  unknown: Key = changetype<Key>(0);
  buckets: usize = 0;
  bucketMask: u32 = 0;
  unknownKeys: i32 = 0;
  /** Keys that begin with one of these are wanted, too. */
  prefixes: Key = changetype<Key>(0);
}

export function createTable(keys: i32): KeyTable {
  const table = changetype<KeyTable>(allocate(offsetof<KeyTable>()));
  const buckets = 1 << (32 - clz(2 * keys + 15));
  table.buckets = allocate(buckets * 4);
  table.bucketMask = buckets - 1;
  table.start = changetype<Key>(allocate(offsetof<Key>()));
  table.unknown = changetype<Key>(allocate(offsetof<Key>()));
  return table;
}

export function addPrefix(table: KeyTable, start: usize, length: i32): void {
  const key = createKey(start, length);
  key.sibling = table.prefixes;
  table.prefixes = key;
}

export function addKey(table: KeyTable, start: usize, length: i32, value: usize): Key {
  const key = createKey(start, length);
  key.value = value;
  const bucket = table.buckets + ((key.hash & table.bucketMask) << 2);
  key.sibling = changetype<Key>(load<u32>(bucket));
  store<u32>(bucket, <u32>changetype<usize>(key));
  return key;
}

function createKey(start: usize, length: i32): Key {
  const key = changetype<Key>(allocate(offsetof<Key>()));
  // Comparing loads 16 bytes at a time, hashing 8.
  key.token = allocate(length + 32);
  key.length = length + 3;
  store<u8>(key.token, Byte.QUOTE);
  memory.copy(key.token + 1, start, length);
  store<u16>(key.token + 1 + length, 0x3a22);
  key.hash = hashOf(key.token + 1, length);
  return key;
}

function hashOf(start: usize, length: i32): u32 {
  let first = load<u64>(start);
  let last: u64 = 0;
  if (length >= 8) last = load<u64>(start + length - 8);
  else first = length == 0 ? 0 : first & (~(<u64>0) >> (64 - 8 * length));
  const mixed =
    (first * 0x9e3779b97f4a7c15) ^ (last * 0xc2b2ae3d27d4eb4f) ^ (<u64>length * 0x165667b19e3779f9);
  return <u32>(mixed >> 32) ^ <u32>(mixed >> 52);
}

/** 16 ones and 16 zeros: a vector that begins 16 - n bytes after the start selects n bytes. */
const selection = memory.data(32, 16);
memory.fill(selection, 0xff, 16);

/** Whether the key is at `at` in compact JSON. */
export function isAt(key: Key, at: usize): bool {
  const token = key.token;
  const length = key.length;
  const difference = v128.xor(v128.load(at), v128.load(token));
  if (length <= 16) {
    return !v128.any_true(v128.and(difference, v128.load(selection + 16 - <usize>length)));
  }
  if (v128.any_true(difference)) return false;
  for (let i = 16; i + 16 < length; i += 16) {
    if (v128.any_true(v128.xor(v128.load(at + i), v128.load(token + i)))) return false;
  }
  const last = <usize>length - 16;
  return !v128.any_true(v128.xor(v128.load(at + last), v128.load(token + last)));
}

/** The last key read: between its quotes in the document, without escapes, and where its value begins. */
export let keyStart: usize = 0;
export let keyEnd: usize = 0;
export let valueStart: usize = 0;
let plainStart: usize = 0;
let plainLength: i32 = 0;

/** Longer keys with escapes are compared by their first bytes. */
const MAX_PLAIN_BYTES: usize = 4096;
const plain = memory.data(4096 + 32);

/** Moves over the key at `at` and its colon to its value. */
export function readKey(at: usize): usize {
  if (load<u8>(at) != Byte.QUOTE) return unexpected(at);
  const after = skipString(at + 1);
  if (after == 0) return 0;
  const colon = skipBlanks(after);
  if (load<u8>(colon) != 0x3a) return unexpected(colon);
  keyStart = at + 1;
  keyEnd = after - 1;
  valueStart = skipBlanks(colon + 1);
  return valueStart;
}

/** Reads the key at `at`; 0 when it cannot be read. */
export function findKey(at: usize, table: KeyTable): Key {
  if (readKey(at) == 0) return changetype<Key>(0);
  plainStart = keyStart;
  plainLength = <i32>(keyEnd - keyStart);
  if ((stringTraits & ESCAPED) != 0) {
    plainStart = plain;
    plainLength = unescapeKey(keyStart, keyEnd, plain);
  }
  const hash = hashOf(plainStart, plainLength);
  let key = changetype<Key>(load<u32>(table.buckets + ((hash & table.bucketMask) << 2)));
  for (; changetype<usize>(key) != 0; key = key.sibling) {
    if (key.hash == hash && key.length == plainLength + 3 && beginsWith(key)) return key;
  }
  return table.unknown;
}

function beginsWith(key: Key): bool {
  const length = key.length - 3;
  return length <= plainLength && memory.compare(key.token + 1, plainStart, length) == 0;
}

/** Whether a prefix of the table begins the last key found. */
export function hasPrefix(table: KeyTable): bool {
  let key = table.prefixes;
  while (changetype<usize>(key) != 0 && !beginsWith(key)) key = key.sibling;
  return changetype<usize>(key) != 0;
}

/** Remembers that the last key found followed `previous`. */
export function learn(table: KeyTable, previous: Key, found: Key): Key {
  // A key with escapes has other bytes than its name.
  if (plainStart == plain || plainLength > MAX_LEARNED_LENGTH) return found;
  let key = found;
  if (key == table.unknown) {
    const isFull = heapTop + MAX_LEARNED_LENGTH + 128 > heapLimit;
    if (isFull || table.unknownKeys == MAX_UNKNOWN_KEYS) return key;
    table.unknownKeys++;
    key = addKey(table, plainStart, plainLength, 0);
  }
  previous.next = key;
  return key;
}
