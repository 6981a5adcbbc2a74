import { createRandom, type Random } from '../../simulator/random.ts';
import { PLAIN_FORM } from './connections.ts';
import type { Change, History, Inside, Start, StartZone, Step } from './history.ts';
import { POLLED } from './history.ts';

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
/** Those that were added later: they are drawn by themselves, so that a world without them stays what it was. */
const LATER_TRAITS = [
  ['unreadable', 0.25],
  ['left-over', 0.25],
  ['claims', 0.2],
  ['wide', 0.2],
  ['dense', 0.06],
  ['forgetful', 0.2],
  ['partitions', 0.1],
  ['idle', 0.12],
] as const;
type Trait = (typeof TRAITS | typeof LATER_TRAITS)[number][0];
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

/** Zones of ranges with 7 to 9 replicas. */
const WIDE_ZONES: typeof ZONES = [
  [7, 0],
  [7, 0],
  [9, 0],
  [5, 2],
  [5, 3],
  [5, 4],
  [7, 2],
  [3, 4],
  [3, 6],
];

/** Draws the world and the history of a seed. */
export function drawHistory(seed: number): History {
  const random = createRandom(seed ^ 0x6f72_6163);
  const later = createRandom(seed ^ 0x6c61_7465);
  const traits: Traits = new Set([
    ...drawTraits(random, TRAITS),
    ...drawTraits(later, LATER_TRAITS),
  ]);
  const start = enlarge(drawStart(random, traits), later, traits);
  const count = random.integer(10, 40);
  const steps: Step[] = [{ kind: 'poll', order: shuffled(random, POLLED) }];
  while (steps.length < count) steps.push(...drawSteps(random, traits));
  steps.push({ kind: 'poll', order: shuffled(random, POLLED) });
  return { seed, start, steps };
}

function drawTraits(
  random: Random,
  traits: readonly (readonly [trait: Trait, share: number])[],
): readonly Trait[] {
  return traits.flatMap(([trait, share]) => (random.chance(share) ? [trait] : []));
}

function enlarge(start: Start, random: Random, traits: Traits): Start {
  const wide = { nodes: random.integer(7, 12), replication: random.pick([3, 5, 5, 7, 9]) };
  const zones = Array.from({ length: random.integer(1, 3) }, () => drawZone(random, WIDE_ZONES));
  const dense = { nodes: random.integer(3, 4), ranges: random.integer(200, 500), replication: 3 };
  const idleConnections = random.pick(['missing', 'unknown', 'establishing'] as const);
  const gateways = Math.min(start.gateways, dense.nodes);
  return {
    ...start,
    ...(traits.has('idle') && { idleConnections }),
    ...(traits.has('dense') && { ...dense, gateways }),
    ...(traits.has('wide') && {
      ...wide,
      ranges: Math.min(start.ranges, 60),
      replication: Math.min(wide.nodes, wide.replication),
      zones: [...start.zones, ...zones],
    }),
  };
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

function drawZone(random: Random, from = ZONES): StartZone {
  const [voters, nonVoters] = random.pick(from);
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
  const change = drawChange(random, traits);
  const isOfLater = LATER_KINDS.has(change.kind);
  return isOfLater && random.chance(0.4) ? [change, ...drawQuiet(random)] : [change];
}

/** Changes after which it is often quiet, so that it is seen what an exporter makes of them. */
const LATER_KINDS: ReadonlySet<Change['kind']> = new Set([
  'connections',
  'leave-behind',
  'collect',
  'claim',
  'forget',
]);

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
  [24, 'unreadable', drawConnections],
  [4, 'unreadable', () => ({ kind: 'connections', form: PLAIN_FORM })],
  [5, 'unreadable', (random) => ({ kind: 'cut', picks: [random.next(), random.next()] })],
  [4, 'unreadable', (random) => ({ kind: 'heal', pick: random.next() })],
  [
    24,
    'left-over',
    (random) => ({
      kind: 'leave-behind',
      pick: random.next(),
      nodes: random.pick([1, 1, 1, 2, 3]),
      problems: random.pick([
        ['no_raft_leader', 'circuit_breaker_error'],
        ['no_raft_leader', 'circuit_breaker_error'],
        ['no_raft_leader'],
        ['circuit_breaker_error', 'unavailable'],
        ['no_lease', 'underreplicated'],
        [],
      ]),
      knowsLease: random.chance(0.4),
    }),
  ],
  [
    6,
    'left-over',
    (random) => ({ kind: 'collect', pick: random.next(), isAll: random.chance(0.5) }),
  ],
  [
    20,
    'claims',
    (random) => ({
      kind: 'claim',
      picks: [random.next(), random.next()],
      problem: random.pick(['unavailable', 'unavailable', 'underreplicated', 'no_raft_leader']),
      repeats: random.chance(0.6),
    }),
  ],
  [5, 'claims', () => ({ kind: 'unstick' })],
  [10, 'forgetful', () => ({ kind: 'forget' })],
  [
    14,
    'forgetful',
    (random) => ({
      kind: 'stick',
      picks: [random.next(), random.next()],
      problem: random.pick(['no_raft_leader', 'circuit_breaker_error']),
      isFollower: true,
    }),
  ],
  [4, 'forgetful', () => ({ kind: 'unstick' })],
  [8, 'partitions', (random) => ({ kind: 'kill', pick: random.next(), how: 'partitioned' })],
  [
    8,
    'wide',
    (random) => ({
      kind: 'zone',
      ...drawZone(random, WIDE_ZONES),
      steps: random.pick([0, 1, 2, 3, 20]),
    }),
  ],
  [
    8,
    'wide',
    (random) => ({
      kind: 'move',
      picks: [random.next(), random.next(), random.next()],
      steps: random.integer(1, 6),
    }),
  ],
];

function drawConnections(random: Random): Change {
  const drawNode = (share: number): number | undefined =>
    random.chance(share) ? random.next() : undefined;
  return {
    kind: 'connections',
    form: {
      sent: random.pick(['unknown', 'unknown', 'code', 'name', 'error-object', 'scalar']),
      list: random.pick(['works', 'works', 'works', 'missing']),
      counts: random.pick(['counted', 'zero', 'zero', 'missing']),
      foreign: random.pick([0, 0, 0, 2]),
    },
    of: drawNode(0.5),
    to: drawNode(0.4),
  };
}

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
