import { cleanLabelValue } from '#metrics';
import { interleave, StableRanking } from '../stable-ranking.ts';
import { addTally, createTally, type SessionTally, sizeOf } from './session.ts';

/** An application and a user, as their labels show them, with a newline between them: no clean label value holds one. */
export type Pair = string;

const UNSET = 'unset';

/** The label of the sum of what is not listed. An application or user with this name is added to the sum, too. */
const OTHER = 'other';

/** The name of an application or user as a label; of none `unset`. */
export function nameAsLabel(name: string): string {
  return cleanLabelValue(name) || UNSET;
}

/** The pair of a session. Names that become equal as labels make one pair, so that no label set is written twice. */
export function pairOf(application: string, user: string): Pair {
  return `${nameAsLabel(application)}\n${nameAsLabel(user)}`;
}

function splitPair(pair: Pair): readonly [application: string, user: string] {
  const [application = '', user = ''] = pair.split('\n');
  return [application, user];
}

/**
 * Clients choose the names of applications: a session of a further pair counts for the application `other` of its user, and
 * beyond twice as many pairs for `other` of `other`, as a faulty server may send another user with each session.
 */
const MAX_PAIRS = 20_000;

/** Adds an open session to its pair. Returns false when there are too many pairs. */
export function countSession(
  pairs: Map<Pair, SessionTally>,
  pair: Pair,
  session: SessionTally,
): boolean {
  if (pairs.size < MAX_PAIRS || pairs.has(pair)) {
    addTo(pairs, pair, session);
    return true;
  }
  const otherOfUser = `${OTHER}\n${splitPair(pair)[1]}`;
  const hasPlace = pairs.size < 2 * MAX_PAIRS || pairs.has(otherOfUser);
  addTo(pairs, hasPlace ? otherOfUser : `${OTHER}\n${OTHER}`, session);
  return false;
}

/** The open sessions by user. */
export function sumByUser(pairs: ReadonlyMap<Pair, SessionTally>): Map<string, SessionTally> {
  const byUser = new Map<string, SessionTally>();
  for (const [pair, tally] of pairs) addTo(byUser, splitPair(pair)[1], tally);
  return byUser;
}

function addTo(tallies: Map<string, SessionTally>, key: string, more: SessionTally): void {
  const tally = tallies.get(key) ?? createTally();
  addTally(tally, more);
  tallies.set(key, tally);
}

/** Pairs are listed for these values, too. */
export const PAIR_RANKINGS: readonly ValueOf[] = [
  ({ oldestTransactionSeconds }) => oldestTransactionSeconds,
  ({ allocBytes }) => allocBytes,
];
/** Each of these rankings lists this many at most. */
const MAX_BY_RANKING = 10;
/** A pair or user stays listed until this many polls have ranked it too low: series that come and go spoil graphs. */
const MAX_LOW_POLLS = 10;

type ValueOf = (tally: SessionTally) => number;

/** The pairs or users that have series of their own, from poll to poll: those with most sessions, and the first by other values. */
export class ListedTallies {
  readonly #bySessions = new StableRanking<string>();
  readonly #others: readonly {
    readonly list: StableRanking<string>;
    readonly valueOf: ValueOf;
  }[];
  /** The listed ones, the most important first, each with the number of polls since it last ranked high enough. */
  #lowPolls: ReadonlyMap<string, number> = new Map();

  constructor(others: readonly ValueOf[] = []) {
    this.#others = others.map((valueOf) => ({ list: new StableRanking(), valueOf }));
  }

  /**
   * Chooses at most `max` pairs or users. Example with `max` 3: A, B and C were listed, and in this poll A and D have
   * sessions. A and D are listed, and B stays beside them; C has no place. B leaves after ten such polls.
   */
  choose(tallies: ReadonlyMap<string, SessionTally>, max: number): ReadonlySet<string> {
    const candidates = [...tallies].filter(([id]) => splitPair(id)[0] !== OTHER);
    const share = Math.min(MAX_BY_RANKING, Math.floor(max / (1 + this.#others.length)));
    const byOthers = this.#others.flatMap(({ list, valueOf }) =>
      list.rank(share, candidates, valueOf),
    );
    const chosen = new Set(byOthers);
    const rest = candidates.filter(([id]) => !chosen.has(id));
    for (const id of this.#bySessions.rank(max - chosen.size, rest, sizeOf)) chosen.add(id);
    const high = this.#sort(candidates.filter(([id]) => chosen.has(id)));
    const staying = [...this.#lowPolls]
      .map(([id, lowPolls]) => [id, lowPolls + 1] as const)
      .filter(([id, lowPolls]) => !chosen.has(id) && lowPolls < MAX_LOW_POLLS);
    const listed = [...high.map((id) => [id, 0] as const), ...staying];
    this.#lowPolls = new Map(listed.slice(0, max));
    return new Set(this.#lowPolls.keys());
  }

  /** The first by each value, then the second by each. */
  #sort(tallies: readonly (readonly [string, SessionTally])[]): readonly string[] {
    const values = [sizeOf, ...this.#others.map(({ valueOf }) => valueOf)];
    const orders = values.map((valueOf) =>
      tallies.toSorted(([a, one], [b, other]) => valueOf(other) - valueOf(one) || (a < b ? -1 : 1)),
    );
    return interleave(orders.map((order) => order.map(([id]) => id)));
  }
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
  pairs: ReadonlyMap<Pair, SessionTally>,
  listed: ReadonlySet<Pair>,
  users: ReadonlySet<string>,
): readonly ApplicationSessions[] {
  const unlisted = new Map([...pairs].filter(([pair]) => !listed.has(pair)));
  const sums = listUsers(sumByUser(unlisted), users);
  const shown = Array.from(listed, (pair) => {
    const [application, user] = splitPair(pair);
    return { application, user, ...(pairs.get(pair) ?? createTally()) };
  });
  return sums.map((sum) => ({ application: OTHER, ...sum })).toSpliced(1, 0, ...shown);
}

/** The sessions by user: `other`, then the listed users, also those without sessions now. */
export function listUsers(
  byUser: ReadonlyMap<string, SessionTally>,
  listed: ReadonlySet<string>,
): readonly UserSessions[] {
  const sums = new Map(Array.from([OTHER, ...listed], (user) => [user, createTally()]));
  for (const [user, tally] of byUser) addTo(sums, sums.has(user) ? user : OTHER, tally);
  return Array.from(sums, ([user, tally]) => ({ user, ...tally }));
}
