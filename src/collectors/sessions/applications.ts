import { cleanLabelValue } from '../../metrics/sample-text.ts';
import { interleave, rank } from '../top-list.ts';
import { addTally, createTally, type SessionTally, sizeOf } from './session.ts';

/** An application and a user, as their labels show them, with a newline between them: no clean label value holds one. */
export type Pair = `${string}\n${string}`;

const UNSET = 'unset';

/** The label of the sum of what is not listed. An application or user with this name is added to the sum, too. */
const OTHER = 'other';

/** The pair of a session. Names that become equal as labels make one pair, so that no label set is written twice. */
export function pairOf(application: string, user: string): Pair {
  return `${cleanLabelValue(application) || UNSET}\n${cleanLabelValue(user) || UNSET}`;
}

function splitPair(pair: Pair): readonly [application: string, user: string] {
  const [application = '', user = ''] = pair.split('\n');
  return [application, user];
}

/** The maximum number of pairs, and of users, that are counted. Clients choose names, so each session may have its own. */
const MAX_TALLIES = 10_000;

/** The values by which users are ranked, and how many users each ranking lists at most. */
export const USER_RANKINGS = [{ valueOf: sizeOf, max: Infinity }];

/** The same for pairs of application and user. */
export const PAIR_RANKINGS = [
  ...USER_RANKINGS,
  { valueOf: ({ oldestTransactionSeconds }: SessionTally) => oldestTransactionSeconds, max: 10 },
  { valueOf: ({ allocBytes }: SessionTally) => allocBytes, max: 10 },
];

/**
 * Counts the open sessions of a poll by pair, for at most 10,000 pairs. When there are more, half of the pairs are removed,
 * those with the fewest sessions, and their sessions are added to `removed`. Pairs that the last poll listed stay, and so
 * do those with the oldest transactions and with most memory. The sum of all sessions is always right. Example: pair
 * 10,001 comes, and 5,000 pairs of one session each are removed. If one of them then has another session in the same poll,
 * it is counted again from one.
 */
export class ApplicationTallies {
  /** All sessions by user. Those of the users after the first 10,000 are counted as `other`. */
  readonly byUser = new Map<string, SessionTally>();
  /** Sessions of removed pairs by user. */
  readonly removed = new Map<string, SessionTally>();
  readonly byPair = new Map<Pair, SessionTally>();
  readonly #listed: Listed<Pair>;
  readonly #maxTallies: number;

  /** `listed` are the pairs that the last poll listed. */
  constructor(listed: Listed<Pair>, maxTallies = MAX_TALLIES) {
    this.#listed = listed;
    this.#maxTallies = maxTallies;
  }

  count(pair: Pair, session: SessionTally): void {
    const [application, user] = splitPair(pair);
    const isUserCounted = this.byUser.has(user) || this.byUser.size < this.#maxTallies;
    addTo(this.byUser, isUserCounted ? user : OTHER, session);
    if (application === OTHER) {
      addTo(this.removed, isUserCounted ? user : OTHER, session);
      return;
    }
    addTo(this.byPair, pair, session);
    if (this.byPair.size > this.#maxTallies) this.#removePairs();
  }

  /** Removes half of the pairs that need not stay: sorting all pairs takes long, and is then seldom necessary. */
  #removePairs(): void {
    const staying = new Set(this.#listed.keys());
    for (const { valueOf, max } of PAIR_RANKINGS.slice(1)) {
      const highest = sortByRank(this.byPair, valueOf).slice(0, max);
      for (const pair of highest) staying.add(pair);
    }
    const fewestFirst = sortByRank(this.byPair, sizeOf).toReversed();
    const removable = fewestFirst.filter((pair) => !staying.has(pair));
    for (const pair of removable.slice(0, Math.ceil(removable.length / 2))) {
      const user = splitPair(pair)[1];
      const tally = this.byPair.get(pair) ?? createTally();
      addTo(this.removed, this.byUser.has(user) ? user : OTHER, tally);
      this.byPair.delete(pair);
    }
  }
}

function addTo<Key>(tallies: Map<Key, SessionTally>, key: Key, more: SessionTally): void {
  const tally = tallies.get(key) ?? createTally();
  addTally(tally, more);
  tallies.set(key, tally);
}

/** The keys whose value is above 0, without `other`, sorted by `rank`, which prefers those that are listed already. */
function sortByRank<Key extends string>(
  tallies: ReadonlyMap<Key, SessionTally>,
  valueOf: (tally: SessionTally) => number,
  listed: Listed<Key> = new Map(),
): readonly Key[] {
  const entries = Array.from(tallies, ([id, tally]) => ({ id, value: valueOf(tally) }));
  const candidates = entries.filter(({ id, value }) => id !== OTHER && value > 0);
  return rank(candidates, (key) => listed.has(key)).map(({ id }) => id);
}

/** The listed pairs or users, the most important first, each with the number of polls since it last ranked high enough. */
export type Listed<Key extends string> = ReadonlyMap<Key, number>;

/** A pair or user stays listed until this many polls have ranked it too low: series that come and go spoil graphs. */
const MAX_LOW_POLLS = 10;

/**
 * Chooses the at most `max` pairs or users that are listed. Example with `max` 3: A, B and C were listed, and in this poll
 * A and D have sessions. A and D are listed, and B stays beside them; C has no place. B leaves after ten such polls.
 */
export function chooseListed<Key extends string>(
  tallies: ReadonlyMap<Key, SessionTally>,
  before: Listed<Key>,
  max: number,
  rankings: typeof PAIR_RANKINGS,
): Listed<Key> {
  const ranked = rankings.map(({ valueOf, max: most }) =>
    sortByRank(tallies, valueOf, before).slice(0, most),
  );
  // A short list gets the first of each ranking, then the second of each.
  const high = interleave(ranked).slice(0, max);
  const highKeys = new Set(high);
  const staying = [...before]
    .map(([key, lowPolls]) => [key, lowPolls + 1] as const)
    .filter(([key, lowPolls]) => !highKeys.has(key) && lowPolls < MAX_LOW_POLLS);
  return new Map([...high.map((key) => [key, 0] as const), ...staying].slice(0, max));
}

/** The open sessions of a SQL user, or of `other`. */
export interface UserSessions extends SessionTally {
  readonly user: string;
}

/** The open sessions of an application and user; either may be `other`. */
export interface ApplicationSessions extends UserSessions {
  readonly application: string;
}

/**
 * The sessions by pair, also of listed pairs without sessions now. What is not listed is summed up by user. The order is:
 * other/other, the listed pairs, then `other` of each listed user.
 */
export function listApplications(
  { byPair, removed }: ApplicationTallies,
  listed: Listed<Pair>,
  users: Listed<string>,
): readonly ApplicationSessions[] {
  const unlisted = [...byPair]
    .filter(([pair]) => !listed.has(pair))
    .map(([pair, tally]) => [splitPair(pair)[1], tally] as const);
  const sums = listUsers([...removed, ...unlisted], users);
  const pairs = Array.from(listed.keys(), (pair) => {
    const [application, user] = splitPair(pair);
    return { application, user, ...(byPair.get(pair) ?? createTally()) };
  });
  return sums.map((sum) => ({ application: OTHER, ...sum })).toSpliced(1, 0, ...pairs);
}

/** The sessions by user: `other`, then the listed users, also those without sessions now. */
export function listUsers(
  byUser: Iterable<readonly [user: string, SessionTally]>,
  listed: Listed<string>,
): readonly UserSessions[] {
  const sums = new Map(Array.from([OTHER, ...listed.keys()], (user) => [user, createTally()]));
  for (const [user, tally] of byUser) addTo(sums, sums.has(user) ? user : OTHER, tally);
  return Array.from(sums, ([user, tally]) => ({ user, ...tally }));
}
