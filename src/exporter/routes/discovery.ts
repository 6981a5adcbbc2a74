import type { ServerResponse } from 'node:http';
import { isIPv6 } from 'node:net';
import { livenessOf, REACHABLE } from '#cockroach';
import { nodeInfoLabels, nodes } from '#collectors';
import type { Observation } from '../observation.ts';
import {
  readParameters,
  refusesRepeated,
  type Route,
  sendJson,
  sendText,
  sendUnknownCluster,
  toJson,
} from './respond.ts';

/** Where a node usually serves `/_status/vars`. */
const DEFAULT_PORT = '8080';
const MAX_PORT = 65_535;
/** A name of up to 255 characters and a port. */
const HOST = /^[\w.:[\]-]{1,261}$/;
/** A host name, which may end with a dot, or an IPv4 address. */
const HOST_NAME = /^[a-z\d](?:[\w.-]{0,252}[a-z\d])?\.?$/i;
/** An address with a zone is valid on its own machine alone: `[fe80::1%eth0]`. */
const ZONE = '%';

/** HTTP service discovery: the nodes of clusters, and the clusters themselves as targets of /probe. */
export function createDiscoveryRoutes(clusters: () => readonly Observation[]): readonly Route[] {
  return [
    { path: '/sd/nodes', handle: (response) => sendNodes(clusters(), response) },
    {
      path: '/sd/clusters',
      handle(response) {
        const { host = '' } = response.req.headers;
        if (HOST.test(host)) sendJson(response, toJson(listClusterTargets(clusters(), host)));
        else
          sendText(response, 400, 'the Host header must name this exporter, as exporter:10137\n');
      },
    },
  ];
}

/**
 * Nodes, for scraping their own metrics. Prometheus removes every target that a list lacks, so a list without a cluster that
 * is about to be known would remove its targets, and 503 keeps them: while no cluster is known, and until each cluster is known
 * or its first poll has failed an interval ago. A cluster whose polls fail later keeps its last list.
 */
function sendNodes(clusters: readonly Observation[], response: ServerResponse): void {
  if (refusesRepeated(response, 'cluster', 'port')) return;
  const parameters = readParameters(response.req);
  const name = parameters.get('cluster');
  const port = parameters.get('port') ?? DEFAULT_PORT;
  if (!/^[1-9][0-9]{0,4}$/.test(port) || Number(port) > MAX_PORT) {
    sendText(response, 400, `port is a number from 1 to ${MAX_PORT}\n`);
    return;
  }
  const chosen = clusters.filter((cluster) =>
    name === null ? pollsNodes(cluster) : cluster.name === name,
  );
  if (name !== null && chosen.length === 0) {
    sendUnknownCluster(response, clusters);
    return;
  }
  const awaited = chosen.filter(isAwaited);
  const groups = chosen.flatMap((cluster) => listNodeTargets(cluster, port));
  if (groups.length > 0 && awaited.length === 0) {
    sendJson(response, toJson(groups));
    return;
  }
  const unknown = awaited.length > 0 ? awaited : chosen;
  const names = unknown.map((cluster) => cluster.name).join(', ') || 'any cluster';
  const text = `the nodes of ${names} are not known at present\n`;
  sendText(response, 503, text, { 'retry-after': '5' });
}

/** Whether its nodes are polled without a request to /probe. */
function pollsNodes(cluster: Observation): boolean {
  return cluster.config.poll && nodesPoller(cluster) !== undefined;
}

/** Whether its first list of nodes is still to come. */
function isAwaited(cluster: Observation): boolean {
  return cluster.config.poll && nodesPoller(cluster)?.isAwaited === true;
}

function nodesPoller({ pollers }: Observation) {
  return pollers.find(({ collector }) => collector.name === nodes.name);
}

/**
 * Groups of targets, as Prometheus' HTTP service discovery takes them. A node that is not live is left out when a live one
 * has its address: a machine that lost its disk came back with another id, and would be scraped twice.
 */
function listNodeTargets(cluster: Observation, port: string) {
  const known = cluster.lastResult(nodes)?.nodes ?? [];
  const isLive = (node: (typeof known)[number]): boolean => REACHABLE.has(livenessOf(node));
  const taken = new Set(known.filter(isLive).map(({ address }) => address));
  return known.flatMap((node) => {
    const status = livenessOf(node);
    const host = targetHost(node.address);
    if (host === undefined || (!isLive(node) && taken.has(node.address))) return [];
    const labels = { ...nodeInfoLabels(node), cluster: cluster.name, status };
    const tiers = node.tiers.map(({ key, value }) => [`locality_${key}`, value] as const);
    return [
      {
        targets: [`${host}:${port}`],
        labels: Object.fromEntries(
          [...Object.entries(labels), ...tiers].map(([name, value]) => [metaName(name), value]),
        ),
      },
    ];
  });
}

/** `db-1` of `db-1:26257`, `[::1]` of `[::1]:26257`; undefined for what is neither a host name nor an address. */
function targetHost(address: string): string | undefined {
  const host = address.replace(/:[0-9]+$/, '');
  const isAddress = /^\[.*\]$/.test(host) && isIPv6(host.slice(1, -1)) && !host.includes(ZONE);
  return isAddress || HOST_NAME.test(host) ? host : undefined;
}

/** `__meta_crdb_node_id` of `node_id`; what no label name may contain becomes an underscore. */
function metaName(label: string): string {
  return `__meta_crdb_${label.replaceAll(/[^a-zA-Z0-9_]/g, '_')}`;
}

/** Every configured cluster, as a target at the address to which this request was sent. */
function listClusterTargets(clusters: readonly Observation[], host: string) {
  return clusters.map(({ name, config }) => ({
    targets: [host],
    labels: {
      __meta_crdb_cluster: name,
      __meta_crdb_poll: String(config.poll),
      __param_cluster: name,
    },
  }));
}
