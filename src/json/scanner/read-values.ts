// Plans, and values that hold no others. A plan lists which values of a document are wanted, and at which place of a record
// each of them is stored, in 8 bytes: a number (also for booleans, flags, times and hashes; NaN for undefined), or two
// integers: for a string its start and its length with two bits of traits, for raw values an index, for arrays and maps the
// first item and their number.
import { hashBytes } from './hash.ts';
import { KeyTable } from './keys.ts';
import {
  Byte,
  deepest,
  fail,
  Failure,
  isBracket,
  NOT_ASCII,
  Outcome,
  skipBrackets,
  skipScalar,
  skipString,
  state,
  stringTraits,
  unexpected,
} from './skip.ts';

/** Whether the bytes between two addresses are UTF-8. */
export declare function isText(start: usize, after: usize): bool;
/** The time in a string; NaN when it is none, Infinity when it stands for none. */
declare function toTime(start: usize, after: usize): f64;
/** Number() of the text between two addresses: for the few numbers that are not computed here. */
declare function toNumber(start: usize, after: usize): f64;
/** The index of what JSON.parse returns; -1 when the bytes are not JSON. */
declare function toRaw(start: usize, after: usize): i32;

/** In the order of ../record-reader.ts. */
export enum Kind {
  NUMBER,
  INTEGER,
  BOOLEAN,
  STRING,
  TIME,
  RAW,
  FLAGS,
  HASHED,
  OBJECT,
  LAST,
  ARRAY,
  SELECTED,
}

/** The wanted values at one position of a document; written by ../record-reader.ts. */
@unmanaged
export class Plan {
  kind: Kind = Kind.NUMBER;
  /** Where the value is in a record, and its size there. */
  slot: usize = 0;
  size: usize = 0;
  /** Records that hold the value when it is null, and when it is of the wrong type. */
  absent: usize = 0;
  wrong: usize = 0;
  /** Keys of objects, flags and maps: a key's value is the address of a plan, or one more than its index. */
  keys: KeyTable = changetype<KeyTable>(0);
  names: i32 = 0;
  /** The plan of the elements of arrays, maps and `last`. */
  inner: Plan = changetype<Plan>(0);
}

export function copySlots(target: usize, source: usize, plan: Plan): void {
  const last = plan.slot + plan.size;
  for (let at = plan.slot; at < last; at += 8) store<u64>(target + at, load<u64>(source + at));
}

export function skipValue(at: usize): usize {
  const byte: i32 = load<u8>(at);
  if (byte == Byte.QUOTE) return skipString(at + 1);
  return isBracket(byte) ? skipShallow(at) : skipScalar(at);
}

export function skipShallow(at: usize): usize {
  const after = skipBrackets(at);
  const isTooDeep = after != 0 && state.depth + deepest > state.maxDepth;
  return isTooDeep ? fail(Failure.TOO_DEEP, at) : after;
}

/** For a value that does not begin as expected: it is null, or of the wrong type. */
export function readNullOrWrong(at: usize, plan: Plan, record: usize): usize {
  if (load<u8>(at) != Byte.N) return setWrong(skipValue(at), plan, record);
  copySlots(record, plan.absent, plan);
  state.outcome = Outcome.NULL;
  return skipScalar(at);
}

export function setWrong(after: usize, plan: Plan, record: usize): usize {
  copySlots(record, plan.wrong, plan);
  state.wrongTypes++;
  state.outcome = Outcome.WRONG_TYPE;
  return after;
}

/** The powers of ten that a double holds exactly. */
const MAX_POWER: i32 = 22;
const POWERS: StaticArray<f64> = [
  1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
  1e18, 1e19, 1e20, 1e21, 1e22,
];

/** A number of this many digits always fits 64 bits. */
const MAX_DIGITS: i32 = 19;

/** Up to here a double holds every integer. */
const MAX_EXACT: u64 = 1 << 53;

function digitAt(at: usize): u32 {
  return <u32>load<u8>(at) - Byte.ZERO;
}

/** Whether the eight bytes of a word are all digits. */
function areDigits(word: u64): bool {
  const upper = word & 0xf0f0f0f0f0f0f0f0;
  const upperOfSum = (word + 0x0606060606060606) & 0xf0f0f0f0f0f0f0f0;
  return (upper | (upperOfSum >> 4)) == 0x3333333333333333;
}

/** The value of eight digits; the first is the lowest byte. */
function eightDigits(word: u64): u64 {
  word -= 0x3030303030303030;
  // Neighbours are joined to numbers below 100, these to numbers below 10,000, and these to one.
  word = word * 10 + (word >> 8);
  const odd = (word & 0x000000ff000000ff) * 0x000f424000000064;
  const even = ((word >> 16) & 0x000000ff000000ff) * 0x0000271000000001;
  return (odd + even) >> 32;
}

/** From a number's first byte to after it; stores the number. */
function readNumber(start: usize, slot: usize): usize {
  const isNegative = load<u8>(start) == Byte.MINUS;
  const first = isNegative ? start + 1 : start;
  let at = first;
  let mantissa: u64 = 0;
  for (let digit = digitAt(at); digit <= 9; digit = digitAt(++at)) mantissa = mantissa * 10 + digit;
  let digits = <i32>(at - first);
  if (digits == 0) return unexpected(at);
  if (digits > 1 && digitAt(first) == 0) return fail(Failure.SYNTAX, first);
  let exponent: i32 = 0;
  if (load<u8>(at) == 0x2e) {
    const decimals = ++at;
    let word = load<u64>(at);
    for (; areDigits(word); word = load<u64>((at += 8))) {
      mantissa = mantissa * 100_000_000 + eightDigits(word);
    }
    for (let digit = digitAt(at); digit <= 9; digit = digitAt(++at)) {
      mantissa = mantissa * 10 + digit;
    }
    if (at == decimals) return unexpected(at);
    exponent = -(<i32>(at - decimals));
    digits -= exponent;
  }
  if ((load<u8>(at) | 0x20) == 0x65) {
    const sign: i32 = load<u8>(++at);
    if (sign == 0x2b || sign == Byte.MINUS) at++;
    const firstOfExponent = at;
    let written: i32 = 0;
    for (let digit = digitAt(at); digit <= 9; digit = digitAt(++at)) {
      if (written < 10_000) written = written * 10 + <i32>digit;
    }
    if (at == firstOfExponent) return unexpected(at);
    exponent += sign == Byte.MINUS ? -written : written;
  }
  if (at >= state.end) return fail(Failure.NEED_MORE, at);
  let value = NaN;
  if (digits <= MAX_DIGITS || digits - leadingZeros(first) <= MAX_DIGITS) {
    value = scale(mantissa, exponent);
    if (isNegative) value = -value;
  }
  store<f64>(slot, isNaN(value) ? toNumber(start, at) : value);
  return at;
}

/** The zeros before the first other digit. */
function leadingZeros(at: usize): i32 {
  let zeros = 0;
  for (; load<u8>(at) == Byte.ZERO || load<u8>(at) == 0x2e; at++)
    if (load<u8>(at) == Byte.ZERO) zeros++;
  return zeros;
}

/** mantissa · 10^exponent, correctly rounded; NaN when that takes more than a few steps. */
function scale(mantissa: u64, exponent: i32): f64 {
  if (exponent == 0 || mantissa == 0) return <f64>mantissa;
  if (exponent < -MAX_POWER || exponent > MAX_POWER) return NaN;
  const power = load<f64>(changetype<usize>(POWERS) + ((<usize>abs(exponent)) << 3));
  // Both are exact, so IEEE arithmetic rounds correctly.
  if (mantissa <= MAX_EXACT) {
    return exponent < 0 ? <f64>mantissa / power : <f64>mantissa * power;
  }
  return exponent < 0 ? divide(mantissa, power) : NaN;
}

/** More than the rounding errors of the correction can amount to, relative to the quotient. */
const MAX_RELATIVE_ERROR: f64 = 3.155e-30;

/**
 * Divides an integer of up to 19 digits by a power of ten; NaN in the very rare case that the rounding is uncertain.
 *
 * Servers write floating-point numbers with up to 17 digits, more than a double holds as an integer. So the dividend is kept
 * as the sum of two doubles, the remainder of their quotient is computed exactly, and the correction that follows from it is
 * added (Dekker's method).
 */
function divide(mantissa: u64, divisor: f64): f64 {
  const dividend = <f64>mantissa;
  const dividendError = <f64>(<i64>(mantissa - <u64>dividend));
  const quotient = dividend / divisor;
  const remainder = dividend - quotient * divisor - productError(quotient, divisor);
  const correction = (remainder + dividendError) / divisor;
  const maxError = quotient * MAX_RELATIVE_ERROR;
  const result = quotient + (correction - maxError);
  return result == quotient + (correction + maxError) ? result : NaN;
}

/** The error of the rounded product: added to it, the product is exact. */
function productError(a: f64, b: f64): f64 {
  const aHigh = upperHalf(a);
  const aLow = a - aHigh;
  const bHigh = upperHalf(b);
  const bLow = b - bHigh;
  return aHigh * bHigh - a * b + aHigh * bLow + aLow * bHigh + aLow * bLow;
}

/** The upper 26 bits of a double, so that products of halves are exact (Veltkamp). */
function upperHalf(value: f64): f64 {
  const shifted = value * 134217729;
  return shifted - (shifted - value);
}

/** Servers send integers of 64 bits. */
const MAX_INTEGER: f64 = 1.8446744073709552e19;

export function readNumeric(at: usize, plan: Plan, record: usize): usize {
  const slot = record + plan.slot;
  const after = readNumber(at, slot);
  if (after == 0) return 0;
  const value = load<f64>(slot);
  const isInteger = trunc(value) == value && abs(value) <= MAX_INTEGER;
  const isRight = isFinite(value) && (plan.kind == Kind.NUMBER || isInteger);
  return isRight ? after : setWrong(after, plan, record);
}

/** A string or a time. */
export function readText(at: usize, plan: Plan, record: usize): usize {
  const after = skipString(at + 1);
  if (after == 0) return 0;
  const slot = record + plan.slot;
  const start = at + 1;
  const last = after - 1;
  const isWrong = (stringTraits & NOT_ASCII) != 0 && !isText(start, last);
  if (isWrong) return setWrong(after, plan, record);
  if (plan.kind == Kind.TIME) {
    const time = toTime(start, last);
    if (isNaN(time)) return setWrong(after, plan, record);
    store<f64>(slot, isFinite(time) ? time : NaN);
  } else {
    store<u32>(slot, <u32>start);
    store<u32>(slot + 4, ((<u32>(last - start)) << 2) | <u32>stringTraits);
  }
  return after;
}

/** A string or an array, as the hash of its bytes. */
export function readHash(at: usize, plan: Plan, record: usize): usize {
  const after = skipValue(at);
  if (after != 0) store<f64>(record + plan.slot, <f64>hashBytes(at, after));
  return after;
}

export function readRaw(at: usize, plan: Plan, record: usize): usize {
  const after = skipValue(at);
  if (after == 0) return 0;
  if (isBracket(load<u8>(at))) {
    // At least the number of values: separators in strings count, too.
    for (let i = at; i < after; i++) {
      const byte: i32 = load<u8>(i);
      if (byte == Byte.COMMA || isBracket(byte)) state.items++;
    }
    if (state.items > state.maxItems) return fail(Failure.TOO_MANY, at);
  }
  if (!isText(at, after)) return setWrong(after, plan, record);
  const index = toRaw(at, after);
  if (index < 0) return fail(Failure.SYNTAX, at);
  store<u64>(record + plan.slot, index);
  state.outcome = load<u8>(at) == Byte.N ? Outcome.NULL : Outcome.VALUE;
  return after;
}
