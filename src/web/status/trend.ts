/** Points of one line; enough for its width on a page. */
const MAX_POINTS = 60;

/** A point of a line; without a value where the poll failed. */
export interface TrendPoint {
  readonly atMs: number;
  readonly value: number | undefined;
}

/**
 * The course of one figure since the start in bounded memory: when there are too many points, each two
 * become one, which keeps the larger value, so that a short peak stays to be seen.
 */
export class Trend {
  #points: TrendPoint[] = [];
  /** How many polls a point stands for. */
  #pollsPerPoint = 1;
  #pollsInLast = 0;

  get points(): readonly TrendPoint[] {
    return this.#points;
  }

  add(point: TrendPoint): void {
    const last = this.#points.at(-1);
    if (last !== undefined && this.#pollsInLast < this.#pollsPerPoint) {
      this.#points[this.#points.length - 1] = merge(last, point);
      this.#pollsInLast += 1;
      return;
    }
    if (this.#points.length === MAX_POINTS) this.#thinOut();
    this.#points.push(point);
    this.#pollsInLast = 1;
  }

  #thinOut(): void {
    const before = this.#points;
    this.#points = [];
    for (let index = 0; index < before.length; index += 2) {
      const [first, second] = before.slice(index, index + 2);
      if (first !== undefined) this.#points.push(second ? merge(first, second) : first);
    }
    this.#pollsPerPoint *= 2;
  }
}

function merge(first: TrendPoint, second: TrendPoint): TrendPoint {
  if (first.value === undefined) return second;
  return { atMs: second.atMs, value: Math.max(first.value, second.value ?? first.value) };
}
