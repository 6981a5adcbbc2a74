const [DOT, DASH, PLUS, COLON, LETTER_T, LETTER_Z] = Buffer.from('.-+:TZ');

/** `2006-01-02T15:04:05` and `+02:00`. */
const DATE_TIME_BYTES = 19;
const OFFSET_BYTES = 6;
const MAX_DECIMALS = 9;

/** Reads RFC 3339 text between two positions as milliseconds since the epoch; NaN when it is no time. */
export function parseTime(bytes: Uint8Array, start: number, end: number): number {
  const dateTime = parseDateTime(bytes, start);
  let at = start + DATE_TIME_BYTES;
  let fraction = 0;
  if (bytes[at] === DOT) {
    const first = ++at;
    for (; digitAt(bytes, at) <= 9 && at < end; at++) fraction = fraction * 10 + digitAt(bytes, at);
    const decimals = at - first;
    if (decimals === 0 || decimals > MAX_DECIMALS) return NaN;
    fraction = (fraction * 1000) / 10 ** decimals;
  }
  return dateTime + fraction - parseOffset(bytes, at, end);
}

function parseDateTime(bytes: Uint8Array, at: number): number {
  const hasSeparators =
    bytes[at + 4] === DASH &&
    bytes[at + 7] === DASH &&
    bytes[at + 10] === LETTER_T &&
    bytes[at + 13] === COLON &&
    bytes[at + 16] === COLON;
  if (!hasSeparators) return NaN;
  const year = twoDigits(bytes, at) * 100 + twoDigits(bytes, at + 2);
  const month = twoDigits(bytes, at + 5);
  const day = twoDigits(bytes, at + 8);
  const hour = twoDigits(bytes, at + 11);
  const minute = twoDigits(bytes, at + 14);
  const second = twoDigits(bytes, at + 17);
  const isInRange = month >= 1 && month <= 12 && hour <= 23 && minute <= 59 && second <= 59;
  // Not in the constructor, which misreads years below 100. A day that the month lacks becomes another one.
  const date = new Date(0);
  const dayMs = date.setUTCFullYear(year, month - 1, day);
  if (!isInRange || date.getUTCDate() !== day) return NaN;
  return dayMs + ((hour * 60 + minute) * 60 + second) * 1000;
}

/** Milliseconds east of UTC: `Z`, `+02:00` or `-05:30`; NaN for anything else. */
function parseOffset(bytes: Uint8Array, at: number, end: number): number {
  if (bytes[at] === LETTER_Z && at + 1 === end) return 0;
  const sign = bytes[at] === PLUS ? 1 : bytes[at] === DASH ? -1 : NaN;
  if (at + OFFSET_BYTES !== end || bytes[at + 3] !== COLON) return NaN;
  const hours = twoDigits(bytes, at + 1);
  const minutes = twoDigits(bytes, at + 4);
  return hours <= 23 && minutes <= 59 ? sign * (hours * 60 + minutes) * 60_000 : NaN;
}

/** Two digits as a number, NaN when they are not digits. */
function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = digitAt(bytes, at);
  const ones = digitAt(bytes, at + 1);
  return tens <= 9 && ones <= 9 ? tens * 10 + ones : NaN;
}

/** 0 to 9, or more when the byte is no digit. */
function digitAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) - 0x30) >>> 0;
}
