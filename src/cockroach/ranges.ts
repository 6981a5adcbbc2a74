import { RequestError } from '../http/errors.ts';
import { array, type Infer, integer, object, string } from '../json/shape.ts';

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

/** A range as jsonpb writes it: integers of 64 bits as strings, enums as integers. */
export const describedRange = object({
  state: object({
    state: object({
      desc: object({ rangeId: string(), internalReplicas: array(object({ type: integer() })) }),
    }),
  }),
});

/** What a range consists of. */
export interface RangeTypes {
  readonly rangeId: number;
  /** 0 is a voter, 5 a non-voter; undefined is no integer. */
  readonly types: readonly (number | undefined)[];
}

export interface TypesRequest {
  /** Ends the request before the poll's own deadline does. */
  readonly deadline: AbortSignal;
  readonly nodeId: number;
  readonly rangeIds: readonly number[];
  /** Index of the URL to begin with. */
  readonly firstUrl: number;
  readonly onRange: (range: RangeTypes) => void;
}

export function typesOf({ state }: Infer<typeof describedRange>): RangeTypes {
  const { rangeId, internalReplicas } = state.state.desc;
  return { rangeId: Number(rangeId), types: internalReplicas.map(({ type }) => type) };
}

/** The parameter is repeated: servers up to 25.x refuse a list. */
export function typesPath({ nodeId, rangeIds }: TypesRequest): string {
  return `/_status/ranges/${nodeId}?${rangeIds.map((id) => `range_ids=${id}`).join('&')}`;
}

/** The HTTP status of a failed request; undefined where no response came, and for other errors. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof RequestError ? error.status : undefined;
}
