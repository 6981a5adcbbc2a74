import type { AlertName, ThresholdName } from '#alerts';
import { capitalize, formatList, formatNodes, plural, toTime } from '#base';
import type { ListedNode } from '#collectors';
import type { Evidence } from './evidence.ts';
import type { Problem } from './status.ts';

/** A value of a node, of one of its stores, or of the cluster; NaN where it is not known. */
interface Reading {
  readonly nodeId?: number;
  readonly storeId?: string;
  readonly value: number;
}

/**
 * A figure with the limit of an alert: a row of the table in figures.ts. It is found while a value is over the limit; the key of
 * its problem is the name of the alert, unless the alert has several figures.
 */
export interface Figure extends Pick<Problem, 'about' | 'level'> {
  readonly alert: AlertName;
  readonly key?: string;
  readonly read: (evidence: Evidence) => readonly Reading[];
  /** Which values are over the limit; `from`: the limit itself, too. */
  readonly side: 'above' | 'from' | 'below';
  readonly limit: ThresholdName | number;
  /** The limit of the critical rule. */
  readonly critical?: ThresholdName;
  /** For a value in seconds: the seconds in the unit of its limit, 86,400 for days. The page says since when such a figure is over. */
  readonly unit?: number;
  /** What follows the places, about the worst value: `up to 97 % of all CPUs are used`. */
  readonly text: (worst: number, evidence: Evidence) => string;
  readonly next: string | ((evidence: Evidence) => string);
}

/** The figures that are over their limits: `Nodes 3 and 4: up to 97 % of all CPUs are used.` */
export function findFigures(figures: readonly Figure[], evidence: Evidence): readonly Problem[] {
  return figures.flatMap(
    ({ alert, key = alert, about, level, read, side, unit, text, next, ...limits }) => {
      const values = read(evidence);
      const findOver = (name: ThresholdName | number) => {
        const limit = (typeof name === 'number' ? name : evidence.thresholds[name]) * (unit ?? 1);
        return { limit, values: values.filter(({ value }) => isOver(value, side, limit)) };
      };
      const over = findOver(limits.limit);
      if (over.values.length === 0) return [];
      const overCritical = limits.critical === undefined ? undefined : findOver(limits.critical);
      const isCritical = overCritical !== undefined && overCritical.values.length > 0;
      const worst = over.values
        .map(({ value }) => value)
        .reduce((a, b) => (side === 'below' ? Math.min(a, b) : Math.max(a, b)));
      const { limit } = isCritical ? overCritical : over;
      const { nodeIds, places } = describePlaces(over.values);
      const sentence = text(worst, evidence);
      return [
        {
          key,
          about,
          alert,
          level: isCritical ? ('critical' as const) : level,
          text: `${capitalize(places === '' ? sentence : `${places}: ${sentence}`)}.`,
          next: typeof next === 'string' ? next : next(evidence),
          since:
            unit === undefined
              ? undefined
              : toTime(evidence.nowMs - Math.abs(worst - limit) * 1000),
          nodeIds,
        },
      ];
    },
  );
}

function isOver(value: number, side: Figure['side'], limit: number): boolean {
  if (side === 'below') return value < limit;
  return side === 'above' ? value > limit : value >= limit;
}

/** A value of each node, or of each node with a fresh record. */
export function ofNodes(
  which: 'nodes' | 'fresh',
  read: (node: ListedNode, evidence: Evidence) => number | undefined,
): Figure['read'] {
  return (evidence) =>
    evidence[which].map((node) => ({ nodeId: node.id, value: read(node, evidence) ?? NaN }));
}

/** A value of each store of the nodes with fresh records. */
export function ofStores(
  read: (store: ReadonlyMap<string, number>, evidence: Evidence) => number | undefined,
): Figure['read'] {
  return (evidence) =>
    evidence.fresh.flatMap(({ id: nodeId, stores }) =>
      Array.from(stores, ([storeId, store]) => ({
        nodeId,
        storeId,
        value: read(store, evidence) ?? NaN,
      })),
    );
}

/** A value of the cluster. */
export function ofCluster(read: (evidence: Evidence) => number | undefined): Figure['read'] {
  return (evidence) => [{ value: read(evidence) ?? NaN }];
}

/** `nodes 3 and 4`, or `store 4 of node 2`; nothing of the cluster. */
function describePlaces(readings: readonly Reading[]): {
  readonly places: string;
  readonly nodeIds: readonly number[] | undefined;
} {
  const nodeIds = [...new Set(readings.flatMap(({ nodeId }) => nodeId ?? []))];
  if (nodeIds.length === 0) return { places: '', nodeIds: undefined };
  const stores = readings.flatMap(({ storeId }) => storeId ?? []);
  const nodes = formatNodes(nodeIds);
  if (stores.length === 0) return { places: nodes, nodeIds };
  const places = `${plural(stores.length, 'store', 'stores')} ${formatList(stores)} of ${nodes}`;
  return { places, nodeIds };
}
