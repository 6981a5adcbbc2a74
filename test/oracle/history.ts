import { createRandom, type Random } from '../../simulator/random.ts';

/** The collectors whose results decide which node may stop. */
export const POLLED = ['nodes', 'network', 'ranges'] as const;
export type Polled = (typeof POLLED)[number];

/** Steps of the history that fall between two requests of a poll or command: before its request of that number, from 0. */
export interface Inside {
  readonly before: number;
  readonly changes: readonly Change[];
}

/**
 * What a URL does: it repeats its old answers about ranges, or all of them, as if they were new; it answers all questions about
 * ranges as it would have before; or it is a cache, which tells how old an answer is.
 */
export type Staleness = 'repeats-ranges' | 'repeats-all' | 'remembers' | 'caches';

/**
 * A change of the world. A number `pick` from 0 to 1 chooses among what is there, so that a step means something in every
 * world, also when the steps before it are left out.
 */
export type Change =
  | { readonly kind: 'kill'; readonly pick: number; readonly how: 'dead' | 'unavailable' | 'crash' }
  | {
      readonly kind: 'revive';
      readonly pick: number;
      readonly isBehind: boolean;
      readonly isSuspect: boolean;
    }
  | { readonly kind: 'catch-up'; readonly pick: number }
  | { readonly kind: 'restart'; readonly pick: number }
  | { readonly kind: 'drain'; readonly pick: number }
  | { readonly kind: 'undrain'; readonly pick: number }
  | { readonly kind: 'leave'; readonly pick: number; readonly how: 'begin' | 'move' | 'finish' }
  | { readonly kind: 'stay'; readonly pick: number }
  | { readonly kind: 'cut'; readonly picks: readonly [number, number] }
  | { readonly kind: 'heal'; readonly pick: number }
  | { readonly kind: 'move'; readonly picks: readonly number[]; readonly steps: number }
  | { readonly kind: 'step'; readonly pick: number; readonly steps: number }
  | { readonly kind: 'replicate'; readonly steps: number }
  | { readonly kind: 'split'; readonly pick: number }
  | { readonly kind: 'merge'; readonly pick: number }
  | { readonly kind: 'lease'; readonly picks: readonly [number, number] }
  /** Ranges of a table, from `from` to `to` of its ranges, get other voters and non-voters. */
  | {
      readonly kind: 'zone';
      readonly pick: number;
      readonly from: number;
      readonly to: number;
      readonly voters: number;
      readonly nonVoters: number;
      readonly steps: number;
    }
  /** The same, on the same nodes: some voters become non-voters, or the other way round. */
  | {
      readonly kind: 'swap';
      readonly pick: number;
      readonly from: number;
      readonly to: number;
      readonly turn: number;
      readonly voters: number;
    }
  | {
      readonly kind: 'stick';
      readonly picks: readonly [number, number];
      readonly problem: 'no_raft_leader' | 'circuit_breaker_error' | 'no_lease';
    }
  | { readonly kind: 'unstick' }
  | { readonly kind: 'stale'; readonly pick: number; readonly how: Staleness }
  | { readonly kind: 'fresh' }
  /** The next requests of an endpoint fail. */
  | {
      readonly kind: 'hiccup';
      readonly endpoint: 'nodes' | 'node_ranges' | 'range_descriptors' | 'connectivity';
      readonly times: number;
      readonly how: 'reset' | 'error' | 'cut';
    }
  | { readonly kind: 'refuse' }
  | { readonly kind: 'admit' };

/** A step of a history. */
export type Step =
  | Change
  | { readonly kind: 'poll'; readonly order: readonly Polled[]; readonly inside?: Inside }
  | { readonly kind: 'command'; readonly inside?: Inside }
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'restart-exporter' };

/** The zone of some ranges of a table at the start. */
export interface StartZone {
  readonly pick: number;
  readonly from: number;
  readonly to: number;
  readonly voters: number;
  readonly nonVoters: number;
}

/** The cluster before the first step. */
export interface Start {
  readonly nodes: number;
  readonly stores: number;
  readonly gateways: number;
  readonly ranges: number;
  readonly replication: number;
  readonly zones: readonly StartZone[];
  /** Seconds until a descriptor is too old. */
  readonly descriptorMaxAge: number;
  /** What a request takes of the world's time. */
  readonly requestMs: number;
}

/** A world and what happens in it; it follows from its seed alone, unless steps were left out. */
export interface History {
  readonly seed: number;
  readonly start: Start;
  readonly steps: readonly Step[];
}

/** What a world has beside deaths, moves and polls; how often. */
const TRAITS = [
  ['zones', 0.6],
  ['swaps', 0.35],
  ['leaving', 0.5],
  ['draining', 0.4],
  ['cuts', 0.25],
  ['behind', 0.4],
  ['crashes', 0.4],
  ['stuck', 0.25],
  ['stale', 0.12],
  ['refusals', 0.1],
  ['hiccups', 0.25],
  ['restarts', 0.4],
  ['insides', 0.5],
] as const;
type Trait = (typeof TRAITS)[number][0];
type Traits = ReadonlySet<Trait>;

const ZONES: readonly (readonly [voters: number, nonVoters: number])[] = [
  [3, 0],
  [3, 0],
  [3, 1],
  [3, 2],
  [5, 0],
  [5, 0],
  [5, 2],
  [2, 0],
  [2, 1],
  [1, 0],
  [1, 2],
  [1, 4],
];

/** Draws the world and the history of a seed. */
export function drawHistory(seed: number): History {
  const random = createRandom(seed ^ 0x6f72_6163);
  const traits = drawTraits(random);
  const start = drawStart(random, traits);
  const count = random.integer(10, 40);
  const steps: Step[] = [{ kind: 'poll', order: shuffled(random, POLLED) }];
  while (steps.length < count) steps.push(...drawSteps(random, traits));
  steps.push({ kind: 'poll', order: shuffled(random, POLLED) });
  return { seed, start, steps };
}

function drawTraits(random: Random): Traits {
  return new Set(TRAITS.flatMap(([trait, share]) => (random.chance(share) ? [trait] : [])));
}

function drawStart(random: Random, traits: Traits): Start {
  const nodes = random.integer(3, 9);
  const zones = traits.has('zones')
    ? Array.from({ length: random.integer(1, 4) }, () => drawZone(random))
    : [];
  return {
    nodes,
    stores: random.integer(1, 3),
    gateways: Math.min(nodes, traits.has('stale') ? 2 : random.integer(1, 3)),
    ranges: random.chance(0.8) ? random.integer(20, 60) : random.integer(60, 200),
    replication: nodes >= 5 && random.chance(0.4) ? 5 : 3,
    zones,
    descriptorMaxAge: random.pick([301, 601, 1801, 1801]),
    requestMs: random.pick([1, 1, 3, 40, 400]),
  };
}

function drawZone(random: Random): StartZone {
  const [voters, nonVoters] = random.pick(ZONES);
  return { pick: random.next(), ...drawPart(random), voters, nonVoters };
}

/** All ranges of a table, or a part of them: a partition with a zone of its own. */
function drawPart(random: Random): { readonly from: number; readonly to: number } {
  return random.pick([
    { from: 0, to: 1 },
    { from: 0.5, to: 1 },
    { from: 0.7, to: 1 },
    { from: 0, to: 0.3 },
  ]);
}

/** A step, or a few that belong together. */
function drawSteps(random: Random, traits: Traits): readonly Step[] {
  if (random.chance(0.38)) return [drawPoll(random, traits)];
  if (random.chance(0.07)) {
    return [{ kind: 'command', ...drawInside(random, traits) }];
  }
  if (random.chance(0.1)) {
    return [{ kind: 'wait', seconds: random.pick([1, 10, 35, 90, 310, 310, 700]) }];
  }
  if (traits.has('restarts') && random.chance(0.06)) return [{ kind: 'restart-exporter' }];
  if (random.chance(0.06)) return drawQuiet(random);
  return [drawChange(random, traits)];
}

/** Nothing happens for some polls. */
function drawQuiet(random: Random): readonly Step[] {
  const polls = Array.from({ length: 3 }, (): Step => ({
    kind: 'poll',
    order: shuffled(random, POLLED),
  }));
  return polls;
}

function drawPoll(random: Random, traits: Traits): Step {
  const order = shuffled(random, POLLED);
  const some = random.chance(0.8) ? order : order.slice(0, random.integer(1, 2));
  return { kind: 'poll', order: some, ...drawInside(random, traits) };
}

function drawInside(random: Random, traits: Traits): { readonly inside?: Inside } {
  if (!traits.has('insides') || !random.chance(0.35)) return {};
  const changes = Array.from({ length: random.integer(1, 2) }, () => drawChange(random, traits));
  return { inside: { before: random.integer(0, 16), changes } };
}

type Draw = (random: Random) => Change;

const CHANGES: readonly (readonly [weight: number, trait: Trait | undefined, draw: Draw])[] = [
  [
    8,
    undefined,
    (random) => ({
      kind: 'kill',
      pick: random.next(),
      how: random.pick(['dead', 'unavailable']),
    }),
  ],
  [4, 'crashes', (random) => ({ kind: 'kill', pick: random.next(), how: 'crash' })],
  [
    8,
    undefined,
    (random) => ({
      kind: 'revive',
      pick: random.next(),
      isBehind: false,
      isSuspect: random.chance(0.3),
    }),
  ],
  [
    6,
    'behind',
    (random) => ({ kind: 'revive', pick: random.next(), isBehind: true, isSuspect: false }),
  ],
  [5, 'behind', (random) => ({ kind: 'catch-up', pick: random.next() })],
  [2, undefined, (random) => ({ kind: 'restart', pick: random.next() })],
  [3, 'draining', (random) => ({ kind: 'drain', pick: random.next() })],
  [4, 'draining', (random) => ({ kind: 'undrain', pick: random.next() })],
  [
    5,
    'leaving',
    (random) => ({
      kind: 'leave',
      pick: random.next(),
      how: random.pick(['begin', 'begin', 'move', 'finish']),
    }),
  ],
  [2, 'leaving', (random) => ({ kind: 'stay', pick: random.next() })],
  [5, 'cuts', (random) => ({ kind: 'cut', picks: [random.next(), random.next()] })],
  [4, 'cuts', (random) => ({ kind: 'heal', pick: random.next() })],
  [
    10,
    undefined,
    (random) => ({
      kind: 'move',
      picks: [random.next(), random.next(), random.next()],
      steps: random.integer(1, 6),
    }),
  ],
  [6, undefined, (random) => ({ kind: 'step', pick: random.next(), steps: random.integer(1, 4) })],
  [6, undefined, (random) => ({ kind: 'replicate', steps: random.pick([1, 2, 3, 20]) })],
  [5, undefined, (random) => ({ kind: 'split', pick: random.next() })],
  [4, undefined, (random) => ({ kind: 'merge', pick: random.next() })],
  [4, undefined, (random) => ({ kind: 'lease', picks: [random.next(), random.next()] })],
  [
    6,
    'zones',
    (random) => ({ kind: 'zone', ...drawZone(random), steps: random.pick([0, 1, 3, 20]) }),
  ],
  [
    8,
    'swaps',
    (random) => ({
      kind: 'swap',
      pick: random.next(),
      ...drawPart(random),
      turn: random.next(),
      voters: random.pick([1, 1, 2, 3, 3, 5]),
    }),
  ],
  [
    6,
    'stuck',
    (random) => ({
      kind: 'stick',
      picks: [random.next(), random.next()],
      problem: random.pick(['no_raft_leader', 'circuit_breaker_error', 'no_lease']),
    }),
  ],
  [5, 'stuck', () => ({ kind: 'unstick' })],
  [
    6,
    'stale',
    (random) => ({
      kind: 'stale',
      pick: random.next(),
      how: random.pick(['repeats-ranges', 'repeats-all', 'remembers', 'remembers', 'caches']),
    }),
  ],
  [2, 'stale', () => ({ kind: 'fresh' })],
  [
    8,
    'hiccups',
    (random) => ({
      kind: 'hiccup',
      endpoint: random.pick(['nodes', 'node_ranges', 'range_descriptors', 'connectivity']),
      times: random.integer(1, 5),
      how: random.pick(['reset', 'error', 'cut']),
    }),
  ],
  [3, 'refusals', () => ({ kind: 'refuse' })],
  [3, 'refusals', () => ({ kind: 'admit' })],
];

function drawChange(random: Random, traits: Traits): Change {
  const allowed = CHANGES.filter(([, trait]) => trait === undefined || traits.has(trait));
  let left = random.next() * allowed.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, , draw] of allowed) {
    left -= weight;
    if (left < 0) return draw(random);
  }
  return { kind: 'unstick' };
}

function shuffled<T>(random: Random, items: readonly T[]): readonly T[] {
  const left = [...items];
  return items.flatMap(() => left.splice(random.integer(0, left.length - 1), 1));
}
