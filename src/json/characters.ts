/** The bytes that mean something in JSON. */
export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const MINUS = 0x2d;
export const DOT = 0x2e;
export const ZERO = 0x30;
export const NINE = 0x39;
export const SPACE = 0x20;

/** What a byte outside strings means to someone who only wants to find the end of a value. */
export const PLAIN = 0;
export const STRING = 1;
export const OPEN = 2;
export const CLOSE = 3;
export const ALIEN = 4;
export const OUTSIDE = table(ALIEN, [
  [PLAIN, '0123456789+-.eEtrufalsn,: \t\n\r'],
  [STRING, '"'],
  [OPEN, '{['],
  [CLOSE, '}]'],
]);

/** What a byte inside a string means. Bytes from 128 belong to a character of several bytes. */
const ASCII = 0;
export const END = 1;
export const ESCAPE = 2;
const CONTROL = 3;
export const WIDE = 4;
export const INSIDE = insideTable();

/** 1 for the bytes that a number can be made of. */
export const NUMERIC = table(0, [[1, '0123456789+-.eE']]);

/** 1 for the four bytes of white space. */
export const BLANK = table(0, [[1, ' \t\n\r']]);

/** 1 for the letters that a key usually begins with. */
export const LETTERS = table(0, [[1, 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_']]);

function table(otherwise: number, classes: readonly (readonly [number, string])[]): Uint8Array {
  const classOf = new Uint8Array(256).fill(otherwise);
  for (const [value, characters] of classes) {
    for (const byte of Buffer.from(characters)) classOf[byte] = value;
  }
  return classOf;
}

function insideTable(): Uint8Array {
  const classOf = table(ASCII, [
    [END, '"'],
    [ESCAPE, '\\'],
  ]);
  return classOf.fill(CONTROL, 0, SPACE).fill(WIDE, 128);
}
