import type { CollectFailure } from '../collectors/collector.ts';
import type { Log } from '../log.ts';
import type { Outcome } from './outcome.ts';

/** Says what has changed about a collector, in one line; what stays as it is says nothing. */
export interface PollLog {
  /** A poll has ended, or was skipped, with this error or none. */
  ended(before: Outcome, error: CollectFailure | undefined): void;
  /** What the poll noticed although it was no failure. */
  noticed(texts: ReadonlySet<string>): void;
}

export function createPollLog(
  log: Log,
  fieldsOf: () => { readonly cluster: string; readonly collector: string; readonly shard: string },
): PollLog {
  let seen: ReadonlySet<string> = new Set();
  return {
    ended(before, error) {
      const fields = fieldsOf();
      if (error === undefined) {
        if (before.isGood) return;
        log.info(fields, before.hasEnded ? 'polls are good again' : 'first poll was good');
      } else if (error.reason === before.error?.reason) {
        log.debug({ ...fields, reason: error.reason }, error.message);
      } else {
        log.warn({ ...fields, reason: error.reason }, error.message);
      }
    },
    noticed(texts) {
      for (const text of texts.difference(seen)) log.warn(fieldsOf(), text);
      seen = texts;
    },
  };
}
