import type { IncomingMessage, ServerResponse } from 'node:http';
import { readParameters } from './parameters.ts';
import { Figures } from './status/figures.ts';
import type { RenderCache } from './status/render-cache.ts';
import { sendJsonText, toJson } from './status/send.ts';
import type { ClusterSource } from './status/source.ts';
import { sendText } from './text.ts';

/** What Prometheus' HTTP service discovery takes. */
interface TargetGroup {
  readonly targets: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/** What one answer to a discovery of nodes is made of. */
export interface NodeTargets {
  readonly body: Buffer;
  /** Clusters whose nodes are not known at present. */
  readonly unknown: readonly string[];
}

/** Where a node usually serves `/_status/vars`. */
const DEFAULT_PORT = '8080';
const HIGHEST_PORT = 65_535;
/** A name of up to 255 characters and a port. */
const HOST = /^[\w.:[\]-]{1,261}$/;

/**
 * The nodes of one or all polled clusters, for scraping their own metrics. 503 while the nodes of a cluster are
 * not known: a shorter list would take their targets away.
 */
export function sendNodeTargets(
  {
    all,
    cache,
  }: { readonly all: readonly ClusterSource[]; readonly cache: RenderCache<NodeTargets> },
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const parameters = readParameters(request);
  const [name, port = DEFAULT_PORT] = [
    parameters.get('cluster'),
    parameters.get('port') ?? undefined,
  ];
  if (!/^[1-9][0-9]{0,4}$/.test(port) || Number(port) > HIGHEST_PORT) {
    sendText(response, 400, `port is a number from 1 to ${HIGHEST_PORT}\n`);
    return;
  }
  const clusters = all.filter((one) => (name === null ? isWatched(one) : one.name === name));
  if (name !== null && clusters.length === 0) {
    sendUnknownCluster(response, all);
    return;
  }
  const { body, unknown } = cache(JSON.stringify([name, port]), () =>
    renderNodeTargets(clusters, port),
  );
  if (unknown.length > 0 || clusters.length === 0) {
    const which = unknown.join(', ') || 'any cluster';
    sendText(response, 503, `the nodes of ${which} are not known at present\n`, {
      'retry-after': '5',
    });
    return;
  }
  sendJsonText(response, body);
}

function renderNodeTargets(clusters: readonly ClusterSource[], port: string): NodeTargets {
  const groups = clusters.map((cluster) => describeNodes(cluster, port));
  // Without present data there are no groups either.
  const unknown = clusters.filter((_, at) => groups[at]?.length === 0).map(({ name }) => name);
  return { unknown, body: unknown.length > 0 ? Buffer.of() : toJson(groups.flat()) };
}

/** Every configured cluster, as a target at the address under which this exporter was asked. */
export function sendClusterTargets(
  { clusters, cache }: { readonly clusters: readonly ClusterSource[]; readonly cache: RenderCache },
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { host = '' } = request.headers;
  if (!HOST.test(host)) {
    sendText(response, 400, 'the Host header must name this exporter, as exporter:10137\n');
    return;
  }
  sendJsonText(
    response,
    cache(host, () => toJson(describeClusters(clusters, host))),
  );
}

function describeClusters(
  clusters: readonly ClusterSource[],
  host: string,
): readonly TargetGroup[] {
  return clusters.map(({ name, isPolled }) => ({
    targets: [host],
    labels: {
      __meta_crdb_cluster: name,
      __meta_crdb_poll: String(isPolled),
      __param_cluster: name,
    },
  }));
}

export function sendUnknownCluster(
  response: ServerResponse,
  clusters: readonly ClusterSource[],
): void {
  const names = clusters.map(({ name }) => name).join(', ');
  sendText(response, 404, `no such cluster; there are ${names}\n`);
}

/** Clusters whose nodes are polled without being asked for. */
function isWatched({ isPolled, pollers }: ClusterSource): boolean {
  return isPolled && pollers.some(({ plan }) => plan.collector === 'nodes');
}

function describeNodes(cluster: ClusterSource, port: string): readonly TargetGroup[] {
  const figures = new Figures(cluster);
  const living = figures.all('crdb_node_liveness').filter(({ value }) => value === 1);
  const statuses = new Map(living.map(({ labels }) => [labels['node_id'], labels['status']]));
  const tiers = Map.groupBy(
    figures.all('crdb_node_locality_info'),
    ({ labels }) => labels['node_id'],
  );
  return figures.all('crdb_node_info').flatMap(({ labels }): readonly TargetGroup[] => {
    const { node_id: id, address = '' } = labels;
    const status = statuses.get(id) ?? 'unknown';
    // It has left the cluster and will not be back under this id.
    if (status === 'decommissioned' || address === '') return [];
    const described = Object.entries(labels).map(([name, value]) => [metaName(name), value]);
    const localities = (tiers.get(id) ?? []).map(({ labels: { tier = '', value = '' } }) => [
      metaName(`locality_${tier}`),
      value,
    ]);
    return [
      {
        targets: [`${hostOf(address)}:${port}`],
        labels: {
          ...Object.fromEntries([...described, ...localities]),
          __meta_crdb_cluster: cluster.name,
          __meta_crdb_status: status,
        },
      },
    ];
  });
}

/** `__meta_crdb_node_id` of `node_id`; what no label name may hold becomes an underscore. */
function metaName(label: string): string {
  return `__meta_crdb_${label.replaceAll(/[^a-zA-Z0-9_]/g, '_')}`;
}

/** `db-1` of `db-1:26257`, `[::1]` of `[::1]:26257`. */
function hostOf(address: string): string {
  return address.replace(/:[0-9]+$/, '');
}
