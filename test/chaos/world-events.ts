import { RELEASES, type Simulator } from '../../simulator/index.ts';
import type { Random } from '../../simulator/random.ts';

const PROBLEMS = [
  'underreplicated',
  'range_too_large',
  'no_raft_leader',
  'circuit_breaker_error',
  'raft_log_too_large',
] as const;
export const LICENSES = ['installed', 'none', 'expired', 'unreported'] as const;
const JOBS = [
  'backup',
  'changefeed',
  'import',
  'restore',
  'row_level_ttl',
  'schema_change',
] as const;
const SESSION_STATES = ['active', 'idle_in_transaction', 'idle'] as const;

/** Something that happens in the cluster; whom it happens to is found when it happens. */
export interface WorldEvent {
  readonly kind: string;
  /** From 0 up to 1. */
  readonly whom: number;
  readonly what: number;
}

type World = Simulator['world'];

/** To a node that has not left. `what` is from 0 up to 1. */
const TO_NODES: Readonly<Record<string, (world: World, id: number, what: number) => unknown>> = {
  kill: (world, id) => world.killNode(id),
  suspect: (world, id) => world.killNode(id, 'unavailable'),
  revive: (world, id) => world.reviveNode(id),
  freeze: (world, id) => world.freezeNode(id),
};

/** To a node whose process runs. */
const TO_RUNNING: typeof TO_NODES = {
  restart: (world, id) => world.restartNode(id),
  drain: (world, id) => world.drainNode(id),
  upgrade: (world, id) => {
    const node = world.state.nodes.get(id);
    const next = node && RELEASES[RELEASES.indexOf(node.release) + 1];
    if (next !== undefined) world.upgradeNode(id, next);
  },
  silence: (world, id, what) => world.freezeNode(id, what < 0.5 ? 'ranges' : 'ranges-and-sessions'),
  'move-statistics': (world, id) => world.moveStatistics(id),
  'fail-job': (world, id, what) => world.failJob(pick(JOBS, what) ?? 'import', id),
  backfill: (world, id, what) => world.backfill(what < 0.5 ? id : undefined),
  'open-session': (world, nodeId, what) => {
    const state = pick(SESSION_STATES, what) ?? 'idle';
    // Some are those of the exporter's own user, who may see no others.
    const username = (what * 10) % 1 < 0.3 ? 'exporter' : 'movr';
    world.openSession({ nodeId, state, username, transactionAgeMs: 90_000 });
  },
};

/** To a node at which the exporter has no URL. */
const TO_OTHERS: typeof TO_NODES = {
  partition: (world, id) => world.partition(id),
  decommission: (world, id, what) => {
    if (world.state.nodes.get(id)?.process === 'up') world.decommission(id, what < 0.5);
  },
  // With its replicas or without; a third of the nodes do not count as dead yet.
  'die-leaving': (world, id, what) => {
    if (what < 0.3) world.decommission(id);
    else world.beginDecommission(id);
    world.killNode(id, what > 0.65 ? 'unavailable' : 'dead');
  },
  stay: (world, id) => world.recommission(id),
  replace: (world, id) => world.replaceNode(id),
};

const TO_RANGES: typeof TO_NODES = {
  'move-lease': (world, id, what) => {
    const replica = pick(world.state.ranges.get(id)?.replicas ?? [], what);
    if (replica !== undefined) world.moveLease(id, replica.nodeId);
  },
  problem: (world, id, what) => world.setProblem(id, pick(PROBLEMS, what) ?? 'no_lease', true),
  repair: (world, id, what) => world.setProblem(id, pick(PROBLEMS, what) ?? 'no_lease', false),
  'remove-range': (world, id) => {
    if (world.state.ranges.size > 5) world.removeRange(id);
  },
  split: (world, id) => world.splitRange(id),
  // Of two tables: both share the range then.
  merge: (world, id) => world.mergeRange(id),
  load: (world, id, what) => world.setLoad(id, 3_000 * what),
  quiescent: (world, id, what) => world.setQuiescent(id, what < 0.5),
};

/** To the cluster as a whole. */
const TO_CLUSTER: Readonly<Record<string, (world: World, what: number) => unknown>> = {
  'pause-job': (world, what) => world.pauseJob(pick(JOBS, what) ?? 'import', 1e7 * what),
  'resume-job': (world, what) => world.resumeJob(pick(JOBS, what) ?? 'import'),
  'retry-changefeed': (world, what) => world.retryChangefeed(what < 0.6 ? 'no sink' : undefined),
  license: (world, what) => world.setLicense(pick(LICENSES, what) ?? 'installed'),
};

const KINDS = [
  ...[TO_NODES, TO_RUNNING, TO_OTHERS, TO_RANGES, TO_CLUSTER].flatMap((events) =>
    Object.keys(events),
  ),
  'add-range',
  'close-session',
  'provision',
  'delete-assistant',
  'time',
];

export function drawWorldEvent(random: Random): WorldEvent {
  return { kind: random.pick(KINDS), whom: random.next(), what: random.next() };
}

export interface WorldUnderTest {
  readonly simulator: Simulator;
  readonly gateways: number;
  /** Lets the world's clock go on. */
  readonly pass: (milliseconds: number) => void;
}

/** Lets it happen; an event that finds nobody to happen to is none. */
export function happen({ kind, whom, what }: WorldEvent, under: WorldUnderTest): void {
  const { world } = under.simulator;
  const members = [...world.state.nodes.values()].filter(
    ({ membership, isRelic }) => membership !== 'decommissioned' && !isRelic,
  );
  const nodes = members.map(({ id }) => id);
  const up = members.filter(({ process }) => process === 'up').map(({ id }) => id);
  const others = nodes.filter((id) => id > under.gateways);
  for (const [events, ids] of [
    [TO_NODES, nodes],
    [TO_RUNNING, up],
    [TO_OTHERS, others],
    [TO_RANGES, [...world.state.ranges.keys()]],
  ] as const) {
    const id = pick(ids, whom);
    if (id !== undefined) events[kind]?.(world, id, what);
  }
  TO_CLUSTER[kind]?.(world, what);
  if (kind === 'add-range' && up.length > 0) world.addRange(up.slice(0, 3));
  if (kind === 'close-session') {
    const id = pick([...world.state.openedSessions.keys()], whom);
    if (id !== undefined) world.closeSession(id);
  }
  if (kind === 'provision') world.provisionAssistant('us-east1');
  if (kind === 'delete-assistant') world.deleteAssistant();
  if (kind === 'time') under.pass(1_000 + 40_000 * what);
}

function pick<T>(items: readonly T[], fraction: number): T | undefined {
  return items[Math.floor(fraction * items.length)];
}
