import { interleave } from '../../interleave.ts';
import { cleanLabelValue } from '../../metrics/sample-text.ts';
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

/** What makes a user worth listing, and how many are listed for it. */
export const USER_RANKINGS = [{ rank: sizeOf, max: Infinity }];

/** The same of a pair. */
export const PAIR_RANKINGS = [
  ...USER_RANKINGS,
  { rank: ({ oldestTransactionSeconds }: SessionTally) => oldestTransactionSeconds, max: 10 },
  { rank: ({ allocBytes }: SessionTally) => allocBytes, max: 10 },
];

/**
 * Counts open sessions by pair in bounded memory: when there are too many pairs, those with the fewest sessions go
 * into the rest, but not those with the oldest transactions or most memory. Sums stay exact, and so do the pairs in
 * `kept`; another pair may then have lost some of its sessions to the rest, and counts in full from the next poll on if
 * it is listed.
 */
export class ApplicationTallies {
  /** All sessions by user; those of users beyond the bound are in `other`. */
  readonly byUser = new Map<string, SessionTally>();
  /** Sessions of pairs that are not held, by user. */
  readonly rest = new Map<string, SessionTally>();
  readonly byPair = new Map<Pair, SessionTally>();
  readonly #kept: Members<Pair>;
  readonly #maxHeld: number;

  constructor(kept: Members<Pair>, maxHeld = MAX_HELD) {
    this.#kept = kept;
    this.#maxHeld = maxHeld;
  }

  count(pair: Pair, session: SessionTally): void {
    const [application, user] = splitPair(pair);
    const isHeld = this.byUser.has(user) || this.byUser.size < this.#maxHeld;
    addTo(this.byUser, isHeld ? user : OTHER, session);
    if (application === OTHER) {
      addTo(this.rest, this.byUser.has(user) ? user : OTHER, session);
      return;
    }
    addTo(this.byPair, pair, session);
    if (this.byPair.size > this.#maxHeld) this.#shrink();
  }

  /** Removes half of the pairs that may go, so that this is seldom. */
  #shrink(): void {
    const stays = new Set(this.#kept.keys());
    for (const { rank, max } of PAIR_RANKINGS.slice(1)) {
      const highest = sortByRank(this.byPair, rank).slice(0, max);
      for (const pair of highest) stays.add(pair);
    }
    const fewestFirst = sortByRank(this.byPair, sizeOf).toReversed();
    const removable = fewestFirst.filter((pair) => !stays.has(pair));
    for (const pair of removable.slice(0, Math.ceil(removable.length / 2))) {
      const user = splitPair(pair)[1];
      const tally = this.byPair.get(pair) ?? createTally();
      addTo(this.rest, this.byUser.has(user) ? user : OTHER, tally);
      this.byPair.delete(pair);
    }
  }
}

function addTo<Key>(tallies: Map<Key, SessionTally>, key: Key, more: SessionTally): void {
  const tally = tallies.get(key) ?? createTally();
  addTally(tally, more);
  tallies.set(key, tally);
}

/** The keys whose rank is not 0, highest first, ties by name; members count as 20 % higher and win ties. Without `other`. */
function sortByRank<Key extends string>(
  tallies: ReadonlyMap<Key, SessionTally>,
  rank: (tally: SessionTally) => number,
  members: Members<Key> = new Map(),
): readonly Key[] {
  return Array.from(tallies, ([key, tally]) => {
    const isMember = members.has(key);
    return { key, isMember, score: rank(tally) * (isMember ? MEMBER_BONUS : 1) };
  })
    .filter(({ key, score }) => key !== OTHER && score > 0)
    .toSorted(
      (a, b) =>
        b.score - a.score || Number(b.isMember) - Number(a.isMember) || (a.key < b.key ? -1 : 1),
    )
    .map(({ key }) => key);
}

/** What is listed, the most important first, each with the number of polls since it last qualified; these ascend. */
export type Members<Key extends string> = ReadonlyMap<Key, number>;

/** A series that comes and goes is of no use in a graph: what is listed stays for this number of polls, unless the list is full. */
const MIN_POLLS = 10;
/** It gives way only to what ranks clearly higher. */
const MEMBER_BONUS = 1.2;

/** Chooses at most `max` of those that rank highest, with hysteresis. */
export function chooseMembers<Key extends string>(
  tallies: ReadonlyMap<Key, SessionTally>,
  before: Members<Key>,
  max: number,
  rankings: typeof PAIR_RANKINGS,
): Members<Key> {
  const ranked = rankings.map(({ rank, max: most }) =>
    sortByRank(tallies, rank, before).slice(0, most),
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
  { byPair, rest }: ApplicationTallies,
  members: Members<Pair>,
  users: Members<string>,
): readonly ApplicationSessions[] {
  const unlisted = [...byPair].filter(([pair]) => !members.has(pair));
  const others = unlisted.map(([pair, tally]) => [splitPair(pair)[1], tally] as const);
  const sums = listUsers([...rest, ...others], users);
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
