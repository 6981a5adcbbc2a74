import { sizeOf, type ApplicationTally } from './application-tally.ts';
import type { Pair } from './applications.ts';

/** The pairs that are shown, most sessions first, each with the number of polls that showed it. */
export type Membership = ReadonlyMap<Pair, number>;

/** A series that comes and goes is of no use in a graph: who is in stays for so many polls. */
const MIN_POLLS = 10;
/** After that it gives way only to a pair that has clearly more sessions. */
const MEMBER_BONUS = 1.2;

interface Candidate {
  readonly pair: Pair;
  readonly pollsShown: number;
  readonly mustStay: boolean;
  readonly score: number;
}

/** Chooses at most `max` pairs by open sessions, with hysteresis in favour of those shown before. */
export function chooseMembers(
  tallies: ReadonlyMap<Pair, ApplicationTally>,
  before: Membership,
  max: number,
): Membership {
  const chosen = [...new Set([...before.keys(), ...tallies.keys()])]
    .map((pair) => candidateOf(pair, tallies.get(pair), before.get(pair)))
    .filter(({ mustStay, score }) => mustStay || score > 0)
    .toSorted(byRank)
    .slice(0, max);
  return new Map(chosen.map(({ pair, pollsShown }) => [pair, pollsShown + 1]));
}

function candidateOf(pair: Pair, tally: ApplicationTally | undefined, pollsShown = 0): Candidate {
  const sessions = tally === undefined ? 0 : sizeOf(tally);
  const isMember = pollsShown > 0;
  return {
    pair,
    pollsShown,
    mustStay: isMember && pollsShown < MIN_POLLS,
    score: isMember ? sessions * MEMBER_BONUS : sessions,
  };
}

/** Ties go to the member, then by name, so that the same sessions always give the same list. */
function byRank(a: Candidate, b: Candidate): number {
  if (a.mustStay !== b.mustStay) return a.mustStay ? -1 : 1;
  if (a.score !== b.score) return b.score - a.score;
  if (a.pollsShown > 0 !== b.pollsShown > 0) return a.pollsShown > 0 ? -1 : 1;
  return a.pair < b.pair ? -1 : 1;
}
