import type { Simulator } from '../../src/simulator/index.ts';
import type { Random } from '../../src/simulator/random.ts';

const KINDS = [
  'kill',
  'suspect',
  'revive',
  'restart',
  'drain',
  'freeze',
  'silence',
  'partition',
  'decommission',
  'die-leaving',
  'stay',
  'move-lease',
  'problem',
  'add-range',
  'remove-range',
  'load',
  'move-statistics',
  'quiescent',
  'open-session',
  'close-session',
  'provision',
  'delete-assistant',
  'time',
] as const;

const PROBLEMS = [
  'unavailable',
  'underreplicated',
  'range_too_large',
  'no_raft_leader',
  'circuit_breaker_error',
  'raft_log_too_large',
] as const;

/** Something that happens in the cluster; whom it happens to is found when it happens. */
export interface WorldEvent {
  readonly kind: (typeof KINDS)[number];
  /** From 0 up to 1. */
  readonly whom: number;
  readonly what: number;
}

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
  const nodes = [...world.state.nodes.values()].filter(
    ({ membership }) => membership !== 'decommissioned',
  );
  const others = nodes.filter(({ id }) => id > under.gateways);
  const node = at(nodes, whom);
  const other = at(others, whom);
  switch (kind) {
    case 'kill':
      return node && world.killNode(node.id);
    case 'suspect':
      return node && world.killNode(node.id, 'unavailable');
    case 'revive':
      return node && world.reviveNode(node.id);
    case 'restart':
      return node?.process === 'up' ? world.restartNode(node.id) : undefined;
    case 'drain':
      return node?.process === 'up' ? world.drainNode(node.id) : undefined;
    case 'freeze':
      return node && world.freezeNode(node.id);
    case 'silence':
      return node?.process === 'up'
        ? world.freezeNode(node.id, what < 0.5 ? 'ranges' : 'ranges-and-sessions')
        : undefined;
    case 'partition':
      return other && world.partition(other.id);
    case 'decommission':
      return other?.process === 'up' ? world.decommission(other.id, what < 0.5) : undefined;
    case 'die-leaving':
      return other && dieLeaving(world, other.id, what);
    case 'stay':
      return other && world.recommission(other.id);
    case 'time':
      return under.pass(1_000 + 40_000 * what);
    default:
      return happenToRest({ kind, whom, what }, under.simulator);
  }
}

/** With its replicas or without; a third of the nodes do not count as dead yet. */
function dieLeaving(world: Simulator['world'], id: number, what: number): void {
  if (what < 0.3) world.decommission(id);
  else world.beginDecommission(id);
  world.killNode(id, what > 0.65 ? 'unavailable' : 'dead');
}

function happenToRest({ kind, whom, what }: WorldEvent, { world }: Simulator): void {
  const range = at([...world.state.ranges.values()], whom);
  const up = [...world.state.nodes.values()].filter(
    ({ process, membership }) => process === 'up' && membership !== 'decommissioned',
  );
  const replica = range && at(range.replicas, what);
  switch (kind) {
    case 'move-lease':
      return range && replica && world.moveLease(range.id, replica.nodeId);
    case 'problem': {
      const problem = at(PROBLEMS, what) ?? 'unavailable';
      return range && world.setProblem(range.id, problem, whom < 0.7);
    }
    case 'add-range':
      if (up.length > 0) world.addRange(up.slice(0, 3).map(({ id }) => id));
      return;
    case 'remove-range':
      return range && world.state.ranges.size > 5 ? world.removeRange(range.id) : undefined;
    case 'move-statistics': {
      const nodeId = at(up, whom)?.id;
      return nodeId === undefined ? undefined : world.moveStatistics(nodeId);
    }
    case 'load':
      return range && world.setLoad(range.id, 3_000 * what);
    case 'quiescent':
      return range && world.setQuiescent(range.id, what < 0.5);
    case 'open-session': {
      const state = at(['active', 'idle_in_transaction', 'idle'] as const, what) ?? 'idle';
      const nodeId = at(up, whom)?.id;
      if (nodeId !== undefined) world.openSession({ nodeId, state, transactionAgeMs: 90_000 });
      return;
    }
    case 'close-session': {
      const id = at([...world.state.openedSessions.keys()], whom);
      return id === undefined ? undefined : world.closeSession(id);
    }
    case 'provision':
      world.provisionAssistant('us-east1');
      return;
    default:
      world.deleteAssistant();
  }
}

function at<T>(items: readonly T[], fraction: number): T | undefined {
  return items[Math.floor(fraction * items.length)];
}
