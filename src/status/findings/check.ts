import type { AlertName } from '#alerts';
import type { Evidence } from './evidence.ts';
import type { Problem } from './status.ts';

/** A problem with its severity where the alert has two. */
type Found = Pick<Problem, 'text' | 'level' | 'nodeIds' | 'since'>;

/**
 * A condition of a cluster that is more than one figure over a limit. The key of its problem is the name of the alert, unless
 * the alert has several conditions.
 */
export interface Check extends Pick<Problem, 'about' | 'level' | 'next'> {
  readonly alert: AlertName;
  readonly key?: string;
  /** Undefined while all is well. */
  readonly find: (evidence: Evidence) => Found | undefined;
}

/** The problems that these checks find. */
export function runChecks(checks: readonly Check[], evidence: Evidence): readonly Problem[] {
  return checks.flatMap((check) => {
    const { find, alert, key = alert, ...shown } = check;
    const found = find(evidence);
    return found === undefined
      ? []
      : [{ ...shown, ...found, alert, key, level: found.level ?? shown.level }];
  });
}
