/**
 * CRC-32 of two byte sequences in a row from the CRC-32 of each, after `crc32_combine` of zlib. A CRC is a polynomial
 * over GF(2) modulo POLYNOMIAL, highest power in the lowest bit; appending n bytes multiplies it by x^(8n).
 */
export function combineCrc32(first: number, second: number, secondLength: number): number {
  return (multiply(powerOfX(secondLength), first) ^ second) >>> 0;
}

const POLYNOMIAL = 0xedb88320;
const ONE = 0x80000000;
/** x^8: one byte. */
const BYTE = 0x00800000;

/** x^(8 · bytes) by repeated squaring. */
function powerOfX(bytes: number): number {
  let result = ONE;
  let square = BYTE;
  for (let left = bytes; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) {
      result = multiply(square, result);
    }
    square = multiply(square, square);
  }
  return result;
}

function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) {
      product ^= shifted;
    }
    shifted = (shifted & 1) === 0 ? shifted >>> 1 : (shifted >>> 1) ^ POLYNOMIAL;
  }
  return product;
}
