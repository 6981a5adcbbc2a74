/** MurmurHash3 (x86, 32 bits, seed 0) of the bytes between two addresses; 1 instead of 0, which stands for no value. */
export function hashBytes(start: usize, after: usize): u32 {
  const length = <u32>(after - start);
  const last = start + (length & ~3);
  let hash: u32 = 0;
  for (let at = start; at < last; at += 4) {
    hash = rotl<u32>(hash ^ scramble(load<u32>(at)), 13) * 5 + 0xe6546b64;
  }
  const rest = length & 3;
  if (rest != 0) hash ^= scramble(load<u32>(last) & ((1 << (rest << 3)) - 1));
  hash ^= length;
  hash = (hash ^ (hash >> 16)) * 0x85ebca6b;
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35;
  hash ^= hash >> 16;
  return hash == 0 ? 1 : hash;
}

function scramble(word: u32): u32 {
  return rotl<u32>(word * 0xcc9e2d51, 15) * 0x1b873593;
}
