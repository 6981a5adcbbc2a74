/** MurmurHash3_x86_32 with seed 0, a second implementation; never 0. */
export function hashOfBytes(bytes: Buffer): number {
  const padded = Buffer.concat([bytes, Buffer.alloc(3)]);
  const whole = bytes.length & ~3;
  let hash = 0;
  for (let at = 0; at < whole; at += 4) {
    hash = Math.imul(rotate(hash ^ scramble(padded.readUInt32LE(at)), 13), 5) + 0xe6546b64;
  }
  if (whole < bytes.length) hash ^= scramble(padded.readUInt32LE(whole));
  hash ^= bytes.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0 || 1;
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

function scramble(word: number): number {
  return Math.imul(rotate(Math.imul(word, 0xcc9e2d51), 15), 0x1b873593);
}
