/** Places of each range in the columns of the map. */
export const PLACES = 8;
/** Places that a range may have. */
export const MAX_PLACES = 15;
/** Ranges that have more places than the map holds of each. Of further ones the replicas beyond are counted alone. */
const MAX_RANGES_WITH_MORE = 100_000;

/** The places of a range from `PLACES` on. In the masks bit i stands for place i, as in the columns of the map. */
interface Places {
  nodes: number[];
  reported: number;
  voters: number;
  votersBefore: number;
}

/**
 * The places that do not fit the map, by range id, in some 200 bytes a range. Few ranges have more than eight replicas: those
 * with nine voters, and those with a non-voter in each of many regions.
 */
export class MorePlaces {
  readonly #ranges = new Map<number, Places>();

  /** Number of ranges. */
  get size(): number {
    return this.#ranges.size;
  }

  get(rangeId: number): Readonly<Places> | undefined {
    return this.#ranges.get(rangeId);
  }

  /** How many places the range may have in all. */
  mostOf(rangeId: number): number {
    const isFull = this.#ranges.size >= MAX_RANGES_WITH_MORE && !this.#ranges.has(rangeId);
    return isFull ? PLACES : MAX_PLACES;
  }

  /** Sets the places of the range that do not fit the map, as not reported; without any the range is forgotten. */
  set(rangeId: number, { nodes, voters, votersBefore }: Omit<Places, 'reported'>): void {
    if (nodes.length === 0) this.#ranges.delete(rangeId);
    else this.#ranges.set(rangeId, { nodes, reported: 0, voters, votersBefore });
  }

  /** Records that the node reports the range, whose places in the map are taken. Returns the first of its places here. */
  report(rangeId: number, nodeId: number, isKnown: boolean): number | undefined {
    const places = this.#ranges.get(rangeId);
    if (places === undefined) {
      if (isKnown || this.mostOf(rangeId) === PLACES) return undefined;
      this.set(rangeId, { nodes: [nodeId], voters: 0, votersBefore: 0 });
      return this.report(rangeId, nodeId, isKnown);
    }
    const { nodes } = places;
    let at = nodes.indexOf(nodeId);
    if (at === -1) {
      if (isKnown || PLACES + nodes.length === MAX_PLACES) return undefined;
      at = nodes.push(nodeId) - 1;
    }
    for (let place = at; place < nodes.length; place += 1) {
      if (nodes[place] === nodeId) places.reported |= 1 << (PLACES + place);
    }
    return PLACES + at;
  }

  /** Records that the node in the place does not report the range any more. */
  takeBack(rangeId: number, place: number): void {
    const places = this.#ranges.get(rangeId);
    if (places !== undefined) places.reported &= ~(1 << place);
  }

  /** Clears what the last scan reported. `replicasOf` is how many replicas the descriptor of a range names. */
  *beginScan(replicasOf: (rangeId: number) => number): Generator<undefined, void> {
    for (const [rangeId, places] of this.#ranges) {
      const count = replicasOf(rangeId) - PLACES;
      if (count <= 0) this.#ranges.delete(rangeId);
      places.nodes.length = Math.min(places.nodes.length, Math.max(0, count));
      places.reported = 0;
      yield;
    }
  }
}
