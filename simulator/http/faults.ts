import { createRandom } from '../random.ts';
import type { Answer } from './answer.ts';
import type { LoggedRequest } from './request-log.ts';

/** The effect of a fault on a request. */
export type FaultEffect =
  /** Responds after a delay. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** Accepts the request and never responds. */
  | { readonly kind: 'hang' }
  | { readonly kind: 'drip'; readonly bytesPerSecond: number }
  /** Sends nothing after that many bytes of the body; the connection stays open. */
  | { readonly kind: 'stall'; readonly bytes: number }
  /** Closes the connection after that many bytes of the body. */
  | { readonly kind: 'cut'; readonly bytes: number }
  /** Resets the connection before any response. */
  | { readonly kind: 'reset' }
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** Half of the original body, properly ended. */
  | { readonly kind: 'bad-json' }
  /** Status 200 and a sentence. */
  | { readonly kind: 'text' }
  /** Status 200 and the page of a proxy. */
  | { readonly kind: 'html' }
  /** Announces more bytes than it sends. */
  | { readonly kind: 'wrong-length' }
  | { readonly kind: 'redirect'; readonly location: string }
  /** A valid list that never ends. */
  | { readonly kind: 'huge' }
  /** An endless body that is small when compressed. */
  | { readonly kind: 'gzip-bomb' }
  /** Status 200 and no body. */
  | { readonly kind: 'empty' }
  | { readonly kind: 'no-content' }
  /** A cache: repeats the first good response to each GET with its Date and an Age, whatever happens to the node. */
  | { readonly kind: 'cached' }
  /** Repeats the first good response to each GET as if it were new. */
  | { readonly kind: 'old' };

/** The requests that an effect applies to; an absent member matches everything. */
export interface FaultScope {
  readonly api?: LoggedRequest['api'];
  readonly endpoint?: string;
  /** The requested node, by address, path or remote_node_id. */
  readonly node?: number;
  /** The node whose address receives the request. */
  readonly gateway?: number;
  /** The number of matching requests to skip first. */
  readonly skip?: number;
  /** The maximum number of affected requests. */
  readonly times?: number;
  readonly probability?: number;
}

export type FaultRule = FaultScope & FaultEffect;

export interface FaultHandle {
  /** The number of affected requests. */
  readonly hits: number;
  remove(): void;
}

/** A fault that applies to a request. */
export interface Fault {
  readonly effect: FaultEffect;
  /** Responses that it repeats, by gateway and path. */
  readonly stored: Map<string, StoredAnswer>;
}

interface StoredAnswer {
  readonly answer: Answer;
  readonly atMs: number;
}

export interface Faults {
  add(rule: FaultRule): FaultHandle;
  clear(): void;
  /** The first fault that applies to the request; counts it. */
  take(request: LoggedRequest): Fault | undefined;
}

interface Installed {
  readonly rule: FaultRule;
  readonly stored: Fault['stored'];
  seen: number;
  hits: number;
}

export function createFaults(seed: number): Faults {
  const random = createRandom(seed ^ 0x6661_756c);
  const installed = new Set<Installed>();
  return {
    add: (rule) => {
      const fault: Installed = { rule, stored: new Map(), seen: 0, hits: 0 };
      installed.add(fault);
      return {
        get hits(): number {
          return fault.hits;
        },
        remove: () => {
          installed.delete(fault);
        },
      };
    },
    clear: () => installed.clear(),
    take: (request) => {
      for (const fault of installed) {
        if (!matches(fault.rule, request) || !isDue(fault)) continue;
        if (!random.chance(fault.rule.probability ?? 1)) continue;
        fault.hits++;
        return { effect: fault.rule, stored: fault.stored };
      }
      return undefined;
    },
  };
}

function matches(rule: FaultScope, request: LoggedRequest): boolean {
  return (
    (rule.api ?? request.api) === request.api &&
    (rule.endpoint ?? request.endpoint) === request.endpoint &&
    (rule.node ?? request.node) === request.node &&
    (rule.gateway ?? request.gateway) === request.gateway
  );
}

function isDue(fault: Installed): boolean {
  fault.seen++;
  return fault.seen > (fault.rule.skip ?? 0) && fault.hits < (fault.rule.times ?? Infinity);
}
