export interface Shard {
  readonly index: number;
  readonly count: number;
}

/**
 * Rendezvous hashing: each shard draws a number for the node and the highest takes it, so that all
 * shards agree without talking, and another shard takes over only its fair share of nodes.
 */
export function ownsNode(nodeId: number, { index, count }: Shard): boolean {
  const mine = draw(nodeId, index);
  for (let other = 0; other < count; other += 1) {
    const theirs = draw(nodeId, other);
    if (theirs > mine || (theirs === mine && other < index)) return false;
  }
  return true;
}

/** 32 bits out of two integers (the finalizer of MurmurHash3, once for each). */
function draw(nodeId: number, shard: number): number {
  return mix(mix(nodeId) ^ Math.imul(shard + 1, 0x9e37_79b1));
}

function mix(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
