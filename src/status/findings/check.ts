import type { AlertName, Thresholds } from '#alerts';
import { capitalize, formatNodes, formatStores } from '#base';
import type { NodeStatus } from '#collectors';
import type { Evidence } from './evidence.ts';
import type { Problem } from './status.ts';

/** A problem with its severity where the alert has two, and its next step where that of the check does not fit. */
type Found = Pick<Problem, 'text' | 'level' | 'nodeIds' | 'since'> & Partial<Pick<Problem, 'next'>>;

/** A condition of a cluster. The key of its problem is the name of the alert, unless that has several conditions. */
export interface Check extends Pick<Problem, 'about' | 'level' | 'next'> {
  readonly alert: AlertName;
  readonly key?: string;
  /** The text of the problem, with its severity where the alert has two; undefined while all is well. */
  readonly find: (evidence: Evidence) => string | Found | undefined;
}

/** The problems that these checks find. */
export function runChecks(checks: readonly Check[], evidence: Evidence): readonly Problem[] {
  return checks.flatMap((check) => {
    const { find, alert, key = alert, ...shown } = check;
    const found = find(evidence);
    if (found === undefined) return [];
    const problem: Found = typeof found === 'string' ? { text: found } : found;
    return [{ ...shown, ...problem, alert, key, level: problem.level ?? shown.level }];
  });
}

/** Whether a value is over a limit. */
type IsOver = (value: number, thresholds: Thresholds) => boolean;

/** A value of a node, or of one of its stores. */
interface Reading {
  readonly nodeId: number;
  readonly storeId?: string;
  readonly value: number;
}

/**
 * Finds the nodes, all or those with fresh records, at which a value is over its limit: `Nodes 3 and 4: up to 97 % of all
 * CPUs are used.` A value that is not known (undefined or NaN) is over no limit; `text` is about the worst one.
 */
export function atNodes(
  which: 'nodes' | 'fresh',
  read: (node: NodeStatus, evidence: Evidence) => number | undefined,
  isOver: IsOver,
  text: (worst: number) => string,
  isCritical?: IsOver,
): Check['find'] {
  return (evidence) => {
    const values = evidence[which].flatMap((node): readonly Reading[] => {
      const value = read(node, evidence);
      return value === undefined ? [] : [{ nodeId: node.id, value }];
    });
    return findOver(values, evidence.thresholds, isOver, text, isCritical);
  };
}

/** The same of stores of nodes with fresh records: `Store 4 of node 2: …`. */
export function atStores(
  read: (
    store: ReadonlyMap<string, number>,
    evidence: Evidence,
    storeId: string,
  ) => number | undefined,
  isOver: IsOver,
  text: (worst: number) => string,
  isCritical?: IsOver,
): Check['find'] {
  return (evidence) => {
    const values = evidence.fresh.flatMap(({ id: nodeId, stores }) =>
      [...stores].flatMap(([storeId, store]): readonly Reading[] => {
        const value = read(store, evidence, storeId);
        return value === undefined ? [] : [{ nodeId, storeId, value }];
      }),
    );
    return findOver(values, evidence.thresholds, isOver, text, isCritical);
  };
}

function findOver(
  values: readonly Reading[],
  thresholds: Thresholds,
  isOver: IsOver,
  text: (worst: number) => string,
  isCritical: IsOver | undefined,
): Found | undefined {
  const over = values.filter(({ value }) => isOver(value, thresholds));
  if (over.length === 0) return undefined;
  const worst = over.reduce((most, { value }) => Math.max(most, value), -Infinity);
  const { nodeIds, text: places } = describePlaces(over);
  return {
    nodeIds,
    text: `${capitalize(places)}: ${text(worst)}.`,
    ...(isCritical?.(worst, thresholds) === true && { level: 'critical' }),
  };
}

/** `nodes 3 and 4`, or `store 4 of node 2`. */
export function describePlaces(places: readonly Omit<Reading, 'value'>[]): {
  readonly text: string;
  readonly nodeIds: readonly number[];
} {
  const nodeIds = [...new Set(places.map(({ nodeId }) => nodeId))];
  const stores = places.flatMap(({ storeId }) => storeId ?? []);
  const nodes = formatNodes(nodeIds);
  return { nodeIds, text: stores.length === 0 ? nodes : `${formatStores(stores)} of ${nodes}` };
}
