import { failureOf } from '../../src/cockroach/http/errors.ts';
import type { Collector, CollectorResult } from '../../src/collectors/collector.ts';

/** A poll as an onlooker sees it; times are monotonic milliseconds. */
export interface ObservedPoll {
  readonly collector: string;
  readonly beganAt: number;
  endedAt: number;
  /** Whether it published, all of it or a part. */
  result: 'running' | 'good' | 'partial' | 'failed';
  /** Why it failed. */
  reason: string;
}

/** The collectors themselves, with an onlooker at the door that notes when each poll began and ended. */
export function observe(
  collectors: readonly Collector[],
  { polls, now }: { readonly polls: ObservedPoll[]; readonly now: () => number },
): readonly Collector[] {
  return collectors.map((collector): Collector => {
    async function watched(collect: () => Promise<CollectorResult>): Promise<CollectorResult> {
      const poll: ObservedPoll = {
        collector: collector.name,
        beganAt: now(),
        endedAt: Infinity,
        result: 'running',
        reason: '',
      };
      polls.push(poll);
      try {
        const result = await collect();
        poll.result = result.failure === undefined ? 'good' : 'partial';
        poll.reason = result.failure?.reason ?? '';
        return result;
      } catch (error) {
        poll.result = 'failed';
        poll.reason = failureOf(error).reason;
        throw error;
      } finally {
        poll.endedAt = now();
      }
    }
    if (collector.api === 'cloud') {
      const observed: Extract<Collector, { readonly api: 'cloud' }> = {
        ...collector,
        collect: (api, context) => watched(() => collector.collect(api, context)),
      };
      return observed;
    }
    const observed: Extract<Collector, { readonly api: 'cluster' }> = {
      ...collector,
      collect: (api, context) => watched(() => collector.collect(api, context)),
    };
    return observed;
  });
}
