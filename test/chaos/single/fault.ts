import type { Simulator } from '../../../src/simulator/index.ts';
import { createRandom, hashOf, type Random } from '../../../src/simulator/random.ts';

type Fault = Parameters<Simulator['fault']>[0];
type FreezeNode = Simulator['world']['freezeNode'];

/** Servers answer with these Retry-After values; the contract obeys none for longer than this. */
export const MAX_PAUSE_SECONDS = 120;
export const LONG_PAUSES = ['999999999', 'Fri, 31 Dec 9999 23:59:59 GMT', '86400'] as const;
export const NO_PAUSES = ['-1', 'Thu, 01 Jan 1970 00:00:00 GMT', '-999999999'] as const;
export const BAD_TOKENS = ['newline', 'cjk', 'long', 'empty', 'refused'] as const;

/** One endpoint and the collectors that depend on it: the ranges collector lists the nodes first. */
export const COLLECTORS_OF = {
  nodes: ['nodes', 'ranges'],
  node_ranges: ['ranges'],
  sessions: ['sessions'],
  users: ['users'],
  table: ['tables'],
  assistant: ['cloud'],
} as const;

/** One thing that goes wrong for several intervals while everything else is calm: then it is seen whom it affects. */
export type SingleFault =
  | {
      readonly kind: 'silent-nodes';
      /** Of the nodes that can be queried; at least one is silent and one is not. */
      readonly share: number;
      readonly silentOn: NonNullable<Parameters<FreezeNode>[1]>;
    }
  | {
      readonly kind: 'endpoint';
      readonly endpoint: keyof typeof COLLECTORS_OF;
      readonly effect: Fault;
    }
  | {
      readonly kind: 'pause';
      readonly retryAfter: string;
    }
  | { readonly kind: 'bad-token'; readonly token: (typeof BAD_TOKENS)[number] }
  /** So many series more than the world needs, but never below the least that may be configured. */
  | { readonly kind: 'budget'; readonly above: number };

const KINDS = ['silent-nodes', 'endpoint', 'pause', 'bad-token', 'budget'] as const;
const ENDPOINTS = ['nodes', 'node_ranges', 'sessions', 'users', 'table', 'assistant'] as const;
const BUDGETS_ABOVE = [-1_000_000, -200, -40, -1, 0, 1, 10] as const;

/** Every other seed has one, and few seeds have all kinds. */
export function drawSingleFault(seed: number): SingleFault | undefined {
  if (seed % 2 === 1) return undefined;
  // Seeds that follow each other begin alike in their first numbers; their hashes do not.
  const random = createRandom(hashOf('single fault', seed));
  const kind = KINDS[(seed / 2) % KINDS.length] ?? KINDS[0];
  return DRAW[kind](random);
}

const DRAW: Readonly<Record<SingleFault['kind'], (random: Random) => SingleFault>> = {
  'silent-nodes': (random) => ({
    kind: 'silent-nodes',
    share: random.next(),
    silentOn: random.pick(['ranges', 'ranges', 'ranges-and-sessions']),
  }),
  endpoint: (random) => ({
    kind: 'endpoint',
    endpoint: random.pick(ENDPOINTS),
    effect: drawEffect(random),
  }),
  pause: (random) => ({
    kind: 'pause',
    retryAfter: random.pick([...LONG_PAUSES, ...LONG_PAUSES, ...NO_PAUSES]),
  }),
  'bad-token': (random) => ({ kind: 'bad-token', token: random.pick(BAD_TOKENS) }),
  budget: (random) => ({ kind: 'budget', above: random.pick(BUDGETS_ABOVE) }),
};

function drawEffect(random: Random): Fault {
  return random.pick<Fault>([
    { kind: 'hang' },
    { kind: 'hang' },
    { kind: 'status', status: 503 },
    { kind: 'status', status: 500 },
    { kind: 'reset' },
    { kind: 'stall', bytes: random.integer(0, 60) },
    { kind: 'drip', bytesPerSecond: 10 },
  ]);
}
