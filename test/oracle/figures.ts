import { isReachable } from '../../simulator/world/nodes.ts';
import { listedNodes } from '../../simulator/world/state.ts';
import type { Exposition } from './rule.ts';
import type { OracleWorld } from './world.ts';

/** A gap is confirmed by so many scans. */
const CONFIRMING_SCANS = 3;

/** Where the figures of a scan that verified all ranges differ from the truth, in a world in which nothing happened since it began. */
export function compareFigures(
  metrics: Exposition,
  { moments, now, state, reads }: OracleWorld,
  calmScans: number,
): readonly string[] {
  const { dependence } = moments[now] ?? { dependence: undefined };
  if (dependence === undefined) return [];
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
  const withoutReplica = metrics.value('crdb_ranges_without_live_replica');
  const known = lost.filter((id) => reads.exporter.hasSeenLost(id));
  if (withoutReplica !== undefined || isWhole) compare('lost ranges', withoutReplica, known.length);
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
    compare(
      `replicas on node ${node.id}, which is down`,
      metrics.value('crdb_node_down_replicas', { node_id: String(node.id) }),
      named.length,
    );
  }
  return found;
}
