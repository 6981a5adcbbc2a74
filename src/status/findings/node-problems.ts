import type { Thresholds } from '#alerts';
import {
  capitalize,
  formatCount,
  formatList,
  formatNodes,
  LIVENESS_STATUSES,
  plural,
  sum,
  toTime,
} from '#base';
import { ACTIVE, DEAD, DOWN, livenessOf } from '#cockroach';
import type { NodesResult } from '#collectors';
import {
  adviseRemoval,
  adviseReturn,
  describeRemoval,
  mayDecommission,
  MIN_LIVE,
} from './dead-nodes.ts';
import { sumOfStores } from './node-metrics.ts';
import type { NodesStatus, NodeStatus } from './node-status.ts';
import { describeUnreadable } from './reachability.ts';
import type { DeadEvidence } from './safe-to-stop.ts';
import type { Problem } from './status.ts';
import { describeHeldUpgrade } from './versions.ts';

/** The nodes for page and JSON; `retired` are those that are gone for good, `writing` those that count as dead and write records. */
export function describeNodes(
  { nodes, unreadable }: NodesResult,
  retired: ReadonlySet<number> = new Set(),
  writing: ReadonlySet<number> = new Set(),
): NodesStatus {
  const list = nodes.map((node) => {
    const status: string = livenessOf(node);
    return {
      id: node.id,
      status,
      locality: node.tiers.map(({ key, value }) => `${key}=${value}`).join(','),
      build: node.buildTag,
      recordAt: toTime(node.updatedSeconds * 1000),
      isStale: !DEAD.has(status) && !node.isFresh,
      replicas: node.isFresh ? sumOfStores(node, 'replicas') : undefined,
      ...(node.isFresh && node.metrics.size === 0 && { hasNoMetrics: true as const }),
      ...(writing.has(node.id) && { isWriting: true as const }),
      ...(retired.has(node.id) && { isRetired: true as const }),
    };
  });
  const active = list.filter(({ status }) => ACTIVE.has(status));
  const builds = active.map(({ build }) => build);
  const count = (status: string) => list.filter((node) => node.status === status).length;
  return {
    byStatus: Object.fromEntries(LIVENESS_STATUSES.map((status) => [status, count(status)])),
    builds: [...new Set(builds)].filter((build) => build !== '').toSorted(),
    ...(unreadable && { unreadable }),
    list,
  };
}

/** The problems of nodes by their liveness; `what` follows `Node 3 is` or `Nodes 3 and 4 are`. */
const LIVENESS_PROBLEMS: Readonly<
  Record<string, Pick<Problem, 'alert' | 'level'> & Record<'what' | 'next', string>>
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
    next: 'Check that the process and the machine are up. By default a node counts as dead 5 min after its last heartbeat; then the cluster begins to replace its replicas. Stop no other node meanwhile, unless it is listed as safe to stop.',
  },
  unknown: {
    level: 'warning',
    what: 'of unknown liveness',
    next: 'Check the log of the node.',
  },
  other: {
    level: 'warning',
    what: 'in a state that this exporter does not know',
    next: 'Compare with DB Console: the release may be newer than this exporter. Until then it counts as down, and no node as safe to stop.',
  },
  draining: {
    alert: 'CrdbNodeStuckLeaving',
    what: 'draining',
    next: 'Leases and connections move to other nodes, as before a restart.',
  },
  decommissioning: {
    alert: 'CrdbNodeStuckLeaving',
    // Of this state the alert needs a history: whether replicas have left the node in the last hours.
    level: 'info',
    what: 'being decommissioned',
    next: 'This ends when all replicas have moved to other nodes: leave it running until then.',
  },
};

/** CrdbMultipleNodesDown needs two nodes that went down within an hour, and a share of the cluster or a whole locality. */
const MANY_NODES = 2;
const AT_ONCE_MS = 3_600_000;

/** Ranges that have lost their quorum with several nodes are not rebuilt, however long that is waited for. */
const RESTART_ALL =
  'Start the nodes that are down, the most recent loss first; do not decommission them and do not wipe their disks.';

function isMany(list: NodesStatus['list'], { nodes_down }: Thresholds): boolean {
  const down = countAtOnce(list.filter(isDown));
  return (
    down >= MANY_NODES && (down >= nodes_down * list.length || findLostLocalities(list).length > 0)
  );
}

/** The most of these nodes that went down within an hour, by their last records; a node without one may be any time. */
function countAtOnce(down: readonly NodeStatus[]): number {
  const times = down.flatMap(({ recordAt }) =>
    recordAt === undefined ? [] : Date.parse(recordAt),
  );
  const sorted = times.toSorted((a, b) => a - b);
  let first = 0;
  const counts = sorted.map((time, last) => {
    while (time - (sorted[first] ?? time) > AT_ONCE_MS) first += 1;
    return last - first + 1;
  });
  return counts.reduce((most, count) => Math.max(most, count), 0) + down.length - times.length;
}

/** The nodes of a locality, and those of the localities inside of it by their tier: `zone=b`. */
interface LocalityTree {
  nodes: number;
  down: number;
  readonly inner: Map<string, LocalityTree>;
}

/**
 * Localities of several nodes that are all down, without those inside of another one: `region=us-east1`. One pass over the
 * tiers of all nodes.
 */
function findLostLocalities(list: readonly NodeStatus[]): readonly string[] {
  const all: LocalityTree = { nodes: 0, down: 0, inner: new Map() };
  for (const node of list) {
    let tree = all;
    for (const tier of node.locality === '' ? [] : node.locality.split(',')) {
      const inner = tree.inner.get(tier) ?? { nodes: 0, down: 0, inner: new Map() };
      tree.inner.set(tier, inner);
      inner.nodes += 1;
      if (isDown(node)) inner.down += 1;
      tree = inner;
    }
  }
  return listLost(all, '');
}

function listLost({ inner }: LocalityTree, outer: string): readonly string[] {
  return [...inner].flatMap(([tier, tree]) => {
    const locality = outer === '' ? tier : `${outer},${tier}`;
    if (tree.down === 0) return [];
    return tree.nodes >= MANY_NODES && tree.down === tree.nodes
      ? [locality]
      : listLost(tree, locality);
  });
}

/** Nodes whose process or machine is down: their last record is about as old as that. */
export function isDown({ status }: Pick<NodeStatus, 'status'>): boolean {
  return DOWN.has(status);
}

/**
 * Problems of nodes by their liveness, and of those with stale records. `ageOf` is how old the record of a node is, in seconds;
 * undefined where its time is wrong.
 */
export function nodeProblems(
  { list: all, builds, versions, unreadable = 0 }: NodesStatus,
  evidence: DeadEvidence,
  thresholds: Thresholds,
  ageOf: (id: number) => number | undefined = () => Infinity,
): readonly Problem[] {
  const about = 'nodes';
  const list = all.filter(({ isRetired }) => !isRetired);
  // An unavailable node has its problem already.
  const stale = list.filter(
    ({ id, isStale, status }) => isStale && status !== 'unavailable' && ageOf(id) !== undefined,
  );
  const isOver = ({ id, status }: NodeStatus): boolean =>
    status === 'live' && (ageOf(id) ?? 0) > thresholds.record_age;
  const staleRecords: Problem = {
    key: 'stale records',
    about,
    nodeIds: stale.map(({ id }) => id),
    alert: 'CrdbNodeRecordStale',
    // The values go before the limit of the alert is reached.
    level: stale.some(isOver) ? undefined : 'info',
    // A late clock is known once two lists have shown it: then ageOf leaves the node out.
    text: `${nameNodes(stale)} ${plural(stale.length, 'has', 'have')} stopped updating the record that node metrics are read from, or ${plural(stale.length, 'its clock is', 'their clocks are')} behind.`,
    next: 'Check for overload, disk stalls and the time service. Values of stale records are not exported.',
    since: oldestRecord(stale),
  };
  const manyBuilds: Problem = {
    key: 'builds',
    about,
    alert: 'CrdbVersionSkew',
    // The alert knows for how long no node was upgraded.
    level: 'info',
    text: `The nodes run ${builds.length} builds: ${formatList(builds)}.`,
    next: 'Expected only during an upgrade.',
  };
  return [
    ...livenessProblems(list, evidence, thresholds),
    ...(stale.length > 0 ? [staleRecords] : []),
    ...(builds.length > 1 ? [manyBuilds] : []),
    ...unreadableProblems(list, unreadable),
    ...retiredProblems(
      all.filter(({ isRetired }) => isRetired),
      versions?.deadWithOlderRelease,
    ),
  ];
}

/** One problem for the nodes of each state; of dead nodes one for those that ranges may need, and one for the others. */
function livenessProblems(
  list: readonly NodeStatus[],
  evidence: DeadEvidence,
  thresholds: Thresholds,
): readonly Problem[] {
  const areManyDown = isMany(list, thresholds);
  const lost = areManyDown ? findLostLocalities(list) : [];
  const where = lost.length === 0 ? '' : ` Localities without a live node: ${formatList(lost)}.`;
  const live = list.filter(({ status }) => status === 'live').length;
  const canRebuild = live >= MIN_LIVE || list.length < MIN_LIVE;
  const groups = Map.groupBy(list, ({ id, status, isWriting }) =>
    isWriting
      ? `${status} writing`
      : DEAD.has(status) && mayDecommission(evidence, id)
        ? `${status} unneeded`
        : status,
  );
  return Object.entries(LIVENESS_PROBLEMS).flatMap(([status, { what, ...usual }]) =>
    [status, `${status} unneeded`, `${status} writing`].flatMap((group) => {
      const nodes = groups.get(group) ?? [];
      const [first] = nodes;
      if (first === undefined) return [];
      const ids = nodes.map(({ id }) => id);
      const problem = { ...usual, key: `nodes ${group}`, about: 'nodes', nodeIds: ids } as const;
      const isNeeded = group === status;
      const text = `${nameNodes(nodes)} ${plural(nodes.length, 'is', 'are')} ${what}${isNeeded ? '' : `, and no range needs ${plural(nodes.length, 'it', 'them')}`}.`;
      const left = status === 'decommissioning' ? describeLeft(nodes) : '';
      if (!isDown(first)) {
        const still = status === 'decommissioning' ? ` ${adviseWaiting(first)}` : '';
        return [{ ...problem, text: `${text}${left}`, next: `${usual.next}${still}` }];
      }
      const isDead = DEAD.has(status);
      const advice = isNeeded ? adviseReturn(ids, evidence, live, canRebuild) : adviseRemoval(ids);
      const alert = areManyDown ? ('CrdbMultipleNodesDown' as const) : usual.alert;
      const level = isDead && !areManyDown && !canRebuild ? ('critical' as const) : usual.level;
      if (first.isWriting) return [{ ...problem, alert, level, ...describeWriting(nodes, what) }];
      return [
        {
          ...problem,
          alert,
          level,
          text: `${text}${where}`,
          next: isDead ? advice : areManyDown ? RESTART_ALL : usual.next,
          // A node that is down wrote its last record just before.
          since: oldestRecord(nodes),
        },
      ];
    }),
  );
}

/** Nodes that count as dead although they write their records: their processes run. */
function describeWriting(nodes: readonly NodeStatus[], what: string) {
  const writes = plural(nodes.length, 'writes its record', 'write their records');
  const they = plural(nodes.length, 'It runs', 'They run');
  return {
    text: `${nameNodes(nodes)} ${plural(nodes.length, 'is', 'are')} ${what}, by the others, but ${writes}.`,
    next: `${they}, but heartbeats do not arrive or no store is gossiped: check network, disk and log there. Meanwhile the cluster replaces the replicas. Do not decommission ${plural(nodes.length, 'it', 'them')}, and stop no other node.`,
  };
}

/** What a decommissioning may wait for, and how to find it. */
function adviseWaiting({ id, obstacle }: NodeStatus): string {
  const known = obstacle === undefined ? '' : ` ${obstacle};`;
  return `If their number does not fall:${known} \`crdb-exporter ranges ${id} --still-after 10m\` lists the ranges that do not move.`;
}

/** The replicas that a decommissioning waits for, as far as the nodes count them. */
function describeLeft(nodes: readonly NodeStatus[]): string {
  const counts = nodes.flatMap(({ replicas }) => replicas ?? []);
  if (counts.length === 0) return '';
  const left = sum(counts);
  const least = counts.length < nodes.length ? 'At least ' : '';
  const have = plural(left, 'replica has', 'replicas have');
  return ` ${least}${formatCount(left)} ${have} not left ${plural(nodes.length, 'it', 'them')} yet.`;
}

/** What a list of nodes does not say, as of a release that is newer than this exporter. */
function unreadableProblems(list: readonly NodeStatus[], unreadable: number): readonly Problem[] {
  const silent = list.filter(({ hasNoMetrics }) => hasNoMetrics);
  const next = 'Compare with DB Console: the release may be newer than this exporter.';
  const shared = { about: 'nodes', level: 'warning', next } as const;
  const have = plural(silent.length, 'has', 'have');
  return [
    ...(unreadable === 0
      ? []
      : [{ ...shared, key: 'unreadable nodes', text: `${describeUnreadable(unreadable)}.` }]),
    ...(silent.length === 0
      ? []
      : [
          {
            ...shared,
            key: 'nodes without metrics',
            nodeIds: silent.map(({ id }) => id),
            text: `The ${plural(silent.length, 'record', 'records')} of ${formatNodes(silent.map(({ id }) => id))} ${have} none of the metrics that are read: disks, clocks and load are not known.`,
          },
        ]),
  ];
}

/** Decommissioned nodes are reported as information. */
function retiredProblems(
  nodes: readonly NodeStatus[],
  withOlderRelease: readonly number[] = [],
): readonly Problem[] {
  const [unknown, dead] = [
    nodes.filter(({ status }) => status === 'unknown'),
    nodes.filter(({ status }) => status !== 'unknown'),
  ];
  const shared = { about: 'nodes', level: 'info' } as const;
  const holding = dead.map(({ id }) => id).filter((id) => withOlderRelease.includes(id));
  const held = holding.length === 0 ? '' : ` ${capitalize(describeHeldUpgrade(holding))}.`;
  return [
    ...(dead.length === 0
      ? []
      : [
          {
            ...shared,
            key: 'retired nodes',
            text: `${nameNodes(dead)} ${plural(dead.length, 'has', 'have')} been dead for more than a week, and no range needs ${plural(dead.length, 'it', 'them')}.${held}`,
            next: describeRemoval(dead.map(({ id }) => id)),
            since: oldestRecord(dead),
          },
        ]),
    ...(unknown.length === 0
      ? []
      : [
          {
            ...shared,
            key: 'records without liveness',
            text: `${nameNodes(unknown)} ${plural(unknown.length, 'has', 'have')} an old record and no liveness.`,
            next: 'Nothing is to be done: it is no member, or never became one.',
            since: oldestRecord(unknown),
          },
        ]),
  ];
}

/** `8 of 9`: the live nodes of all that are not gone for good. */
export function formatLiveNodes({ byStatus, list }: NodesStatus): string {
  const members = list.filter(({ isRetired }) => !isRetired).length;
  return `${formatCount(byStatus['live'] ?? 0)} of ${formatCount(members)}`;
}

function oldestRecord(nodes: readonly NodeStatus[]): string | undefined {
  return nodes.flatMap(({ recordAt }) => recordAt ?? []).toSorted()[0];
}

function nameNodes(nodes: readonly NodeStatus[]): string {
  return capitalize(formatNodes(nodes.map(({ id }) => id)));
}
