import { decodeValue, hashed } from '../../src/json/index.ts';

/** What the shape `hashed` makes of a value, like `"//8="` with its quotes, or `[255,255]`; 0 if it is neither string nor array. */
export function hashOf(text: string): number {
  return decodeValue(Buffer.from(text), hashed()).value ?? 0;
}
