/** The powers of ten that a double holds exactly. */
export const POWERS: readonly number[] = Array.from({ length: 23 }, (_, exponent) =>
  Number(`1e${exponent}`),
);

/** So many digits of the tail and decimals are handled here. */
export const MOST_TAIL_DIGITS = 7;
export const MOST_DECIMALS = POWERS.length - 1;

/** Splits a double into two halves of 26 bits, whose products are exact (Veltkamp). */
const SPLITTER = 2 ** 27 + 1;

/** Likewise an integer below 2^50. */
const HALF = 2 ** 25;

/** More than the rounding errors of the correction can amount to, relative to the quotient. */
const DOUBT = 2 ** -98;

/**
 * head · 10^tailDigits + tail, divided by 10^decimals and correctly rounded, as Number() would give
 * it; NaN in the very rare case that this cannot be told. `head` is an integer below 10^15.
 *
 * Servers write floating-point numbers with up to 17 digits, more than a double holds as an
 * integer. Making a string of each and parsing that would cost more than reading all the rest. So
 * the dividend is kept as the sum of two doubles, the remainder of their quotient is computed
 * exactly, and the correction that follows from it is added (Dekker's method).
 */
export function scaleDown(
  head: number,
  tailDigits: number,
  tail: number,
  decimals: number,
): number {
  const divisor = POWERS[decimals] ?? NaN;
  // Two integers of 53 bits at most: IEEE division rounds correctly.
  if (tailDigits === 0) return head / divisor;
  const scale = POWERS[tailDigits] ?? NaN;
  const upper = Math.floor(head / HALF) * HALF;
  // Both products are exact, as their factors have 25 significant bits.
  const large = upper * scale;
  const small = (head - upper) * scale + tail;
  const dividend = large + small;
  const dividendError = small - (dividend - large);
  const quotient = dividend / divisor;
  const correction =
    (dividend - quotient * divisor - productError(quotient, divisor) + dividendError) / divisor;
  const doubt = quotient * DOUBT;
  const result = quotient + (correction - doubt);
  return result === quotient + (correction + doubt) ? result : NaN;
}

/** What must be added to the rounded product to make it exact. */
function productError(a: number, b: number): number {
  const aHigh = upperHalf(a);
  const aLow = a - aHigh;
  const bHigh = upperHalf(b);
  const bLow = b - bHigh;
  return aHigh * bHigh - a * b + aHigh * bLow + aLow * bHigh + aLow * bLow;
}

function upperHalf(value: number): number {
  const shifted = value * SPLITTER;
  return shifted - (shifted - value);
}
