import { adviseOn, type Operation, requestErrorOf } from '../advice.ts';
import type { ClusterConfig } from '../../config/schema.ts';

/** `warning`: works, but not as it should; `skipped`: could not or need not be looked at. */
export type Verdict = 'ok' | 'warning' | 'failed' | 'skipped';

/** One line of the checklist. */
export interface Finding {
  /** What was looked at, as `TLS` or `GET /nodes/`. */
  readonly check: string;
  /** Where: a URL, or an API. */
  readonly target: string;
  readonly verdict: Verdict;
  readonly detail: string;
  /** How to mend it. */
  readonly advice?: string | undefined;
}

/** The finding of a request that failed. Throws what is no failed request. */
export function findingOf(
  error: unknown,
  about: Pick<Finding, 'check' | 'target'> & {
    readonly operation: Operation;
    readonly config: ClusterConfig;
  },
): Finding {
  const failed = requestErrorOf(error, about.operation);
  if (failed === undefined) throw error;
  const { check, target } = about;
  const { problem, remedy } = adviseOn(failed, about);
  return { check, target, verdict: 'failed', detail: problem, advice: remedy };
}
