import type { RuleCase } from './cases.ts';
import { caseOf, DEAD, NOTHING } from './firing.ts';
import { joined } from './together.ts';
import { World } from './world.ts';

/** It is decommissioned, stops half-way, and counts as dead five minutes later. */
function course(minute: number): string {
  if (minute < 20) return 'live';
  if (minute < 30) return 'decommissioning';
  return minute < 35 ? 'unavailable' : 'decommissioned';
}

/** What fires while nodes are decommissioned, and while they die in the middle of it, as one case. */
export function decommissionCases(): readonly RuleCase[] {
  return [joined([leaving(), dying(), twoDying()])];
}

function leaving(): RuleCase {
  const world = new World(150, 'leaves').healthy(6);
  world.liveness(1, (minute) => (minute < 10 ? 'live' : 'decommissioning'));
  const store = { crdb_cluster: world.cluster, node_id: 1, store_id: 1 };
  world.set('crdb_range_replicas', store, (minute) =>
    Math.max(0, 600 - Math.max(0, minute - 10) * 6),
  );
  world.problem('underreplicated', (minute) => (minute > 10 && minute % 7 === 0 ? 3 : 0));
  world.leave(1, 115);
  const quiet = { 60: NOTHING, 95: NOTHING, 114: NOTHING, 116: NOTHING, 149: NOTHING };
  return caseOf(
    'CrdbNodeStuckLeaving: quiet while it goes well, and after the node has left',
    world,
    quiet,
  );
}

function dying(): RuleCase {
  const world = new World(90, 'dies').healthy(6);
  world.liveness(1, course).silence(1, (minute) => minute >= 30);
  world.leave(1, 60);
  const unavailable = { 'CrdbNodeUnavailable warning': 1 };
  return caseOf(
    'CrdbNodeDead: without a gap after CrdbNodeUnavailable, until the decommissioning is finished',
    world,
    {
      29: NOTHING,
      33: unavailable,
      35: unavailable,
      36: unavailable,
      37: { ...unavailable, ...DEAD },
      38: DEAD,
      59: DEAD,
      75: NOTHING,
      89: NOTHING,
    },
  );
}

function twoDying(): RuleCase {
  const world = new World(60, 'two-die').healthy(6);
  for (const id of [1, 2]) {
    world.liveness(id, (minute) => (minute < 30 ? 'decommissioning' : 'decommissioned'));
    world.silence(id, (minute) => minute >= 30);
  }
  const both = { 'CrdbNodeDead warning': 2, 'CrdbMultipleNodesDown critical': 1 };
  return caseOf('CrdbMultipleNodesDown: two nodes die while they leave', world, {
    29: NOTHING,
    33: both,
    59: both,
  });
}
