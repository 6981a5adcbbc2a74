import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';

/** Requests of one trial's exporter, seen in its HTTP library, so that what the server lags behind does not blur them. */
export interface Flights extends Disposable {
  /** The most that were in flight at one time, over all given origins, and of range lists among them. */
  readonly most: { all: number; ranges: number };
  /** Resolves when everything that is in flight now has ended. */
  landed(): Promise<void>;
  /** Whether a request whose path matches was begun between the two monotonic times, at any origin. */
  wasAsked(path: RegExp, from: number, to: number): boolean;
}

interface Request {
  readonly origin: string;
  readonly path: string;
}

const LOOK_MS = 5;
/** Many times the longest deadline of a trial, on the slowest machine. */
const MAX_FLIGHT_MS = 30_000;
const GOOD_END = 'undici:request:trailers';
const BAD_END = 'undici:request:error';

/** `counted` are those whose requests in flight have a limit; the others' are only remembered. */
export function watchFlights(
  { counted, others }: Record<'counted' | 'others', ReadonlySet<string>>,
  now: () => number,
): Flights {
  const begun: { readonly atMs: number; readonly path: string }[] = [];
  const flying = new Set<Request>();
  const most = { all: 0, ranges: 0 };
  const onCreate = (message: unknown): void => {
    const request = requestOf(message);
    if (request === undefined || !counted.union(others).has(request.origin)) return;
    begun.push({ atMs: now(), path: request.path });
    if (!counted.has(request.origin)) return;
    flying.add(request);
    const ranges = [...flying].filter(({ path }) => path.includes('/ranges/')).length;
    most.all = Math.max(most.all, flying.size);
    most.ranges = Math.max(most.ranges, ranges);
  };
  const onLanding = (message: unknown): void => {
    const request = requestOf(message);
    if (request !== undefined) flying.delete(request);
  };
  subscribe('undici:request:create', onCreate);
  subscribe(GOOD_END, onLanding);
  subscribe(BAD_END, onLanding);
  return {
    most,
    async landed() {
      const present = [...flying];
      const startedAt = performance.now();
      while (present.some((request) => flying.has(request))) {
        if (performance.now() - startedAt > MAX_FLIGHT_MS) throw new Error('a request never ends');
        await sleep(LOOK_MS);
      }
    },
    wasAsked: (path, from, to) =>
      begun.some((each) => each.atMs >= from && each.atMs <= to && path.test(each.path)),
    [Symbol.dispose]() {
      unsubscribe('undici:request:create', onCreate);
      unsubscribe(GOOD_END, onLanding);
      unsubscribe(BAD_END, onLanding);
    },
  };
}

function requestOf(message: unknown): Request | undefined {
  if (typeof message !== 'object' || message === null || !('request' in message)) return undefined;
  const { request } = message;
  return isRequest(request) ? request : undefined;
}

function isRequest(value: unknown): value is Request {
  return typeof value === 'object' && value !== null && 'origin' in value && 'path' in value;
}
