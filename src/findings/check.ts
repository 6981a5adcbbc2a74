import type { NodeStatus } from '../collectors/nodes/collector.ts';
import type { Thresholds } from '../config/alert-settings.ts';
import { capitalize, formatNodes } from '../format.ts';
import type { AlertName } from '../vocabulary.ts';
import type { Observation } from './observation.ts';
import type { Problem } from './status.ts';

/** A condition of a cluster. The key of its problem is the name of the alert, unless that has several conditions. */
export interface Check extends Pick<
  Problem,
  'about' | 'alert' | 'level' | 'normalSeconds' | 'worsens' | 'next'
> {
  readonly alert: AlertName;
  readonly key?: string;
  /** The text of the problem, with its severity and wait where the alert has two; undefined while all is well. */
  readonly find: (
    observation: Observation,
  ) => string | Pick<Problem, 'text' | 'level' | 'normalSeconds'> | undefined;
}

/** The problems that these checks find. */
export function runChecks(checks: readonly Check[], observation: Observation): readonly Problem[] {
  return checks.flatMap((check) => {
    const { find, alert, key = alert, ...shown } = check;
    const found = find(observation);
    if (found === undefined) return [];
    return [{ ...shown, alert, key, ...(typeof found === 'string' ? { text: found } : found) }];
  });
}

/**
 * Finds the nodes, all or those with fresh records, at which a value is over its limit: `Nodes 3 and 4: up to 97 % of all
 * CPUs are used.` A value that is not known (undefined, NaN or -Infinity) is over no limit; `text` is about the worst one.
 * `critical` is the critical rule of the alert, where it has one.
 */
export function atNodes(
  which: 'nodes' | 'fresh',
  read: (node: NodeStatus, observation: Observation) => number | undefined,
  isOver: (value: number, thresholds: Thresholds) => boolean,
  text: (worst: number) => string,
  critical?: { readonly isOver: typeof isOver; readonly normalSeconds: number },
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
    return critical?.isOver(worst, observation.thresholds)
      ? { text: sentence, level: 'critical', normalSeconds: critical.normalSeconds }
      : sentence;
  };
}

/** The share of the whole; undefined where one of both is not known, or the whole is 0. */
export function ratio(value: number | undefined, whole: number | undefined): number | undefined {
  return value === undefined || whole === undefined || !(whole > 0) ? undefined : value / whole;
}
