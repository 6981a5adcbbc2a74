import { DEAD, livenessOf } from '../cockroach/node.ts';
import type { NodesResult } from '../collectors/nodes/collector.ts';
import type { Thresholds } from '../config/alert-settings.ts';
import { capitalize, formatCount, formatList, formatNodes, toTime } from '../format.ts';
import { LIVENESS_STATUSES } from '../vocabulary.ts';
import type { NodesStatus, NodeStatus, Problem } from './status.ts';

export function readNodes({ nodes }: NodesResult): NodesStatus {
  const list = nodes.map((node) => {
    const status: string = livenessOf(node);
    return {
      id: node.id,
      status,
      locality: node.tiers.map(({ key, value }) => `${key}=${value}`).join(','),
      build: node.buildTag,
      recordAt: toTime(node.updatedSeconds * 1000),
      isStale: !DEAD.has(status) && !node.isFresh,
    };
  });
  const builds = list.filter(({ status }) => !DEAD.has(status)).map(({ build }) => build);
  const count = (status: string) => list.filter((node) => node.status === status).length;
  return {
    byStatus: Object.fromEntries(LIVENESS_STATUSES.map((status) => [status, count(status)])),
    builds: [...new Set(builds)].filter((build) => build !== '').toSorted(),
    list,
  };
}

/** The problems of nodes by their liveness; `what` follows `Node 3 is` or `Nodes 3 and 4 are`. */
const LIVENESS_PROBLEMS: Readonly<
  Record<
    string,
    Pick<Problem, 'alert' | 'level' | 'normalSeconds'> & Record<'what' | 'next', string>
  >
> = {
  dead: {
    alert: 'CrdbNodeDead',
    what: 'dead',
    next: '',
  },
  decommissioned: {
    alert: 'CrdbNodeDead',
    what: 'dead, after decommissioning had begun',
    next: '',
  },
  unavailable: {
    alert: 'CrdbNodeUnavailable',
    what: 'unavailable: no recent heartbeat',
    next: 'Check that the process and the machine are up. By default a node counts as dead after 5 min.',
  },
  unknown: {
    level: 'warning',
    what: 'of unknown liveness',
    next: 'Check the log of the node.',
  },
  // Nodes leave for a restart or an upgrade, which is normal.
  draining: {
    alert: 'CrdbNodeStuckLeaving',
    normalSeconds: 3600,
    what: 'draining',
    next: 'Leases and connections move to other nodes, as before a restart.',
  },
  decommissioning: {
    alert: 'CrdbNodeStuckLeaving',
    normalSeconds: 3600,
    what: 'being decommissioned',
    next: 'This ends when all replicas have moved to other nodes.',
  },
};

/** The alert waits this long after the last node with another build. */
const SKEW_SECONDS = 12 * 3600;

/** CrdbMultipleNodesDown needs two nodes, and a share of the cluster. */
const MANY_NODES = 2;

/** A replica can be rebuilt only with so many live nodes. */
const MIN_LIVE = 3;

function isMany(list: NodesStatus['list'], { nodes_down }: Thresholds): boolean {
  const down = list.filter(isDown).length;
  return down >= MANY_NODES && down >= nodes_down * list.length;
}

/**
 * Localities of several nodes that are all down, without those inside of another one. Example: the nodes 1 to 3 of
 * `region=us-east1,zone=b` and node 4 of `region=us-east1,zone=c` are all that is in this region, and down: it is
 * `region=us-east1`.
 */
function findLostLocalities(list: readonly NodeStatus[]): readonly string[] {
  const counts = new Map<string, { nodes: number; down: number }>();
  for (const node of list) {
    for (const prefix of prefixesOf(node.locality)) {
      const count = counts.get(prefix) ?? { nodes: 0, down: 0 };
      count.nodes += 1;
      if (isDown(node)) count.down += 1;
      counts.set(prefix, count);
    }
  }
  const isLost = (prefix: string): boolean => {
    const { nodes = 0, down = 0 } = counts.get(prefix) ?? {};
    return nodes >= MANY_NODES && down === nodes;
  };
  // What is inside of a lost locality is inside of a lost one with one tier less.
  return [...counts.keys()].filter(
    (prefix) => isLost(prefix) && !isLost(prefix.slice(0, Math.max(0, prefix.lastIndexOf(',')))),
  );
}

/** `region=us-east1` and `region=us-east1,zone=b` of the latter; none of an empty locality. */
function prefixesOf(locality: string): readonly string[] {
  const tiers = locality === '' ? [] : locality.split(',');
  return tiers.map((_, at) => tiers.slice(0, at + 1).join(','));
}

/** Nodes whose process or machine is down: their last record is about as old as that. */
export function isDown({ status }: Pick<NodeStatus, 'status'>): boolean {
  return status === 'unavailable' || DEAD.has(status);
}

/** Problems of nodes by their liveness and their records; `refusal` is why dead nodes must not be decommissioned. */
export function nodeProblems(
  { list, builds, byStatus }: NodesStatus,
  refusal: string | undefined,
  thresholds: Thresholds,
): readonly Problem[] {
  const about = 'nodes';
  const areManyDown = isMany(list, thresholds);
  const canRebuild = (byStatus['live'] ?? 0) >= MIN_LIVE || list.length < MIN_LIVE;
  const lost = areManyDown ? findLostLocalities(list) : [];
  const where = lost.length === 0 ? '' : ` Localities without a live node: ${formatList(lost)}.`;
  const byLiveness = Object.entries(LIVENESS_PROBLEMS).flatMap(([status, { what, ...usual }]) => {
    const nodes = list.filter((node) => node.status === status);
    const [first] = nodes;
    if (first === undefined) return [];
    const problem = { ...usual, key: `nodes ${status}`, about } as const;
    const text = `${describeNodes(nodes)} ${nodes.length === 1 ? 'is' : 'are'} ${what}.`;
    if (!isDown(first)) return [{ ...problem, text }];
    const isDead = DEAD.has(status);
    return [
      {
        ...problem,
        alert: areManyDown ? ('CrdbMultipleNodesDown' as const) : usual.alert,
        level: isDead && !areManyDown && !canRebuild ? ('critical' as const) : usual.level,
        text: `${text}${where}`,
        next: isDead ? adviseDeadNodes(nodes.length, refusal) : usual.next,
        // A node that is down wrote its last record just before.
        since: oldestRecord(nodes),
      },
    ];
  });
  // An unavailable node has its problem already.
  const stale = list.filter(({ isStale, status }) => isStale && status !== 'unavailable');
  const staleRecords: Problem = {
    key: 'stale records',
    about,
    alert: 'CrdbNodeRecordStale',
    text: `${describeNodes(stale)} ${stale.length === 1 ? 'has' : 'have'} stopped updating the record that node metrics are read from.`,
    next: 'Check for overload and disk stalls. Values of stale records are not exported.',
    since: oldestRecord(stale),
  };
  const manyBuilds: Problem = {
    key: 'builds',
    about,
    alert: 'CrdbVersionSkew',
    normalSeconds: SKEW_SECONDS,
    text: `The nodes run ${builds.length} builds: ${formatList(builds)}.`,
    next: 'Expected only during an upgrade.',
  };
  return [
    ...byLiveness,
    ...(stale.length > 0 ? [staleRecords] : []),
    ...(builds.length > 1 ? [manyBuilds] : []),
  ];
}

/** The next step for so many dead nodes. */
function adviseDeadNodes(count: number, refusal: string | undefined): string {
  const [them, they] = count === 1 ? ['it', 'it'] : ['them', 'they'];
  return refusal === undefined
    ? `Start ${them} again. No range needs ${them}: if ${they} will not return, remove ${them} with \`cockroach node decommission\`.`
    : `Start ${them} again; do not decommission ${them}: ${refusal}.`;
}

/** `8 of 9`: the live nodes of all. */
export function formatLiveNodes({ byStatus, list }: NodesStatus): string {
  return `${formatCount(byStatus['live'] ?? 0)} of ${formatCount(list.length)}`;
}

function oldestRecord(nodes: readonly NodeStatus[]): string | undefined {
  return nodes.flatMap(({ recordAt }) => recordAt ?? []).toSorted()[0];
}

function describeNodes(nodes: readonly NodeStatus[]): string {
  return capitalize(formatNodes(nodes.map(({ id }) => id)));
}
