import { CLOSE_BRACKET, OPEN_BRACKET, QUOTE } from './characters.ts';
import type { Cursor } from './cursor.ts';
import { readNumber } from './number.ts';
import { readOther, wrong, type Reader } from './reader.ts';
import { isNumberStart, skipValue } from './skip.ts';
import { readString } from './string.ts';
import { enter, proceed } from './structure.ts';

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Reads bytes in either dialect, base64 text or an array of integers, as hexadecimal text. */
export const bytesReader: Reader = {
  read(cursor) {
    const first = cursor.bytes[cursor.pos];
    if (first === QUOTE) return readBase64(cursor) ?? wrong(cursor);
    if (first === OPEN_BRACKET) return readIntegers(cursor) ?? wrong(cursor);
    return readOther(cursor, bytesReader);
  },
  absent: () => '',
  unknown: () => undefined,
};

function readBase64(cursor: Cursor): string | undefined {
  const text = readString(cursor);
  if (text === undefined || !BASE64.test(text)) return undefined;
  return Buffer.from(text, 'base64').toString('hex');
}

function readIntegers(cursor: Cursor): string | undefined {
  const values: number[] = [];
  let isRight = true;
  for (let more = enter(cursor, CLOSE_BRACKET); more; more = proceed(cursor, CLOSE_BRACKET)) {
    const value = isNumberStart(cursor.bytes[cursor.pos]) ? readNumber(cursor) : skipValue(cursor);
    isRight &&= value !== undefined && Number.isInteger(value) && value >= 0 && value <= 255;
    if (isRight && value !== undefined) values.push(value);
  }
  return isRight ? Buffer.from(values).toString('hex') : undefined;
}
