import type { World } from './world/world.ts';

/** A story that goes on whenever somebody looks at the world. */
export interface Story {
  /** Lets everything happen that is due by now. */
  advance(): void;
}

interface Step {
  readonly second: number;
  happen(): void;
}

/** The story begins again after this many seconds of its own time. */
const CYCLE_SECONDS = 300;
const LEAKY_APPLICATION = 'leaky-service';
const LEAKY_SESSIONS = 6;
/** More than one core for one range. */
const HOT_QUERIES_PER_SECOND = 6000;
const PROBLEMS = [
  'no_lease',
  'circuit_breaker_error',
  'raft_log_too_large',
  'paused_followers',
] as const;

/** Nothing ever happens. */
export function calmStory(): Story {
  return { advance: () => undefined };
}

/**
 * Two nodes fall and rise again, a range gets hot, replicas report problems, an application leaves transactions open,
 * and the migration assistant fails once before it runs: about five minutes, over and over.
 */
export function incidentStory(world: World): Story {
  const { state } = world;
  const steps = stepsOf(world);
  let cycle = 0;
  let next = 0;
  return {
    advance: () => {
      const seconds = ((state.options.now() - state.startMs) / 1000) * state.options.timeScale;
      const current = Math.floor(seconds / CYCLE_SECONDS);
      // After a long silence whole cycles are left out; each ends as it began.
      if (current > cycle + 1 && next === 0) cycle = current - 1;
      while (cycle < current || (steps[next]?.second ?? Infinity) <= seconds % CYCLE_SECONDS) {
        steps[next]?.happen();
        next++;
        if (next < steps.length) continue;
        if (cycle >= current) return;
        next = 0;
        cycle++;
      }
    },
  };
}

function stepsOf(world: World): Step[] {
  const steps = [
    ...fallingNodes(world),
    ...trouble(world),
    ...leakingApplication(world),
    ...assistantSteps(world),
  ];
  return steps.toSorted((a, b) => a.second - b.second);
}

/** One node dies; while it is away another one is lost for a minute, and ranges on both lose their quorum. */
function fallingNodes(world: World): Step[] {
  const { state } = world;
  const [first, second] = [...state.nodes.keys()]
    .filter((id) => id > state.options.gateways)
    .toReversed();
  const steps: Step[] = [];
  if (first !== undefined) {
    steps.push(
      { second: 20, happen: () => world.killNode(first, 'unavailable') },
      { second: 50, happen: () => world.killNode(first, 'dead') },
      { second: 210, happen: () => world.reviveNode(first) },
    );
  }
  if (second !== undefined) {
    steps.push(
      { second: 80, happen: () => world.killNode(second, 'unavailable') },
      { second: 150, happen: () => world.reviveNode(second) },
    );
  }
  return steps;
}

/** Ranges that stay on nodes that stay. */
function trouble(world: World): Step[] {
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
    { second: 40, happen: () => world.setLoad(hot, HOT_QUERIES_PER_SECOND) },
    { second: 90, happen: () => setAll(true) },
    { second: 200, happen: () => setAll(false) },
    { second: 240, happen: () => world.setLoad(hot, before) },
  ];
}

/** Noticed late: the transactions have been open for some minutes already. */
function leakingApplication(world: World): Step[] {
  const steps: Step[] = Array.from({ length: LEAKY_SESSIONS }, (_, index) => ({
    second: 30 + index * 15,
    happen: () => {
      world.openSession({
        nodeId: 1,
        username: 'payments',
        applicationName: LEAKY_APPLICATION,
        state: 'idle_in_transaction',
        transactionAgeMs: (6 + 3 * index) * 60_000,
      });
    },
  }));
  return [...steps, { second: 260, happen: () => world.dropOpenedSessions() }];
}

function assistantSteps(world: World): Step[] {
  return [
    {
      second: 10,
      happen: () => {
        world.failNextProvisioning();
        world.provisionAssistant('');
      },
    },
    { second: 100, happen: () => world.provisionAssistant('') },
    { second: 180, happen: () => world.setAssistant({ health: 'UNAVAILABLE' }) },
    { second: 200, happen: () => world.setAssistant({ health: 'HEALTHY' }) },
    { second: 265, happen: () => world.deleteAssistant() },
  ];
}
