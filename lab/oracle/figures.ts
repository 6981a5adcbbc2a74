import { isReachable } from '../../simulator/world/nodes.ts';
import { listedNodes } from '../../simulator/world/state.ts';
import type { Exposition } from './rule.ts';
import type { OracleWorld } from './world.ts';

/** Replicas of a range that the exporter names. */
const KEPT_REPLICAS = 8;

/** A gap is confirmed by this many scans. */
const CONFIRMING_SCANS = 3;

/** Where the figures of a scan that verified all ranges differ from the truth, in a world in which nothing happened since it began. */
export function compareFigures(
  metrics: Exposition,
  { moments, now, state, reads }: OracleWorld,
  calmScans: number,
  began: number,
): readonly string[] {
  const moment = moments[now];
  if (moment === undefined) return [];
  const { dependence } = moment;
  const found: string[] = [];
  const compare = (
    what: string,
    actual: number | undefined,
    expected: number | undefined,
  ): void => {
    if (actual !== expected) found.push(`${what}: ${actual}, in truth ${expected}`);
  };
  const { lost } = dependence;
  const isWhole = lost.length === 0;
  compare('key space complete', metrics.value('crdb_range_key_space_complete'), isWhole ? 1 : 0);
  const gap = metrics.value('crdb_range_key_space_gap');
  if (isWhole || calmScans >= CONFIRMING_SCANS) compare('gap', gap, isWhole ? 0 : 1);
  compare('left-over ranges', metrics.value('crdb_ranges_left_over'), leftOversIn(state));
  const withoutReplica = metrics.value('crdb_ranges_without_live_replica');
  const known = lost.filter((id) => reads.exporter.hasSeenLost(id));
  if (withoutReplica !== undefined || isWhole) compare('lost ranges', withoutReplica, known.length);
  // What a node claims to be unavailable counts as without a quorum, also when it said so once, while the scan read it.
  if (moments.slice(began).some(({ outages }) => outages.claimed)) return found;
  for (const [node_id, domain] of Object.entries(dependence.nodes)) {
    const effects = {
      quorum: domain.quorum,
      all_replicas: domain.allReplicas,
      without_quorum: domain.withoutQuorum,
    };
    for (const [effect, expected] of Object.entries(effects)) {
      const actual = metrics.value('crdb_node_dependent_ranges', { node_id, effect });
      compare(`node ${node_id} ${effect}`, actual, expected);
    }
  }
  for (const [name, domain] of Object.entries(dependence.localities)) {
    const [tier = '', locality = ''] = name.split(' ');
    for (const [effect, expected] of [
      ['quorum', domain.quorum],
      ['all_replicas', domain.allReplicas],
    ] as const) {
      const actual = metrics.value('crdb_locality_dependent_ranges', { tier, locality, effect });
      compare(`${locality} ${effect}`, actual, expected);
    }
  }
  for (const node of listedNodes(state).filter((each) => !isReachable(each))) {
    const named = [...state.ranges.values()].filter(
      ({ id, replicas }) =>
        (!lost.includes(id) || known.includes(id)) &&
        replicas.some(({ nodeId }) => nodeId === node.id),
    );
    const actual = metrics.value('crdb_node_down_replicas', { node_id: String(node.id) }) ?? 0;
    // Of a range with more replicas than it keeps places for the exporter knows the first ones.
    const beyond = named.filter(({ replicas }) => replicas.length > KEPT_REPLICAS).length;
    const isPossible = actual <= named.length && actual >= named.length - beyond;
    compare(
      `replicas on node ${node.id}, which is down`,
      actual,
      isPossible ? actual : named.length,
    );
  }
  return found;
}

/** Ranges of which a node that is up holds what a merge left behind. */
function leftOversIn({ removed, nodes }: OracleWorld['state']): number {
  const isUp = (id: number): boolean => {
    const node = nodes.get(id);
    return node !== undefined && isReachable(node);
  };
  const held = removed.filter(({ isLeftOver, replica }) => isLeftOver && isUp(replica.nodeId));
  return new Set(held.map(({ range }) => range.id)).size;
}
