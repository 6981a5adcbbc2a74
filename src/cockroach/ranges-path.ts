/** Who lists the ranges of a node: any server, the node itself through any server, or the URL's own. */
export type RangeRoute = 'gateway' | 'proxy' | 'local';

/** The path of a list of ranges; `page` is its limit and offset, or empty. */
export function rangesPath(
  request: {
    readonly nodeId: number;
    readonly route: RangeRoute;
    readonly rangeIds?: readonly number[];
  },
  page: string,
): string {
  const { nodeId, route, rangeIds } = request;
  const query = [
    ...(route === 'proxy' ? [`remote_node_id=${nodeId}`] : []),
    ...(rangeIds === undefined ? [] : [`ranges=${rangeIds.join(',')}`]),
    ...(page === '' ? [] : [page]),
  ].join('&');
  const path = `/nodes/${route === 'gateway' ? nodeId : 'local'}/ranges/`;
  return query === '' ? path : `${path}?${query}`;
}
