import type { Range } from './ranges.ts';
import type { WorldState } from './state.ts';

/** With fewer members than a zone wants voters, the server still wants this many. */
const LEAST_VOTERS = 3;

/**
 * The voters that the server wants now: those of the zone; where the cluster has fewer members, dead ones included and
 * leaving ones not, their number, made odd. Example: of 5 voters with 2 of 5 nodes leaving it wants 3.
 */
export function neededVoters(state: WorldState, { wantedVoters }: Range): number {
  const members = countMembers(state);
  if (members >= wantedVoters) return wantedVoters;
  const odd = members - (members % 2 === 0 ? 1 : 0);
  return Math.min(wantedVoters, Math.max(LEAST_VOTERS, odd));
}

/** The non-voters that the server wants now: those of the zone, as far as there are members beside its voters. */
export function neededNonVoters(state: WorldState, range: Range): number {
  const { wantedVoters, wantedReplicas } = range;
  return Math.max(0, Math.min(wantedReplicas - wantedVoters, countMembers(state) - wantedVoters));
}

function countMembers(state: WorldState): number {
  return [...state.nodes.values()].filter(({ membership }) => membership === 'active').length;
}
