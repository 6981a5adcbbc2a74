import { createRandom } from '../random.ts';
import type { LoggedRequest } from './request-log.ts';

/** What goes wrong with a request. */
export type FaultEffect =
  /** Answers as usual after a while. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** Accepts the request and never answers. */
  | { readonly kind: 'hang' }
  | { readonly kind: 'drip'; readonly bytesPerSecond: number }
  /** Nothing more comes after that many bytes of the body, and the connection stays open. */
  | { readonly kind: 'stall'; readonly bytes: number }
  /** Ends the connection after that many bytes of the body. */
  | { readonly kind: 'cut'; readonly bytes: number }
  /** Tears the connection down before any answer. */
  | { readonly kind: 'reset' }
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** Half of the right body, properly ended. */
  | { readonly kind: 'bad-json' }
  /** Status 200 and a sentence. */
  | { readonly kind: 'text' }
  /** Status 200 and the page of some proxy. */
  | { readonly kind: 'html' }
  /** Announces more bytes than come. */
  | { readonly kind: 'wrong-length' }
  | { readonly kind: 'redirect'; readonly location: string }
  /** The right beginning of a list that never ends. */
  | { readonly kind: 'huge' }
  /** A body that never ends and is tiny on the wire. */
  | { readonly kind: 'gzip-bomb' }
  /** Status 200 and no body. */
  | { readonly kind: 'empty' }
  | { readonly kind: 'no-content' };

/** Which requests an effect meets; a member left out matches everything. */
export interface FaultScope {
  readonly api?: LoggedRequest['api'];
  readonly endpoint?: string;
  /** The node asked for, be it by address, by path or by remote_node_id. */
  readonly node?: number;
  /** The first so many matching requests are spared. */
  readonly skip?: number;
  /** At most so many requests are met. */
  readonly times?: number;
  readonly probability?: number;
}

export type FaultRule = FaultScope & FaultEffect;

export interface FaultHandle {
  /** How many requests it has met. */
  readonly hits: number;
  remove(): void;
}

export interface Faults {
  add(rule: FaultRule): FaultHandle;
  clear(): void;
  /** The effect of the first rule that meets the request; counts it. */
  meet(request: LoggedRequest): FaultEffect | undefined;
}

interface Installed {
  readonly rule: FaultRule;
  seen: number;
  hits: number;
}

export function createFaults(seed: number): Faults {
  const random = createRandom(seed ^ 0x6661_756c);
  const installed = new Set<Installed>();
  return {
    add: (rule) => {
      const fault: Installed = { rule, seen: 0, hits: 0 };
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
    meet: (request) => {
      for (const fault of installed) {
        if (!matches(fault.rule, request) || !isDue(fault)) continue;
        if (!random.chance(fault.rule.probability ?? 1)) continue;
        fault.hits++;
        return fault.rule;
      }
      return undefined;
    },
  };
}

function matches(rule: FaultScope, request: LoggedRequest): boolean {
  return (
    (rule.api ?? request.api) === request.api &&
    (rule.endpoint ?? request.endpoint) === request.endpoint &&
    (rule.node ?? request.node) === request.node
  );
}

function isDue(fault: Installed): boolean {
  fault.seen++;
  return fault.seen > (fault.rule.skip ?? 0) && fault.hits < (fault.rule.times ?? Infinity);
}
