import { cleanLabelValue } from '../../metrics/label-text.ts';
import {
  addTally,
  type ApplicationTally,
  createApplicationTally,
  sizeOf,
  tallyOf,
} from './application-tally.ts';
import type { OpenSession } from './session.ts';

/** An application and a user as their labels say it; clean values hold no newline. */
export type Pair = `${string}\n${string}`;

/** Names that become equal as labels are one pair, so that no label set is written twice. */
export function pairOf(application: string, user: string): Pair {
  return `${cleanLabelValue(application) || UNSET}\n${cleanLabelValue(user) || UNSET}`;
}

export function labelsOfPair(pair: Pair): { readonly application: string; readonly user: string } {
  const [application = '', user = ''] = pair.split('\n');
  return { application, user };
}

const UNSET = 'unset';

/** The labels of the sum of all pairs that are not shown. A real pair of these names is in that sum, too. */
export const REST: Pair = 'other\nother';

/**
 * Pairs held at a time. Clients choose their names, so there may be as many as sessions; what is shown
 * are some tens of pairs with most sessions.
 */
const MAX_HELD = 10_000;

/**
 * Counts open sessions by pair in bounded memory: when there are too many pairs, those with the fewest
 * sessions go into the rest. Sums stay exact, and so do the pairs in `kept`; another pair may then have lost some
 * of its sessions to the rest, and counts in full from the next poll on if it is shown.
 */
export class ApplicationTallies {
  readonly rest = createApplicationTally();
  readonly #kept: ReadonlySet<Pair>;
  readonly #maxHeld: number;
  readonly #byPair = new Map<Pair, ApplicationTally>();

  constructor(kept: ReadonlySet<Pair>, maxHeld = MAX_HELD) {
    this.#kept = kept;
    this.#maxHeld = maxHeld;
  }

  get byPair(): ReadonlyMap<Pair, ApplicationTally> {
    return this.#byPair;
  }

  count(pair: Pair, session: OpenSession): void {
    const tally = pair === REST ? this.rest : this.#byPair.get(pair);
    if (tally !== undefined) {
      addTally(tally, tallyOf(session));
      return;
    }
    this.#byPair.set(pair, tallyOf(session));
    if (this.#byPair.size > this.#maxHeld) this.#shrink();
  }

  /** Half of what may go goes, so that this is seldom. */
  #shrink(): void {
    const fewestFirst = [...this.#byPair]
      .filter(([pair]) => !this.#kept.has(pair))
      .toSorted(([, a], [, b]) => sizeOf(a) - sizeOf(b));
    for (const [pair, tally] of fewestFirst.slice(0, Math.ceil(fewestFirst.length / 2))) {
      this.#byPair.delete(pair);
      addTally(this.rest, tally);
    }
  }
}
