import { workloadSteps } from './workload-incident.ts';
import type { Range } from './world/ranges.ts';
import { isVoter } from './world/replica-types.ts';
import { nodeIdsOf } from './world/state.ts';
import type { World } from './world/world.ts';

/** Changes to the world over time. */
export interface Scenario {
  /** Its main events, in the order of time. */
  readonly events: readonly { readonly second: number; readonly text: string }[];
  /** Applies the changes that are due; called before each response. */
  advance(): void;
}

interface Step {
  readonly second: number;
  /** What it does, for people. */
  readonly text?: string;
  apply(): void;
}

/** The scenario starts over after this many seconds of its own time. */
export const CYCLE_SECONDS = 300;
/** With fewer nodes beside the gateways none is decommissioned: too few would be left. */
const LEAVING_AMONG = 5;
const LEAKY_APPLICATION = 'leaky-service';
const LEAKY_SESSIONS = 6;
/** More than one core for one range. */
const HOT_QUERIES_PER_SECOND = 6000;
const FEW_QUERIES_PER_SECOND = 3;
/** CPU seconds per second. */
const EXPENSIVE_CPU = 1.2;
const PROBLEMS = [
  'no_lease',
  'circuit_breaker_error',
  'raft_log_too_large',
  'paused_followers',
] as const;

/** No changes. */
export function calmScenario(): Scenario {
  return { events: [], advance: () => undefined };
}

/**
 * Two nodes fail and recover, a third one dies while it is decommissioned, ranges are lost with two of them, a range gets
 * hot by queries and another one by CPU alone,
 * replicas report problems, an application leaves transactions open,
 * and the migration assistant fails once before it runs: a cycle of five minutes.
 */
export function incidentScenario(world: World): Scenario {
  const { state } = world;
  const steps = createSteps(world);
  let cycle = 0;
  let next = 0;
  return {
    events: steps.flatMap(({ second, text }) => (text === undefined ? [] : [{ second, text }])),
    advance: () => {
      const seconds = ((state.options.now() - state.startMs) / 1000) * state.options.timeScale;
      const current = Math.floor(seconds / CYCLE_SECONDS);
      // After a long pause whole cycles are skipped; each ends in the state in which it began.
      if (current > cycle + 1 && next === 0) cycle = current - 1;
      while (cycle < current || (steps[next]?.second ?? Infinity) <= seconds % CYCLE_SECONDS) {
        steps[next]?.apply();
        next++;
        if (next < steps.length) continue;
        if (cycle >= current) return;
        next = 0;
        cycle++;
      }
    },
  };
}

function createSteps(world: World): Step[] {
  const steps = [
    ...nodeFailures(world),
    ...interruptedDecommission(world),
    ...rangeProblems(world),
    ...leakySessions(world),
    ...assistantSteps(world),
    ...workloadSteps(world),
    ...pinnedRange(world),
    ...expensiveRange(world),
  ];
  return steps.toSorted((a, b) => a.second - b.second);
}

/** One node dies; meanwhile another one is unavailable for a minute, and ranges on both lose their quorum. */
function nodeFailures(world: World): Step[] {
  const { state } = world;
  const [first, second] = nodeIdsOf(state)
    .filter((id) => id > state.options.gateways)
    .toReversed();
  const steps: Step[] = [];
  if (first !== undefined) {
    steps.push(
      { second: 20, apply: () => world.killNode(first, 'unavailable') },
      { second: 50, text: `node ${first} dies`, apply: () => world.killNode(first, 'dead') },
      { second: 210, text: `node ${first} is live again`, apply: () => world.reviveNode(first) },
    );
  }
  if (second !== undefined) {
    steps.push(
      {
        second: 80,
        text: `node ${second} becomes unavailable: ranges lose their quorum`,
        apply: () => world.killNode(second, 'unavailable'),
      },
      { second: 150, text: `node ${second} is live again`, apply: () => world.reviveNode(second) },
    );
  }
  return steps;
}

/** A node dies while it is decommissioned, with the last replica of a range; when it is started again, it may stay. */
function interruptedDecommission(world: World): Step[] {
  const { state } = world;
  const others = nodeIdsOf(state).filter((id) => id > state.options.gateways);
  const node = others.length < LEAVING_AMONG ? undefined : others.at(-3);
  const range = tableRanges(world).at(-2);
  if (node === undefined || range === undefined) return [];
  const placeAsBefore = placementOf(world, range);
  return [
    {
      second: 155,
      text: `node ${node} is decommissioned`,
      apply: () => world.beginDecommission(node),
    },
    { second: 165, apply: () => world.placeRange(range.id, [node]) },
    { second: 170, apply: () => world.killNode(node, 'unavailable') },
    {
      second: 190,
      text: `node ${node} is dead before it has left: a range is lost with it`,
      apply: () => world.killNode(node, 'dead'),
    },
    { second: 230, text: `node ${node} is started again`, apply: () => world.reviveNode(node) },
    {
      second: 255,
      text: `node ${node} may stay`,
      apply: () => {
        placeAsBefore();
        world.recommission(node);
      },
    },
  ];
}

/** A range with a single replica, on the node that is unavailable for a minute: nobody reports it then. */
function pinnedRange(world: World): Step[] {
  const { state } = world;
  const node = nodeIdsOf(state)
    .filter((id) => id > state.options.gateways)
    .at(-2);
  const range = tableRanges(world).at(-1);
  if (node === undefined || range === undefined) return [];
  const placeAsBefore = placementOf(world, range);
  return [
    { second: 60, apply: () => world.placeRange(range.id, [node]) },
    { second: 160, apply: placeAsBefore },
  ];
}

/** Puts the replicas of the range where they are now. */
function placementOf(world: World, { id, replicas }: Range): () => void {
  const nodesOf = (areVoters: boolean): number[] =>
    replicas.filter((each) => isVoter(each) === areVoters).map(({ nodeId }) => nodeId);
  const [voters, nonVoters] = [nodesOf(true), nodesOf(false)];
  return () => world.placeRange(id, voters, nonVoters);
}

/** A range of another table that is hot by CPU, with few queries. */
function expensiveRange(world: World): Step[] {
  const [first, ...others] = tableRanges(world);
  const range = others.find(({ tableId }) => tableId !== first?.tableId);
  if (range === undefined) return [];
  const { id, queriesPerSecond } = range;
  return [
    { second: 45, apply: () => world.setLoad(id, FEW_QUERIES_PER_SECOND, EXPENSIVE_CPU) },
    { second: 235, apply: () => world.setLoad(id, queriesPerSecond) },
  ];
}

function tableRanges({ state }: World): Range[] {
  return [...state.ranges.values()].filter(({ tableId }) => tableId !== undefined);
}

/** Problems of ranges on nodes that stay live. */
function rangeProblems(world: World): Step[] {
  const ids = [...world.state.ranges.keys()];
  const hot = ids.find((id) => world.state.ranges.get(id)?.tableId !== undefined) ?? ids[0] ?? 1;
  const before = world.state.ranges.get(hot)?.queriesPerSecond ?? 0;
  const setAll = (on: boolean): void => {
    for (const [index, problem] of PROBLEMS.entries()) {
      const id = ids[(index + 1) * Math.floor(ids.length / (PROBLEMS.length + 1))];
      if (id !== undefined) world.setProblem(id, problem, on);
    }
  };
  return [
    {
      second: 40,
      text: `range ${hot} gets hot`,
      apply: () => world.setLoad(hot, HOT_QUERIES_PER_SECOND),
    },
    {
      second: 90,
      text: 'ranges report problems: no lease, tripped circuit breakers',
      apply: () => setAll(true),
    },
    { second: 200, apply: () => setAll(false) },
    { second: 240, text: `range ${hot} cools down`, apply: () => world.setLoad(hot, before) },
  ];
}

/** The transactions have been open for some minutes already. */
function leakySessions(world: World): Step[] {
  const steps: Step[] = Array.from({ length: LEAKY_SESSIONS }, (_, index) => ({
    second: 30 + index * 15,
    ...(index === 0 && { text: `${LEAKY_APPLICATION} begins to leave transactions open` }),
    apply: () => {
      world.openSession({
        nodeId: 1,
        username: 'payments',
        applicationName: LEAKY_APPLICATION,
        state: 'idle_in_transaction',
        transactionAgeMs: (6 + 3 * index) * 60_000,
      });
    },
  }));
  return [
    ...steps,
    {
      second: 260,
      text: `${LEAKY_APPLICATION} closes its sessions`,
      apply: () => world.dropOpenedSessions(),
    },
  ];
}

function assistantSteps(world: World): Step[] {
  return [
    {
      second: 10,
      text: 'a migration assistant is deployed, and fails',
      apply: () => {
        world.failNextProvisioning();
        world.provisionAssistant('');
      },
    },
    {
      second: 100,
      text: 'a second migration assistant is deployed',
      apply: () => world.provisionAssistant(''),
    },
    { second: 180, apply: () => world.setAssistant({ health: 'UNAVAILABLE' }) },
    { second: 200, apply: () => world.setAssistant({ health: 'HEALTHY' }) },
    { second: 265, apply: () => world.deleteAssistant() },
  ];
}
