import { MAX_PLACES } from './holders.ts';
import { type Place, tableOf } from './range.ts';

export const UNKNOWN_TABLE = -1;

/** Numbers for places: millions of ranges begin in some thousand of them. Those that do not fit share one number. */
export class Places {
  readonly #numbers = new Map<Place, number>([[0, 0]]);
  readonly #places: Place[] = [0];

  numberOf(place: Place): number {
    const known = this.#numbers.get(place);
    if (known !== undefined) return known;
    const next = this.#places.length;
    if (next >= MAX_PLACES - 1) return MAX_PLACES - 1;
    this.#numbers.set(place, next);
    this.#places.push(place);
    return next;
  }

  /** Undefined when it did not fit. */
  at(number: number): Place | undefined {
    return this.#places[number];
  }

  /** The table of the place, 0 outside of tables; UNKNOWN_TABLE when it did not fit. */
  tableAt(number: number): number {
    const place = this.#places[number];
    return place === undefined ? UNKNOWN_TABLE : tableOf(place);
  }
}
