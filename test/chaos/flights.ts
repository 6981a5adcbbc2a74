import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';

/** Requests of one trial's exporter, seen in its HTTP library, so that what the server lags behind does not blur them. */
export interface Flights extends Disposable {
  /** The most that were in flight at one time, over all given origins, and of range lists among them. */
  readonly most: { all: number; ranges: number };
  /** Resolves when everything that is in flight now has ended. */
  landed(): Promise<void>;
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

/** Watches the requests to these origins. */
export function watchFlights(origins: ReadonlySet<string>): Flights {
  const flying = new Set<Request>();
  const most = { all: 0, ranges: 0 };
  const onCreate = (message: unknown): void => {
    const request = requestOf(message);
    if (request === undefined || !origins.has(request.origin)) return;
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
