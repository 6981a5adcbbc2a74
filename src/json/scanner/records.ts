// Values that hold others.
import {
  addKey,
  addPrefix,
  allocate,
  createTable,
  findKey,
  growTo,
  hasPrefix,
  isAt,
  keyEnd,
  keyStart,
  learn,
  readKey,
  reserveHeap,
  valueStart,
} from './keys.ts';
import {
  copySlots,
  isText,
  Kind,
  Plan,
  readHash,
  readNullOrWrong,
  readNumeric,
  readRaw,
  readText,
  setWrong,
  skipShallow,
  skipValue,
} from './read-values.ts';
import {
  Byte,
  Ending,
  fail,
  Failure,
  isBracket,
  isNumberStart,
  lastInner,
  Outcome,
  skipBlanks,
  skipBrackets,
  skipScalar,
  state,
  unexpected,
} from './skip.ts';

export { addKey, addPrefix, allocate, createTable, keyEnd, readKey, skipBlanks, state };

/** Zeros after the window, so that inner loops need not look for its end. */
const SLACK_BYTES: usize = 128;

/** Returns where a window of this many bytes begins; 0 when there is no memory left. */
export function openWindow(length: usize, maxDepth: i32, maxItems: i32): usize {
  const start = reserveHeap();
  state.end = start + length;
  state.maxDepth = maxDepth;
  state.maxItems = maxItems;
  if (!growTo(state.end + SLACK_BYTES)) return 0;
  memory.fill(state.end, 0, SLACK_BYTES);
  return start;
}

/** Reads a value that is not within another one into a record; without a plan only its end is found, whatever its depth. */
export function readWhole(at: usize, plan: Plan, record: usize): usize {
  state.wrongTypes = 0;
  state.depth = 0;
  state.items = 0;
  state.itemsTop = (state.end + SLACK_BYTES - 1) & ~7;
  if (changetype<usize>(plan) != 0) return readValue(at, plan, record);
  return isBracket(load<u8>(at)) ? skipBrackets(at) : skipValue(at);
}

/**
 * Reads at most `max` objects of a compact list, of at most `maxBytes` each, into records that follow each other; returns where it
 * ended. The plan has neither arrays nor maps, whose items the next object would replace.
 */
export function readMany(at: usize, plan: Plan, record: usize, max: i32, maxBytes: usize): usize {
  let wrongTypes = 0;
  let count = 0;
  state.ending = Ending.UNUSUAL;
  while (load<u8>(at) == Byte.OPEN_BRACE) {
    const after = readWhole(at, plan, record);
    if (after == 0 && state.failure == Failure.NEED_MORE) state.ending = Ending.INCOMPLETE;
    if (after == 0 || after - at > maxBytes) break;
    wrongTypes += state.wrongTypes;
    record += plan.size;
    at = after;
    // A comma and the next object.
    if (++count == max || load<u16>(at) != 0x7b2c) {
      state.ending = Ending.AFTER;
      break;
    }
    at++;
  }
  state.count = count;
  state.wrongTypes = wrongTypes;
  return at;
}

/** Reads the value at `at` into a record. */
function readValue(at: usize, plan: Plan, record: usize): usize {
  const byte: i32 = load<u8>(at);
  state.outcome = Outcome.VALUE;
  switch (plan.kind) {
    case Kind.NUMBER:
    case Kind.INTEGER:
      if (isNumberStart(byte)) return readNumeric(at, plan, record);
      break;
    case Kind.BOOLEAN:
      if (byte != Byte.T && byte != 0x66) break;
      store<f64>(record + plan.slot, byte == Byte.T ? 1 : 0);
      return skipScalar(at);
    case Kind.STRING:
    case Kind.TIME:
      if (byte == Byte.QUOTE) return readText(at, plan, record);
      break;
    case Kind.RAW:
      return readRaw(at, plan, record);
    case Kind.FLAGS:
      if (byte == Byte.OPEN_BRACE) return readFlags(at, plan, record);
      break;
    case Kind.HASHED:
      if (byte == Byte.QUOTE || byte == Byte.OPEN_BRACKET) return readHash(at, plan, record);
      break;
    case Kind.OBJECT:
      if (byte == Byte.OPEN_BRACE) return readObject(at, plan, record);
      break;
    case Kind.LAST:
      if (byte == Byte.OPEN_BRACKET) return readLast(at, plan, record);
      break;
    case Kind.ARRAY:
      if (byte == Byte.OPEN_BRACKET) return readArray(at, plan, record);
      break;
    default:
      if (byte == Byte.OPEN_BRACE) return readMap(at, plan, record);
  }
  return readNullOrWrong(at, plan, record);
}

/** Moves over an opening bracket to the first item or to the closing bracket. */
function enter(at: usize): usize {
  state.depth++;
  return state.depth > state.maxDepth ? fail(Failure.TOO_DEEP, at) : skipBlanks(at + 1);
}

/** Moves from the end of an item to the next item or to the bracket `close`. */
function toNextItem(at: usize, close: i32): usize {
  if (at == 0) return 0;
  at = skipBlanks(at);
  const byte: i32 = load<u8>(at);
  if (byte == close) return at;
  if (byte != Byte.COMMA) return unexpected(at);
  at = skipBlanks(at + 1);
  return load<u8>(at) == close ? unexpected(at) : at;
}

/** Moves over the closing bracket. */
function leave(at: usize): usize {
  state.depth--;
  state.outcome = Outcome.VALUE;
  return at == 0 ? 0 : at + 1;
}

function readObject(at: usize, plan: Plan, record: usize): usize {
  copySlots(record, plan.absent, plan);
  // It is present: of interest where it is optional.
  store<f64>(record + plan.slot, 1);
  const keys = plan.keys;
  let key = keys.start;
  at = enter(at);
  while (at != 0 && load<u8>(at) != Byte.CLOSE_BRACE) {
    const guess = key.next;
    if (changetype<usize>(guess) != 0 && isAt(guess, at)) {
      key = guess;
      at = skipBlanks(at + guess.length);
    } else {
      const found = findKey(at, keys);
      if (changetype<usize>(found) == 0) return 0;
      key = learn(keys, key, found);
      at = valueStart;
    }
    at = key.value == 0 ? skipValue(at) : readValue(at, changetype<Plan>(key.value), record);
    // Servers send compact JSON.
    at = load<u16>(at) == 0x222c ? at + 1 : toNextItem(at, Byte.CLOSE_BRACE);
  }
  return leave(at);
}

function readFlags(at: usize, plan: Plan, record: usize): usize {
  let mask: u32 = 0;
  /** The names whose last value is of another type: whether these flags are set is not known. */
  let wrong: u32 = 0;
  const wrongBefore = state.wrongTypes;
  at = enter(at);
  while (at != 0 && load<u8>(at) != Byte.CLOSE_BRACE) {
    const key = findKey(at, plan.keys);
    if (changetype<usize>(key) == 0) return 0;
    const byte: i32 = load<u8>(valueStart);
    const isSet = byte == Byte.T;
    const isWrong = !isSet && byte != 0x66 && byte != Byte.N;
    if (isWrong) state.wrongTypes++;
    if (key.value != 0) {
      const bit: u32 = 1 << (<u32>key.value - 1);
      mask = isSet ? mask | bit : mask & ~bit;
      wrong = isWrong ? wrong | bit : wrong & ~bit;
    } else if (isSet) {
      mask |= 1 << plan.names;
    }
    at = toNextItem(skipValue(valueStart), Byte.CLOSE_BRACE);
  }
  store<f64>(record + plan.slot, <f64>mask);
  at = leave(at);
  if (at == 0 || wrong == 0) return at;
  state.wrongTypes = wrongBefore;
  return setWrong(at, plan, record);
}

/** Reads the last item. Those before the last one in brackets are skipped as bytes. */
function readLast(at: usize, plan: Plan, record: usize): usize {
  copySlots(record, plan.absent, plan);
  if (skipShallow(at) == 0) return 0;
  state.depth++;
  at = lastInner != 0 ? lastInner : skipBlanks(at + 1);
  const wrongBefore = state.wrongTypes;
  let outcome: Outcome = Outcome.VALUE;
  while (at != 0 && load<u8>(at) != Byte.CLOSE_BRACKET) {
    state.wrongTypes = wrongBefore;
    at = readValue(at, plan.inner, record);
    outcome = state.outcome == Outcome.WRONG_TYPE ? Outcome.WRONG_TYPE : Outcome.VALUE;
    store<f64>(record + plan.slot, outcome == Outcome.VALUE ? 1 : 0);
    at = toNextItem(at, Byte.CLOSE_BRACKET);
  }
  at = leave(at);
  state.outcome = outcome;
  return at;
}

/** Bytes before the slots of an item, and of an entry, whose key follows. */
const ITEM_HEAD: usize = 8;
const ENTRY_HEAD: usize = 16;

/** Memory for an item: the address of the next one, its outcome; an entry's key: address and length, or 0 and an index. */
function createItem(head: usize, plan: Plan, at: usize): usize {
  const item = state.itemsTop;
  state.itemsTop += head + plan.inner.size;
  const hasRoom = ++state.items <= state.maxItems && growTo(state.itemsTop);
  return hasRoom ? item : fail(Failure.TOO_MANY, at);
}

function readArray(at: usize, plan: Plan, record: usize): usize {
  const slot = record + plan.slot;
  let last = slot;
  let count: u32 = 0;
  at = enter(at);
  while (at != 0 && load<u8>(at) != Byte.CLOSE_BRACKET) {
    const item = createItem(ITEM_HEAD, plan, at);
    if (item == 0) return 0;
    at = readValue(at, plan.inner, item + ITEM_HEAD);
    if (state.outcome != Outcome.WRONG_TYPE) {
      store<u32>(last, <u32>item);
      last = item;
      count++;
    }
    at = toNextItem(at, Byte.CLOSE_BRACKET);
  }
  store<u32>(slot + 4, count);
  return leave(at);
}

function readMap(at: usize, plan: Plan, record: usize): usize {
  const slot = record + plan.slot;
  let last = slot;
  let count: u32 = 0;
  at = enter(at);
  while (at != 0 && load<u8>(at) != Byte.CLOSE_BRACE) {
    const key = findKey(at, plan.keys);
    if (changetype<usize>(key) == 0) return 0;
    let isWanted = key.value != 0;
    if (!isWanted && hasPrefix(plan.keys)) {
      isWanted = isText(keyStart, keyEnd);
      if (!isWanted) state.wrongTypes++;
    }
    at = valueStart;
    if (isWanted) {
      const entry = createItem(ENTRY_HEAD, plan, at);
      if (entry == 0) return 0;
      store<u32>(entry + 8, key.value == 0 ? <u32>keyStart : 0);
      store<u32>(entry + 12, key.value == 0 ? <u32>(keyEnd - keyStart) : <u32>key.value - 1);
      at = readValue(at, plan.inner, entry + ENTRY_HEAD);
      store<u32>(entry + 4, state.outcome);
      store<u32>(last, <u32>entry);
      last = entry;
      count++;
    } else {
      at = skipValue(at);
    }
    at = toNextItem(at, Byte.CLOSE_BRACE);
  }
  store<u32>(slot + 4, count);
  return leave(at);
}
