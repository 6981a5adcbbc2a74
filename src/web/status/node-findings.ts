import type { ClusterFacts } from './facts.ts';
import type { Finding } from './findings.ts';
import type { NodesStatus, NodeStatus } from './nodes.ts';
import { sayList, sayPercent } from './words.ts';

interface StatusRule {
  readonly level: Finding['level'];
  /** Follows `Node 3` or `Nodes 3 and 4`. */
  readonly one: string;
  readonly many: string;
  readonly next: string;
}

const STATUS_RULES: Readonly<Record<string, StatusRule>> = {
  dead: {
    level: 'trouble',
    one: 'is dead',
    many: 'are dead',
    next: 'Start it again, or, when it will not come back, run `cockroach node decommission` for it.',
  },
  unavailable: {
    level: 'trouble',
    one: 'is unavailable: its heartbeat has expired',
    many: 'are unavailable: their heartbeats have expired',
    next: 'See whether the process and the machine are up; by default it counts as dead after 5 min.',
  },
  unknown: {
    level: 'warning',
    one: 'is of unknown liveness',
    many: 'are of unknown liveness',
    next: 'See the log of the node.',
  },
  draining: {
    level: 'notice',
    one: 'is draining',
    many: 'are draining',
    next: 'It gives up its leases and connections, as before a restart.',
  },
  decommissioning: {
    level: 'notice',
    one: 'is being decommissioned',
    many: 'are being decommissioned',
    next: 'It takes until all its replicas have moved.',
  },
};

const FULL_RATIO = 0.85;
const NEARLY_NO_SPACE_RATIO = 0.95;

export function findInNodes({ nodes }: ClusterFacts): readonly Finding[] {
  if (nodes === undefined) return [];
  return [...findStatuses(nodes), ...findStale(nodes), ...findFull(nodes), ...findBuilds(nodes)];
}

function findStatuses({ list }: NodesStatus): readonly Finding[] {
  return Object.entries(STATUS_RULES).flatMap(([status, { level, one, many, next }]) => {
    const nodes = list.filter((node) => node.status === status);
    if (nodes.length === 0) return [];
    const ids = nodes.map(({ id }) => id);
    const text = `${sayNodes(ids)} ${pick(ids, one, many)}.`;
    // A node that is down wrote its last record just before.
    const since = level === 'trouble' ? oldestRecord(nodes) : undefined;
    return [{ key: `nodes ${status}`, level, text, next, since }];
  });
}

function oldestRecord(nodes: readonly NodeStatus[]): string | undefined {
  return nodes.flatMap(({ recordAt }) => recordAt ?? []).toSorted()[0];
}

function findStale({ list }: NodesStatus): readonly Finding[] {
  // Of an unavailable node it is said already.
  const stale = list.filter(({ isStale, status }) => isStale && status !== 'unavailable');
  if (stale.length === 0) return [];
  const ids = stale.map(({ id }) => id);
  const verb = pick(ids, 'has', 'have');
  return [
    {
      key: 'stale records',
      level: 'warning',
      text: `${sayNodes(ids)} ${verb} stopped writing the record that ${pick(ids, 'its', 'their')} metrics come from.`,
      next: 'See whether the node is overloaded or its disk stalls; old values are left out meanwhile.',
      since: oldestRecord(stale),
    },
  ];
}

function findFull({ list }: NodesStatus): readonly Finding[] {
  const full = list.filter(({ storeUsedRatio = 0 }) => storeUsedRatio >= FULL_RATIO);
  if (full.length === 0) return [];
  const ids = full.map(({ id }) => id);
  const fullest = Math.max(...full.map(({ storeUsedRatio = 0 }) => storeUsedRatio));
  return [
    {
      key: 'full stores',
      level: fullest >= NEARLY_NO_SPACE_RATIO ? 'trouble' : 'warning',
      text: `A store of ${sayNodes(ids).toLowerCase()} is nearly full, the fullest ${sayPercent(fullest)}.`,
      next: 'Add space or nodes: a node with a full disk stops.',
    },
  ];
}

function findBuilds({ builds }: NodesStatus): readonly Finding[] {
  if (builds.length < 2) return [];
  const text = `The nodes run ${builds.length} builds: ${sayList(builds)}.`;
  return [{ key: 'builds', level: 'notice', text, next: 'Usual during an upgrade only.' }];
}

function sayNodes(ids: readonly number[]): string {
  return `${pick(ids, 'Node', 'Nodes')} ${sayList(ids)}`;
}

function pick(ids: readonly number[], one: string, many: string): string {
  return ids.length === 1 ? one : many;
}
