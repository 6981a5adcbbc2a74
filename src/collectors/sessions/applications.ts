import { RE2JS } from 're2js';
import type { Rewrite } from '../../collector-options.ts';
import { messageOf } from '../../format.ts';
import { cleanLabelValue } from '../../metrics/label-text.ts';
import { interleave, rank } from '../top-list.ts';
import { addTally, createTally, type SessionTally, sizeOf } from './session.ts';

/** An application and a user, as their labels show them, with a newline between them: no clean label value holds one. */
export type Pair = string;

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

/** The values by which users are ranked, and how many users each ranking lists at most. */
export const USER_RANKINGS = [{ valueOf: sizeOf, max: Infinity }];

/** The values by which pairs of application and user are ranked. */
export const PAIR_RANKINGS = [
  ...USER_RANKINGS,
  { valueOf: ({ oldestTransactionSeconds }: SessionTally) => oldestTransactionSeconds, max: 10 },
  { valueOf: ({ allocBytes }: SessionTally) => allocBytes, max: 10 },
];

function addTo(tallies: Map<string, SessionTally>, key: string, more: SessionTally): void {
  const tally = tallies.get(key) ?? createTally();
  addTally(tally, more);
  tallies.set(key, tally);
}

/** The listed pairs or users, the most important first, each with the number of polls since it last ranked high enough. */
export type Listed = ReadonlyMap<string, number>;

/** A pair or user stays listed until this many polls have ranked it too low: series that come and go spoil graphs. */
const MAX_LOW_POLLS = 10;

/**
 * Chooses the at most `max` pairs or users that are listed. Example with `max` 3: A, B and C were listed, and in this poll
 * A and D have sessions. A and D are listed, and B stays beside them; C has no place. B leaves after ten such polls.
 */
export function chooseListed(
  tallies: ReadonlyMap<string, SessionTally>,
  before: Listed,
  max: number,
  rankings: typeof PAIR_RANKINGS,
): Listed {
  const ranked = rankings.map(({ valueOf, max: most }) => {
    const candidates = Array.from(tallies, ([id, tally]) => ({ id, value: valueOf(tally) })).filter(
      ({ id, value }) => splitPair(id)[0] !== OTHER && value > 0,
    );
    const sorted = rank(candidates, (id) => before.has(id));
    return sorted.slice(0, most).map(({ id }) => id);
  });
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
  pairs: ReadonlyMap<Pair, SessionTally>,
  listed: Listed,
  users: Listed,
): readonly ApplicationSessions[] {
  const unlisted = new Map([...pairs].filter(([pair]) => !listed.has(pair)));
  const sums = listUsers(sumByUser(unlisted), users);
  const shown = Array.from(listed.keys(), (pair) => {
    const [application, user] = splitPair(pair);
    return { application, user, ...(pairs.get(pair) ?? createTally()) };
  });
  return sums.map((sum) => ({ application: OTHER, ...sum })).toSpliced(1, 0, ...shown);
}

/** The sessions by user: `other`, then the listed users, also those without sessions now. */
export function listUsers(
  byUser: ReadonlyMap<string, SessionTally>,
  listed: Listed,
): readonly UserSessions[] {
  const sums = new Map(Array.from([OTHER, ...listed.keys()], (user) => [user, createTally()]));
  for (const [user, tally] of byUser) addTo(sums, sums.has(user) ? user : OTHER, tally);
  return Array.from(sums, ([user, tally]) => ({ user, ...tally }));
}

/**
 * Rewrites names, each by the first rule whose expression occurs in it; a name that no rule knows stays. The engine is
 * RE2's: its time is linear in the name, whatever expression the user wrote. Throws on an expression that `findRegexFault`
 * objects to.
 */
export function createRewriter(rules: readonly Rewrite[]): (name: string) => string {
  const compiled = rules.map(({ regex, replacement }) => {
    return { regex: RE2JS.compile(regex), replacement };
  });
  return (name) => {
    const rule = compiled.find(({ regex }) => regex.test(name));
    return rule?.regex.matcher(name).replaceAll(rule.replacement) ?? name;
  };
}

/** Says why an expression cannot be used, or undefined. */
export function findRegexFault(regex: string): string | undefined {
  try {
    RE2JS.compile(regex);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
