import { cleanLabelValue } from '../../metrics/sample-text.ts';
import { interleave, rank } from '../top-list.ts';
import { addTally, createTally, type SessionTally, sizeOf } from './session.ts';

/** An application and a user, as their labels show them; clean values hold no newline. */
export type Pair = `${string}\n${string}`;

const UNSET = 'unset';

/** The label of the sum of all that is not listed. A real application or user of this name is in that sum, too. */
const OTHER = 'other';

/** Names that become equal as labels are one pair, so that no label set is written twice. */
export function pairOf(application: string, user: string): Pair {
  return `${cleanLabelValue(application) || UNSET}\n${cleanLabelValue(user) || UNSET}`;
}

function splitPair(pair: Pair): readonly [application: string, user: string] {
  const [application = '', user = ''] = pair.split('\n');
  return [application, user];
}

/** Pairs and users held at a time. Clients choose their names, so there may be as many as sessions. */
const MAX_HELD = 10_000;

/** The figures for which users are listed, and how many for each. */
export const USER_RANKINGS = [{ valueOf: sizeOf, max: Infinity }];

/** The figures for which pairs of application and user are listed. */
export const PAIR_RANKINGS = [
  ...USER_RANKINGS,
  { valueOf: ({ oldestTransactionSeconds }: SessionTally) => oldestTransactionSeconds, max: 10 },
  { valueOf: ({ allocBytes }: SessionTally) => allocBytes, max: 10 },
];

/**
 * Counts open sessions by pair in bounded memory: when there are too many pairs, the sessions of those with the fewest are
 * added to the sum of the unlisted ones, except of the pairs with the oldest transactions or most memory. Sums stay exact,
 * and so do the pairs that were listed before. Example: with 10,001 pairs, 5,000 of one session each are summed up; when
 * one of them opens a second session in the same poll, it counts one, and two from the next poll on if it is listed.
 */
export class ApplicationTallies {
  /** All sessions by user; those of users beyond the bound are in `other`. */
  readonly byUser = new Map<string, SessionTally>();
  /** Sessions of pairs that are not held, by user. */
  readonly unlisted = new Map<string, SessionTally>();
  readonly byPair = new Map<Pair, SessionTally>();
  readonly #listed: Members<Pair>;
  readonly #maxHeld: number;

  constructor(listed: Members<Pair>, maxHeld = MAX_HELD) {
    this.#listed = listed;
    this.#maxHeld = maxHeld;
  }

  count(pair: Pair, session: SessionTally): void {
    const [application, user] = splitPair(pair);
    const isHeld = this.byUser.has(user) || this.byUser.size < this.#maxHeld;
    addTo(this.byUser, isHeld ? user : OTHER, session);
    if (application === OTHER) {
      addTo(this.unlisted, this.byUser.has(user) ? user : OTHER, session);
      return;
    }
    addTo(this.byPair, pair, session);
    if (this.byPair.size > this.#maxHeld) this.#shrink();
  }

  /** Removes half of the pairs that may go, so that this is seldom. */
  #shrink(): void {
    const stays = new Set(this.#listed.keys());
    for (const { valueOf, max } of PAIR_RANKINGS.slice(1)) {
      const highest = sortByRank(this.byPair, valueOf).slice(0, max);
      for (const pair of highest) stays.add(pair);
    }
    const fewestFirst = sortByRank(this.byPair, sizeOf).toReversed();
    const removable = fewestFirst.filter((pair) => !stays.has(pair));
    for (const pair of removable.slice(0, Math.ceil(removable.length / 2))) {
      const user = splitPair(pair)[1];
      const tally = this.byPair.get(pair) ?? createTally();
      addTo(this.unlisted, this.byUser.has(user) ? user : OTHER, tally);
      this.byPair.delete(pair);
    }
  }
}

function addTo<Key>(tallies: Map<Key, SessionTally>, key: Key, more: SessionTally): void {
  const tally = tallies.get(key) ?? createTally();
  addTally(tally, more);
  tallies.set(key, tally);
}

/** The keys whose value is not 0, without `other`, in the order of `rank`. */
function sortByRank<Key extends string>(
  tallies: ReadonlyMap<Key, SessionTally>,
  valueOf: (tally: SessionTally) => number,
  members: Members<Key> = new Map(),
): readonly Key[] {
  const entries = Array.from(tallies, ([id, tally]) => ({ id, value: valueOf(tally) }));
  const candidates = entries.filter(({ id, value }) => id !== OTHER && value > 0);
  return rank(candidates, (key) => members.has(key)).map(({ id }) => id);
}

/** The listed entries, the most important first, each with the number of polls since it last qualified; these numbers ascend. */
export type Members<Key extends string> = ReadonlyMap<Key, number>;

/** A series that comes and goes is of no use in a graph: what is listed stays for this number of polls, unless the list is full. */
const MIN_POLLS = 10;

/** Chooses at most `max` of those that rank highest, with hysteresis. */
export function chooseMembers<Key extends string>(
  tallies: ReadonlyMap<Key, SessionTally>,
  before: Members<Key>,
  max: number,
  rankings: typeof PAIR_RANKINGS,
): Members<Key> {
  const ranked = rankings.map(({ valueOf, max: most }) =>
    sortByRank(tallies, valueOf, before).slice(0, most),
  );
  // The first of each ranking, then the second, so that each has its share of a short list.
  const qualified = interleave(ranked).slice(0, max);
  const names = new Set(qualified);
  const staying = [...before]
    .map(([key, polls]) => [key, polls + 1] as const)
    .filter(([key, polls]) => !names.has(key) && polls < MIN_POLLS);
  return new Map([...qualified.map((key) => [key, 0] as const), ...staying].slice(0, max));
}

/** The open sessions of a SQL user, or of `other`. */
export interface UserSessions extends SessionTally {
  readonly user: string;
}

/** The open sessions of an application and user; either may be `other`. */
export interface ApplicationSessions extends UserSessions {
  readonly application: string;
}

/** The sum of all pairs that are not members, the members, also those without sessions now, then the sums by user. */
export function listApplications(
  { byPair, unlisted }: ApplicationTallies,
  members: Members<Pair>,
  users: Members<string>,
): readonly ApplicationSessions[] {
  const others = [...byPair]
    .filter(([pair]) => !members.has(pair))
    .map(([pair, tally]) => [splitPair(pair)[1], tally] as const);
  const sums = listUsers([...unlisted, ...others], users);
  const listed = Array.from(members.keys(), (pair) => {
    const [application, user] = splitPair(pair);
    return { application, user, ...(byPair.get(pair) ?? createTally()) };
  });
  return sums.map((sum) => ({ application: OTHER, ...sum })).toSpliced(1, 0, ...listed);
}

/** The sum of all users that are not members, then the members, also those without sessions now. */
export function listUsers(
  byUser: Iterable<readonly [user: string, SessionTally]>,
  members: Members<string>,
): readonly UserSessions[] {
  const listed = new Map(Array.from([OTHER, ...members.keys()], (user) => [user, createTally()]));
  for (const [user, tally] of byUser) addTo(listed, listed.has(user) ? user : OTHER, tally);
  return Array.from(listed, ([user, tally]) => ({ user, ...tally }));
}
