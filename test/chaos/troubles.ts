import type { Simulator } from '../../simulator/index.ts';
import type { Random } from '../../simulator/random.ts';
import { WALL_OFFSETS_MS } from './clocks.ts';
import type { Weather } from './proxy.ts';
import { QUIRK_NAMES } from './quirks.ts';
import { drawWorldEvent, type WorldEvent } from './world-events.ts';

type Fault = Parameters<Simulator['fault']>[0];

const LONG_PAUSES = ['999999999', 'Fri, 31 Dec 9999 23:59:59 GMT', '86400'];
const NO_PAUSES = ['-1', 'Thu, 01 Jan 1970 00:00:00 GMT', '-999999999'];

/** What goes wrong and ends by itself. */
export type LastingTrouble =
  | { readonly kind: 'fault'; readonly fault: Fault; readonly forMs: number }
  | {
      readonly kind: 'weather';
      readonly address: number;
      readonly weather: Weather;
      readonly forMs: number;
    }
  | { readonly kind: 'quirk'; readonly quirk: string; readonly forMs: number };

/** One thing that goes wrong or changes. */
export type Trouble =
  | LastingTrouble
  | { readonly kind: 'world'; readonly event: WorldEvent }
  | { readonly kind: 'tokens'; readonly how: 'expire' | 'revoke' }
  | { readonly kind: 'reload'; readonly to: ReloadTo }
  | { readonly kind: 'wall'; readonly offsetMs: number };

/** What a reload finds: the same, other settings of the cluster, a cluster more or less, or a file that is wrong. */
export type ReloadTo = 'same' | 'changed' | 'fewer' | 'more' | 'bad';

export interface Scheduled {
  readonly atMs: number;
  readonly trouble: Trouble;
}

const ENDPOINTS = [
  'login',
  'nodes',
  'node_ranges',
  'sessions',
  'users',
  'table',
  'assistant',
] as const;
const STATUSES = [400, 401, 403, 404, 418, 429, 500, 500, 501, 502, 503, 504] as const;
const RELOADS: readonly ReloadTo[] = ['same', 'changed', 'fewer', 'more', 'bad'];

/** The troubles of a seed, in the order of their times. */
export function schedule(
  random: Random,
  { forMs, addresses }: { forMs: number; addresses: number },
): Scheduled[] {
  const count = random.integer(12, 24);
  const wallOffsets = WALL_OFFSETS_MS.slice(1);
  const troubles = Array.from({ length: count }, () => ({
    atMs: forMs * random.next(),
    trouble: drawTrouble(random, addresses, wallOffsets),
  }));
  return troubles.toSorted((a, b) => a.atMs - b.atMs);
}

function drawTrouble(random: Random, addresses: number, wallOffsets: number[]): Trouble {
  const forMs = random.integer(20, 350);
  const dice = random.next();
  if (dice < 0.36) return { kind: 'fault', fault: drawFault(random), forMs };
  if (dice < 0.5) {
    const address = random.integer(0, addresses - 1);
    return { kind: 'weather', address, weather: drawWeather(random), forMs };
  }
  if (dice < 0.57) return { kind: 'quirk', quirk: random.pick(QUIRK_NAMES), forMs };
  if (dice < 0.82) return { kind: 'world', event: drawWorldEvent(random) };
  if (dice < 0.88) return { kind: 'tokens', how: random.pick(['expire', 'revoke']) };
  if (dice < 0.94) return { kind: 'reload', to: random.pick(RELOADS) };
  return { kind: 'wall', offsetMs: wallOffsets.pop() ?? 0 };
}

function drawFault(random: Random): Fault {
  const endpoint = random.chance(0.75) ? random.pick(ENDPOINTS) : undefined;
  const times = random.chance(0.4) ? { times: random.integer(1, 3) } : {};
  const probability = random.chance(0.3) ? { probability: 0.5 } : {};
  const node = random.chance(0.2) ? { node: random.integer(1, 3) } : {};
  const effect = drawEffect(random);
  const isOfCluster = endpoint !== undefined && endpoint !== 'assistant';
  // Of the assistant it says that there is none: nobody could know better.
  const isLie = effect.kind === 'status' && effect.status === 404 && !isOfCluster;
  return {
    ...(endpoint && { endpoint }),
    ...times,
    ...probability,
    ...node,
    ...(isLie ? { ...effect, status: 410 } : effect),
  };
}

function drawEffect(random: Random): Fault {
  const bytes = random.integer(0, 3000);
  const effects: readonly Fault[] = [
    { kind: 'slow', ms: random.integer(5, 300) },
    { kind: 'hang' },
    { kind: 'drip', bytesPerSecond: random.pick([10, 5_000, 200_000]) },
    { kind: 'stall', bytes },
    { kind: 'cut', bytes },
    { kind: 'reset' },
    { kind: 'bad-json' },
    { kind: 'text' },
    { kind: 'html' },
    { kind: 'wrong-length' },
    { kind: 'redirect', location: 'https://elsewhere.invalid/' },
    { kind: 'huge' },
    { kind: 'gzip-bomb' },
    { kind: 'empty' },
    { kind: 'no-content' },
  ];
  return random.chance(0.35) ? drawStatus(random) : random.pick(effects);
}

function drawStatus(random: Random): Fault {
  const status = random.pick(STATUSES);
  const isThrottle = status === 429 || status === 503;
  if (!isThrottle || random.chance(0.4)) return { kind: 'status', status };
  const inAMoment = new Date(Date.now() + 2_000).toUTCString();
  const pauses = ['0', '1', '120', inAMoment, 'soon', ...LONG_PAUSES, ...NO_PAUSES];
  const retryAfter = random.pick(pauses);
  return { kind: 'status', status, headers: { 'Retry-After': retryAfter } };
}

/** Responses to a login that bring no token: it is not repeated for 5 s, since each costs the server a slow hash. */
const WITHOUT_TOKEN: ReadonlySet<Fault['kind']> = new Set([
  'bad-json',
  'text',
  'html',
  'huge',
  'gzip-bomb',
  'empty',
  'no-content',
]);

/** Quirks in which a login brings no token either: a virtual cluster does not offer it, a redirect is not followed. */
const QUIRKS_WITHOUT_TOKEN: ReadonlySet<string> = new Set(['tenant', 'old-tenant', 'only-https']);
/** Statuses of a login that say nothing of the login, and that breakers count. */
const UNAVAILABLE: ReadonlySet<number> = new Set([502, 503, 504]);

function drawWeather(random: Random): Weather {
  return random.pick<Weather>([
    { kind: 'reset' },
    { kind: 'black-hole' },
    { kind: 'truncate', bytes: random.integer(0, 20_000) },
  ]);
}

/** Whether it makes the exporter wait: for 5 s, for minutes, or for as long as the server asked it to. */
export function asksForPatience(trouble: Trouble): boolean {
  if (trouble.kind === 'tokens') return true;
  if (trouble.kind === 'quirk') {
    return trouble.quirk === 'rate-limit' || QUIRKS_WITHOUT_TOKEN.has(trouble.quirk);
  }
  if (trouble.kind !== 'fault') return false;
  const { fault } = trouble;
  const isOfLogin = (fault.endpoint ?? 'login') === 'login';
  if (fault.kind === 'status') {
    const isRefusal = [400, 401, 403].includes(fault.status);
    return (
      isRefusal || fault.headers !== undefined || (isOfLogin && !UNAVAILABLE.has(fault.status))
    );
  }
  return isOfLogin && WITHOUT_TOKEN.has(fault.kind);
}
