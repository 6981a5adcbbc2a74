import { integer, object } from '#json';
import type { ClusterApi } from './cluster-api.ts';
import { RequestError } from './http/errors.ts';
import type { PollStats } from './http/poll-stats.ts';
import {
  isId,
  livenessOf,
  LocalityReader,
  localityShape,
  PAGE_LIMIT,
  REACHABLE,
  type Tier,
} from './node.ts';

/** Nodes that belong to the cluster, ascending. */
export interface NodeList {
  readonly toScan: readonly number[];
  readonly toSkip: readonly number[];
  /** The tiers of each node by its id, from broad to narrow. */
  readonly localities: ReadonlyMap<number, readonly Tier[]>;
  /** Tiers were left out because of a limit. */
  readonly areLocalitiesCut?: true | undefined;
  /** Listed nodes whose id could not be read. */
  readonly unreadable: number;
}

const nodeShape = object({
  node_id: integer(),
  liveness_status: integer(),
  locality: localityShape,
});

/**
 * Lists the nodes, by ids, liveness and locality only. A scan passes another `firstUrl` each time, the index of the URL to
 * begin with. Rejects like the API.
 */
export async function listNodes(
  api: ClusterApi,
  stats: PollStats,
  { firstUrl = 0 } = {},
): Promise<NodeList> {
  const toScan = new Set<number>();
  const toSkip = new Set<number>();
  const localities = new Map<number, readonly Tier[]>();
  const reader = new LocalityReader();
  const { unreadable } = await api.nodes(stats, {
    limit: PAGE_LIMIT,
    firstUrl,
    shape: nodeShape,
    onNode({ node_id: id, liveness_status: livenessCode, locality }) {
      if (!isId(id)) return;
      // A node that moves between two pages is listed twice.
      toScan.delete(id);
      toSkip.delete(id);
      (REACHABLE.has(livenessOf({ livenessCode })) ? toScan : toSkip).add(id);
      localities.set(id, reader.copyTiers(locality));
    },
  });
  return {
    toScan: ascending(toScan),
    toSkip: ascending(toSkip),
    localities,
    areLocalitiesCut: reader.isCut || undefined,
    unreadable,
  };
}

function ascending(ids: ReadonlySet<number>): readonly number[] {
  return [...ids].toSorted((a, b) => a - b);
}

const REMOVE_ONE =
  'remove the wrong one from cluster_api.urls, or configure the other cluster as one of its own';

/**
 * Rejects when two of the URLs lead to different clusters, whose figures would be mixed, and when the poll is over. Sends one
 * request to each URL if there are several. A URL that does not answer is no second cluster. As a node may restart between
 * two of the requests, they are sent once more before that is said.
 */
export async function assertOneCluster(
  api: ClusterApi,
  stats: PollStats,
  urlCount: number,
): Promise<void> {
  if (urlCount < 2) return;
  if ((await findTwoClusters(api, stats, urlCount)) === undefined) return;
  const found = await findTwoClusters(api, stats, urlCount);
  if (found === undefined) return;
  const [first, other] = found.map(({ url, identity }) => `${url} (${identity.toString()})`);
  throw new RequestError('other', `the URLs lead to different clusters: ${first} and ${other}`, {
    endpoint: 'nodes',
    remedy: REMOVE_ONE,
  });
}

/** The first URL that answers, and the first that lists another cluster. */
async function findTwoClusters(api: ClusterApi, stats: PollStats, urlCount: number) {
  const asked = Array.from({ length: urlCount }, (_, index) => api.identityAt(stats, index));
  const [first, ...others] = (await Promise.all(asked)).filter((found) => found !== undefined);
  const other = others.find(({ identity }) => first && identity.isOtherThan(first.identity));
  return first && other && ([first, other] as const);
}
