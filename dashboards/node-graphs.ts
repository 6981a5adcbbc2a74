import { graph, type GraphOptions } from './lib/graph.ts';
import { NODE_OF_SERIES, toBoard } from './lib/links.ts';
import { R, S } from './lib/variables.ts';

/** Series of the selected nodes. */
export const CHOSEN = `${S}, node_id=~"$node"`;
/** Recorded series of the selected nodes. */
export const CHOSEN_RECORDED = `${R}, node_id=~"$node"`;
/** The legend of a store. */
export const STORE = 'n{{node_id}} s{{store_id}}';

/** One line for each node; a click selects only that node. */
export function ofNode(
  title: string,
  { expr, ...options }: Omit<GraphOptions, 'queries' | 'legend'> & { readonly expr: string },
): ReturnType<typeof graph> {
  return graph(title, {
    ...options,
    queries: expr,
    legend: 'n{{node_id}}',
    links: [toBoard('Only this node', 'crdb-nodes', NODE_OF_SERIES)],
  });
}

/** The value of each node. */
export function perNode(family: string): string {
  return `max by (node_id) (${family}{${CHOSEN}})`;
}

/** The value of each store; `expr` selects its own series. */
export function perStore(expr: string): string {
  return `max by (node_id, store_id) (${expr})`;
}

/** The rate of a counter of nodes, per second. */
export function rateBy(labels: string, family: string): string {
  return `max by (${labels}) (rate(${family}{${CHOSEN}}[$__rate_interval]))`;
}
