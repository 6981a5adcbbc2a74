import type { Thresholds } from '../alerts/alert-settings.ts';
import { type AlertName, waitSeconds } from '../alerts/alerts.ts';
import type { NodeStatus } from '../collectors/nodes/collector.ts';
import { capitalize, formatNodes } from '../format.ts';
import type { Observation } from './observation.ts';
import type { Problem } from './status.ts';

/** A problem with the severity that it has now; it waits like its alert of that severity, unless it says how long. */
type Found = Pick<Problem, 'text' | 'level' | 'normalSeconds'>;

/** A condition of a cluster, which is normal for as long as its alert waits. The key of its problem is the name of the alert, unless that has several conditions. */
export interface Check extends Pick<Problem, 'about' | 'level' | 'worsens' | 'next'> {
  readonly alert: AlertName;
  readonly key?: string;
  /** It is never normal, although its alert waits. */
  readonly isImmediate?: true;
  /** The text of the problem, with its severity where the alert has two; undefined while all is well. */
  readonly find: (observation: Observation) => string | Found | undefined;
}

/** The problems that these checks find. */
export function runChecks(checks: readonly Check[], observation: Observation): readonly Problem[] {
  return checks.flatMap((check) => {
    const { find, alert, key = alert, isImmediate = false, ...shown } = check;
    const found = find(observation);
    if (found === undefined) return [];
    const {
      text,
      level = shown.level,
      normalSeconds = waitSeconds(alert, level),
    }: Found = typeof found === 'string' ? { text: found } : found;
    return [{ ...shown, alert, key, text, level, normalSeconds: isImmediate ? 0 : normalSeconds }];
  });
}

/**
 * Finds the nodes, all or those with fresh records, at which a value is over its limit: `Nodes 3 and 4: up to 97 % of all
 * CPUs are used.` A value that is not known (undefined, NaN or -Infinity) is over no limit; `text` is about the worst one.
 * `critical` has the conditions of the critical rule of the alert, where it has one, the one that waits least first.
 */
export function atNodes(
  which: 'nodes' | 'fresh',
  read: (node: NodeStatus, observation: Observation) => number | undefined,
  isOver: (value: number, thresholds: Thresholds) => boolean,
  text: (worst: number) => string,
  ...critical: readonly { readonly isOver: typeof isOver; readonly normalSeconds?: number }[]
): Check['find'] {
  return (observation) => {
    const over = observation[which].flatMap((node) => {
      const value = read(node, observation);
      return value !== undefined && isOver(value, observation.thresholds)
        ? [{ id: node.id, value }]
        : [];
    });
    if (over.length === 0) return undefined;
    const worst = over.reduce((most, { value }) => Math.max(most, value), -Infinity);
    const sentence = `${capitalize(formatNodes(over.map(({ id }) => id)))}: ${text(worst)}.`;
    const rule = critical.find((one) => one.isOver(worst, observation.thresholds));
    if (rule === undefined) return sentence;
    return { text: sentence, level: 'critical', normalSeconds: rule.normalSeconds };
  };
}

/** The share of the whole; undefined where one of both is not known, or the whole is 0. */
export function ratio(value: number | undefined, whole: number | undefined): number | undefined {
  return value === undefined || whole === undefined || !(whole > 0) ? undefined : value / whole;
}
