// Strings, and finding the end of a value without reading its content.
//
// Every function that moves over JSON takes an address and returns the address after what it read, or 0 when it could
// not: then `state.failure` is the reason. Zero bytes follow the window, and zero ends every token, so inner loops need not
// compare each address with `state.end`.

/** Why a value could not be read. In the order of ../compiled-scanner.ts. */
export enum Failure {
  NEED_MORE,
  SYNTAX,
  TOO_DEEP,
  TOO_MANY,
}

/** The kind of the last value, for arrays, maps and `last`. */
export enum Outcome {
  VALUE,
  NULL,
  WRONG_TYPE,
}

/** Where `readMany` ended. In the order of ../compiled-scanner.ts. */
export enum Ending {
  /** After an object. */
  AFTER,
  /** At an object that is not all there. */
  INCOMPLETE,
  /** At a value that is no object, not valid or over a limit. */
  UNUSUAL,
}

/** Input and results of a call; ../compiled-scanner.ts reads the first fields. */
@unmanaged
class State {
  failure: Failure = Failure.NEED_MORE;
  failedAt: usize = 0;
  /** Values of the wrong type. */
  wrongTypes: i32 = 0;
  /** Objects that `readMany` has read, and why it read no more. */
  count: i32 = 0;
  ending: Ending = Ending.AFTER;
  outcome: Outcome = Outcome.VALUE;
  /** The end of the available bytes. */
  end: usize = 0;
  /** Open brackets around the value. */
  depth: i32 = 0;
  maxDepth: i32 = 0;
  /** Items of arrays and entries of maps, and where the next one is stored. */
  items: i32 = 0;
  maxItems: i32 = 0;
  itemsTop: usize = 0;
}

export const state = changetype<State>(memory.data(48, 8));

export function fail(failure: Failure, at: usize): usize {
  state.failure = failure;
  state.failedAt = at;
  return 0;
}

/** For a byte that is not allowed: the end of the available bytes, or an error. */
export function unexpected(at: usize): usize {
  return fail(at >= state.end ? Failure.NEED_MORE : Failure.SYNTAX, at);
}

/** Bytes with a meaning in JSON. */
export enum Byte {
  QUOTE = 0x22,
  COMMA = 0x2c,
  MINUS = 0x2d,
  ZERO = 0x30,
  OPEN_BRACKET = 0x5b,
  BACKSLASH = 0x5c,
  CLOSE_BRACKET = 0x5d,
  N = 0x6e,
  T = 0x74,
  OPEN_BRACE = 0x7b,
  CLOSE_BRACE = 0x7d,
}

/** Vectors of 16 bytes. In memory, because the engine would build a constant again in each round of a loop. */
const vectors = memory.data(6 * 16, 16);
const QUOTES: usize = 0;
const BACKSLASHES: usize = 16;
const BRACKET_BITS: usize = 32;
const BRACKETS: usize = 48;
const LOWER_HALF: usize = 64;
const UPPER_HALF: usize = 80;

memory.fill(vectors + QUOTES, <u8>Byte.QUOTE, 16);
memory.fill(vectors + BACKSLASHES, <u8>Byte.BACKSLASH, 16);
// All four brackets are 0x7f except for these bits; so are Y, y, _ and DEL, which occur in strings only.
memory.fill(vectors + BRACKET_BITS, 0x26, 16);
memory.fill(vectors + BRACKETS, 0x7f, 16);

/** The bytes that occur outside of strings: one bit for each upper half of a byte, and by lower half the bits it goes with. */
const OUTSIDE_STRING = '0123456789+-.eEtrufalsn,:{}[]" \t\n\r';
for (let i = 0; i < OUTSIDE_STRING.length; i++) {
  const byte = OUTSIDE_STRING.charCodeAt(i);
  const bit: i32 = 1 << (byte >> 4);
  const lower = vectors + LOWER_HALF + (byte & 15);
  store<u8>(vectors + UPPER_HALF + (byte >> 4), <u8>bit);
  store<u8>(lower, load<u8>(lower) | <u8>bit);
}

/** Zero for each byte that does not occur outside of strings. */
function classify(bytes: v128, lower: v128, upper: v128): v128 {
  return v128.and(
    i8x16.swizzle(lower, v128.and(bytes, i8x16.splat(15))),
    i8x16.swizzle(upper, i8x16.shr_u(bytes, 4)),
  );
}

export function isBracket(byte: i32): bool {
  return (byte | 0x20) == Byte.OPEN_BRACE;
}

export function isNumberStart(byte: i32): bool {
  return <u32>(byte - Byte.ZERO) <= 9 || byte == Byte.MINUS;
}

export function skipBlanks(at: usize): usize {
  let byte: i32 = load<u8>(at);
  while (byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09) byte = load<u8>(++at);
  return at;
}

/** Traits of the last string. */
export const ESCAPED: i32 = 1;
export const NOT_ASCII: i32 = 2;
export let stringTraits: i32 = 0;

/** From the first byte of a string to after its last quote; checks control characters and escapes. */
export function skipString(start: usize): usize {
  const quote = v128.load(vectors, QUOTES);
  const backslash = v128.load(vectors, BACKSLASHES);
  let at = start;
  stringTraits = 0;
  while (at < state.end) {
    const bytes = v128.load(at);
    const isSpecial = v128.or(
      v128.or(i8x16.eq(bytes, quote), i8x16.eq(bytes, backslash)),
      i8x16.lt_u(bytes, i8x16.splat(0x20)),
    );
    const special = i8x16.bitmask(isSpecial);
    const before = special == 0 ? -1 : (special & -special) - 1;
    if ((i8x16.bitmask(bytes) & before) != 0) stringTraits |= NOT_ASCII;
    if (special == 0) {
      at += 16;
      continue;
    }
    at += ctz(special);
    const byte: i32 = load<u8>(at);
    if (byte == Byte.QUOTE) return at >= state.end ? fail(Failure.NEED_MORE, at) : at + 1;
    if (byte != Byte.BACKSLASH) return unexpected(at);
    stringTraits |= ESCAPED;
    at = skipEscape(at + 1);
    if (at == 0) return state.failure == Failure.SYNTAX ? fail(Failure.SYNTAX, start - 1) : 0;
  }
  return fail(Failure.NEED_MORE, at);
}

/** From the byte after a backslash to after the escape. */
function skipEscape(at: usize): usize {
  const byte: i32 = load<u8>(at++);
  if (byte == 0x75) {
    const last = at + 4;
    for (; at < last; at++) {
      const digit: i32 = load<u8>(at);
      if (<u32>(digit - Byte.ZERO) > 9 && <u32>((digit | 0x20) - 0x61) > 5) return unexpected(at);
    }
    return at;
  }
  const isSimple =
    byte == Byte.QUOTE || byte == Byte.BACKSLASH || byte == 0x2f || byte == 0x62 || byte == 0x66;
  return isSimple || byte == Byte.N || byte == 0x72 || byte == Byte.T ? at : unexpected(at - 1);
}

/** A number (its characters, not their order), true, false or null. */
export function skipScalar(at: usize): usize {
  if (isNumberStart(load<u8>(at))) return skipNumber(at);
  const word = load<u32>(at);
  const byte = <i32>(word & 0xff);
  // `true` and `null`, or `false`.
  if (word == 0x65757274 || word == 0x6c6c756e)
    return at + 4 > state.end ? fail(Failure.NEED_MORE, state.end) : at + 4;
  let text: u64 = byte == Byte.T ? 0x65757274 : byte == Byte.N ? 0x6c6c756e : 0x65736c6166;
  for (; text != 0 && load<u8>(at) == <u8>text; text >>= 8) at++;
  return text == 0 && at <= state.end ? at : unexpected(at);
}

function skipNumber(at: usize): usize {
  for (; at < state.end; at += 16) {
    const bytes = v128.load(at);
    // `+` to `9` without a comma, or `e`.
    const isDigit = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x2b)), i8x16.splat(15));
    const isLetter = i8x16.eq(v128.or(bytes, i8x16.splat(0x20)), i8x16.splat(0x65));
    const isComma = i8x16.eq(bytes, i8x16.splat(<i8>Byte.COMMA));
    const ends = ~i8x16.bitmask(v128.andnot(v128.or(isDigit, isLetter), isComma)) & 0xffff;
    if (ends == 0) continue;
    at += ctz(ends);
    break;
  }
  return at >= state.end ? fail(Failure.NEED_MORE, at) : at;
}

/** A bit for each of 64 bytes. */
function positions(a: v128, b: v128, c: v128, d: v128, wanted: v128): u64 {
  return (
    <u64>i8x16.bitmask(i8x16.eq(a, wanted)) |
    ((<u64>i8x16.bitmask(i8x16.eq(b, wanted))) << 16) |
    ((<u64>i8x16.bitmask(i8x16.eq(c, wanted))) << 32) |
    ((<u64>i8x16.bitmask(i8x16.eq(d, wanted))) << 48)
  );
}

/** The results of `skipBrackets`: the deepest nesting, and the last bracket that opened directly within the outermost. */
export let deepest: i32 = 0;
export let lastInner: usize = 0;

/** The types of brackets are compared down to this depth. */
const MAX_TYPED: i32 = 64;
const ODD_BITS: u64 = 0xaaaaaaaaaaaaaaaa;

/**
 * From an opening bracket to after the one that closes it, 64 bytes at a time. Checked: brackets match in number and type,
 * strings end, and every byte outside of strings occurs in JSON. Not checked: the content of strings and the order of values.
 */
export function skipBrackets(at: usize): usize {
  let depth: i32 = 0;
  deepest = 0;
  lastInner = 0;
  /** A bit for each open bracket, the innermost lowest: whether it is a brace. */
  let types: u64 = 0;
  /** All ones within a string; 1 if the next byte is escaped. */
  let inString: u64 = 0;
  let isEscaped: u64 = 0;
  const quote = v128.load(vectors, QUOTES);
  const backslash = v128.load(vectors, BACKSLASHES);
  const bits = v128.load(vectors, BRACKET_BITS);
  const bracket = v128.load(vectors, BRACKETS);
  const lower = v128.load(vectors, LOWER_HALF);
  const upper = v128.load(vectors, UPPER_HALF);
  const zero = i8x16.splat(0);
  for (; at < state.end; at += 64) {
    let a = v128.load(at);
    let b = v128.load(at, 16);
    let c = v128.load(at, 32);
    let d = v128.load(at, 48);
    let quotes = positions(a, b, c, d, quote);
    const backslashes = positions(a, b, c, d, backslash);
    if ((backslashes | isEscaped) != 0) {
      // In a series of backslashes every second one is escaped, and so is what follows an odd series (as in simdjson).
      const first = backslashes & ~isEscaped;
      const codes = (((first << 1) | ODD_BITS) - first) ^ ODD_BITS;
      quotes &= ~(codes ^ (backslashes | isEscaped));
      isEscaped = (codes & backslashes) >> 63;
    }
    // Each bit becomes the parity of the quotes up to it.
    let strings = quotes;
    strings ^= strings << 1;
    strings ^= strings << 2;
    strings ^= strings << 4;
    strings ^= strings << 8;
    strings ^= strings << 16;
    strings ^= strings << 32;
    strings ^= inString;
    inString = <u64>(<i64>strings >> 63);
    const invalid =
      ~strings &
      positions(
        classify(a, lower, upper),
        classify(b, lower, upper),
        classify(c, lower, upper),
        classify(d, lower, upper),
        zero,
      );
    a = v128.or(a, bits);
    b = v128.or(b, bits);
    c = v128.or(c, bits);
    d = v128.or(d, bits);
    let brackets = positions(a, b, c, d, bracket) & ~strings;
    if (invalid != 0) brackets &= (invalid & -invalid) - 1;
    for (; brackets != 0; brackets &= brackets - 1) {
      const found = at + <usize>ctz(brackets);
      const byte: i32 = load<u8>(found);
      const isBrace: u64 = (byte >> 5) & 1;
      // In ASCII, of these two bits an opening bracket has one and a closing bracket the other.
      if ((byte & 6) == 2) {
        if (depth == 1) lastInner = found;
        depth++;
        if (depth > deepest) deepest = depth;
        if (depth <= MAX_TYPED) types = (types << 1) | isBrace;
      } else {
        if (depth <= MAX_TYPED) {
          if ((types & 1) != isBrace) return fail(Failure.SYNTAX, found);
          types >>= 1;
        }
        if (--depth == 0) return found + 1;
      }
    }
    if (invalid != 0) return unexpected(at + <usize>ctz(invalid));
  }
  return fail(Failure.NEED_MORE, state.end);
}
