import { expect, test } from 'vitest';
import { drawHistory } from '../../lab/oracle/draw.ts';
import { failureOf, play } from '../../lab/oracle/play.ts';

/**
 * Among them are zones of one voter, changes of zones, partitions, members that leave, restarts and a stale URL; connections that
 * cannot be read, what merges left behind, claims of one node, ranges with 7 replicas, and leases that nobody remembers. The first
 * five are short.
 */
const SEEDS = [248, 1915, 10_191, 10_715, 13_589, 52_334, 60_171, 70_096, 904_010, 905_059];

// `npm run lab -- oracle --worlds 1 --seed N` plays such a world again and shortens its history.
test.each(SEEDS)(
  'no node is called safe to stop that is not, and no alarm is false, in world %i',
  { timeout: 600_000 },
  async (seed) => {
    const played = await play(drawHistory(seed));
    expect(failureOf(played), played.story.join('\n')).toBeUndefined();
  },
);
