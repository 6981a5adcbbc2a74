import { cleanLabelValue } from '../../metrics/sample-text.ts';
import { addTally, createTally, type OpenSession, type SessionTally, sizeOf } from './session.ts';

/** An application and a user, as their labels show them; clean values hold no newline. */
export type Pair = `${string}\n${string}`;

const UNSET = 'unset';

/** The labels of the sum of all pairs that are not listed. A real pair of these names is in that sum, too. */
const OTHER: Pair = 'other\nother';

/** Names that become equal as labels are one pair, so that no label set is written twice. */
export function pairOf(application: string, user: string): Pair {
  return `${cleanLabelValue(application) || UNSET}\n${cleanLabelValue(user) || UNSET}`;
}

/** Open sessions of one application and user. */
export interface ApplicationSessions extends Readonly<SessionTally> {
  readonly application: string;
  readonly user: string;
}

function toApplication(pair: Pair, tally = createTally()): ApplicationSessions {
  const [application = '', user = ''] = pair.split('\n');
  return { application, user, ...tally };
}

/** Pairs held at a time. Clients choose their names, so there may be as many as sessions. */
const MAX_HELD = 10_000;

/**
 * Counts open sessions by pair in bounded memory: when there are too many pairs, those with the fewest
 * sessions go into the rest. Sums stay exact, and so do the pairs in `kept`; another pair may then have lost some
 * of its sessions to the rest, and counts in full from the next poll on if it is listed.
 */
export class ApplicationTallies {
  readonly rest = createTally();
  readonly #kept: Members;
  readonly #maxHeld: number;
  readonly #byPair = new Map<Pair, SessionTally>();

  constructor(kept: Members, maxHeld = MAX_HELD) {
    this.#kept = kept;
    this.#maxHeld = maxHeld;
  }

  get byPair(): ReadonlyMap<Pair, SessionTally> {
    return this.#byPair;
  }

  count(pair: Pair, session: OpenSession): void {
    if (pair === OTHER) {
      addTally(this.rest, session);
      return;
    }
    const tally = this.#byPair.get(pair) ?? createTally();
    addTally(tally, session);
    this.#byPair.set(pair, tally);
    if (this.#byPair.size > this.#maxHeld) this.#shrink();
  }

  /** Removes half of the pairs that may go, so that this is seldom. */
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

/** The pairs that are listed, most sessions first, each with the number of polls that listed it. */
export type Members = ReadonlyMap<Pair, number>;

/** A series that comes and goes is of no use in a graph: a listed pair stays for this number of polls. */
const MIN_POLLS = 10;
/** After that it gives way only to a pair that has clearly more sessions. */
const MEMBER_BONUS = 1.2;

/** Chooses at most `max` pairs by open sessions, with hysteresis in favour of those listed before. */
export function chooseMembers(
  tallies: ReadonlyMap<Pair, SessionTally>,
  before: Members,
  max: number,
): Members {
  const candidates = Array.from(new Set([...before.keys(), ...tallies.keys()]), (pair) => {
    const polls = before.get(pair) ?? 0;
    const tally = tallies.get(pair);
    const sessions = tally === undefined ? 0 : sizeOf(tally);
    const mustStay = polls > 0 && polls < MIN_POLLS;
    return { pair, polls, mustStay, score: polls > 0 ? sessions * MEMBER_BONUS : sessions };
  });
  const chosen = candidates
    .filter(({ mustStay, score }) => mustStay || score > 0)
    // Ties go to the member, then by name, so that the same sessions always give the same list.
    .toSorted(
      (a, b) =>
        Number(b.mustStay) - Number(a.mustStay) ||
        b.score - a.score ||
        Number(b.polls > 0) - Number(a.polls > 0) ||
        (a.pair < b.pair ? -1 : 1),
    )
    .slice(0, max);
  return new Map(chosen.map(({ pair, polls }) => [pair, polls + 1]));
}

/** The sum of all pairs that are not members, then the members, also those without sessions now. */
export function listApplications(
  { byPair, rest }: ApplicationTallies,
  members: Members,
): readonly ApplicationSessions[] {
  const others = createTally();
  addTally(others, rest);
  for (const [pair, tally] of byPair) {
    if (!members.has(pair)) addTally(others, tally);
  }
  return [
    toApplication(OTHER, others),
    ...Array.from(members.keys(), (pair) => toApplication(pair, byPair.get(pair))),
  ];
}
