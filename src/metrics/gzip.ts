import { constants, crc32, deflateRawSync } from 'node:zlib';
import type { RenderedFamily } from './snapshot.ts';

/** RFC 1952: magic, deflate, no flags, no time, no level, system unknown. */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
/** An empty block with the "last block" bit, which the pieces leave out. */
const LAST_BLOCK = Buffer.from([3, 0]);

/** Lines, and the same compressed where they are many. */
export type Block = Pick<RenderedFamily, 'lines' | 'deflated'>;

/**
 * One gzip member of blocks of lines; large ones are compressed already. One, because `curl --compressed` and
 * others stop after a first member. The blocks between ready pieces are compressed here, together.
 */
export function gzipMember(blocks: readonly Block[]): readonly Buffer[] {
  const chunks: Buffer[] = [HEADER];
  let waiting: Buffer[] = [];
  let crc = 0;
  let length = 0;
  const addWaiting = (): void => {
    if (waiting.length === 0) return;
    const options = { level: 1, finishFlush: constants.Z_FULL_FLUSH };
    chunks.push(deflateRawSync(Buffer.concat(waiting), options));
    waiting = [];
  };
  for (const { lines, deflated } of blocks) {
    length += lines.length;
    if (deflated === undefined) {
      waiting.push(lines);
      crc = crc32(lines, crc);
    } else {
      addWaiting();
      chunks.push(deflated.bytes);
      crc = combineCrc32(crc, deflated.crc, lines.length);
    }
  }
  addWaiting();
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc, 0);
  trailer.writeUInt32LE(length % 2 ** 32, 4);
  return [...chunks, LAST_BLOCK, trailer];
}

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
    if (left % 2 === 1) result = multiply(square, result);
    square = multiply(square, square);
  }
  return result;
}

function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= shifted;
    shifted = (shifted & 1) === 0 ? shifted >>> 1 : (shifted >>> 1) ^ POLYNOMIAL;
  }
  return product;
}
