const [DASH, COLON, DOT, LETTER_T, LETTER_Z] = Buffer.from('-:.TZ');

/** `2006-01-02T15:04:05` */
const SECONDS_BYTES = 19;
const MAX_DECIMALS = 9;

/**
 * Reads a time as servers write it, `2026-01-31T12:00:00.123456Z`, as milliseconds since the epoch; undefined for any other
 * form. `Date.parse` of a text reads 5,000 sessions in twice the time.
 */
export function parseUtcTime(bytes: Uint8Array, start: number, end: number): number | undefined {
  const isUtc =
    bytes[start + 4] === DASH &&
    bytes[start + 7] === DASH &&
    bytes[start + 10] === LETTER_T &&
    bytes[start + 13] === COLON &&
    bytes[start + 16] === COLON &&
    bytes[end - 1] === LETTER_Z;
  const year = digits(bytes, start, 4);
  const month = digits(bytes, start + 5, 2);
  const day = digits(bytes, start + 8, 2);
  const hour = digits(bytes, start + 11, 2);
  const minute = digits(bytes, start + 14, 2);
  const second = digits(bytes, start + 17, 2);
  // Date.UTC takes a year below 100 for one of the last century. Comparisons with NaN are false.
  const isDate = year >= 100 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
  const isTime = hour <= 23 && minute <= 59 && second <= 59;
  const milliseconds = parseMilliseconds(bytes, start + SECONDS_BYTES, end - 1);
  if (!isUtc || !isDate || !isTime || Number.isNaN(milliseconds)) return undefined;
  return Date.UTC(year, month - 1, day, hour, minute, second) + milliseconds;
}

/** Whole milliseconds of `.123456`, 0 of nothing; NaN for anything else. */
function parseMilliseconds(bytes: Uint8Array, start: number, end: number): number {
  if (start === end) return 0;
  const decimals = end - start - 1;
  if (bytes[start] !== DOT || decimals < 1 || decimals > MAX_DECIMALS) return NaN;
  return Math.floor((digits(bytes, start + 1, decimals) * 1000) / 10 ** decimals);
}

/** This many digits as a number; NaN when there is something else. */
function digits(bytes: Uint8Array, start: number, count: number): number {
  let number = 0;
  for (let position = start; position < start + count; position += 1) {
    const digit = (bytes[position] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return NaN;
    number = number * 10 + digit;
  }
  return number;
}
