/** The bytes of one field of a message. */
export type Field = Buffer;

/** Below it shifts of numbers are exact, and much faster than those of bigints. */
const MAX_SMALL = 2 ** 31;

/** An integer of up to 64 bits, an enum or a boolean; negative ones take ten bytes. */
export function integerField(number: number, value: number | bigint | boolean): Field {
  return Buffer.from([...varint(8 * number), ...varint(value)]);
}

/** Text or bytes. */
export function bytesField(number: number, value: Buffer | string): Field {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  const head = [...varint(8 * number + 2), ...varint(bytes.length)];
  const field = Buffer.allocUnsafe(head.length + bytes.length);
  field.set(head);
  field.set(bytes, head.length);
  return field;
}

/** A message in a message. */
export function messageField(number: number, fields: readonly Field[]): Field {
  return bytesField(number, Buffer.concat(fields));
}

/** An entry of a map by numbers. */
export function entryField(number: number, key: number, value: (number: number) => Field): Field {
  return messageField(number, [integerField(1, key), value(2)]);
}

/** Seven bits a byte, the lowest first. */
function varint(value: number | bigint | boolean): readonly number[] {
  const bytes: number[] = [];
  let rest = typeof value === 'number' && value >= 0 && value < MAX_SMALL ? value : 0;
  if (rest !== value) {
    let left = BigInt.asUintN(64, BigInt(value));
    for (; left >= BigInt(MAX_SMALL); left >>= 7n) bytes.push(Number(left & 0x7fn) + 0x80);
    rest = Number(left);
  }
  for (; rest > 0x7f; rest >>= 7) bytes.push((rest & 0x7f) + 0x80);
  bytes.push(rest);
  return bytes;
}
