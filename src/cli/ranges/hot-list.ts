import type { Replica } from './replica.ts';

/** The hottest ranges of those added, by queries on their leaseholders; holds a few times their number at most. */
export interface HotList {
  add(replica: Replica): void;
  /** Hottest first. */
  list(): readonly Replica[];
}

const SLACK = 4;

export function createHotList(length: number): HotList {
  let kept: Replica[] = [];
  let floor = 0;
  const cut = (): void => {
    kept = kept.toSorted((a, b) => queriesOf(b) - queriesOf(a)).slice(0, length);
    floor = kept.length === length ? queriesOf(kept[length - 1]) : 0;
  };
  return {
    add(replica) {
      // Followers repeat the writes of the leaseholder and know nothing of its reads.
      if (!replica.is_leaseholder || queriesOf(replica) < floor) return;
      kept.push(replica);
      if (kept.length > SLACK * length) cut();
    },
    list() {
      cut();
      return kept;
    },
  };
}

function queriesOf(replica: Replica | undefined): number {
  return replica?.stats.queries_per_second ?? 0;
}
