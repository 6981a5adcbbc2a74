import { readCloudApi } from './cloud-api.ts';
import { readClusterApi } from './cluster-api.ts';
import { CLUSTER, CLUSTER_API } from './cluster-options.ts';
import type { CollectorOptions } from './collector-options.ts';
import { isLocalRoute, readCollectors } from './collectors.ts';
import type { ClusterConfig } from './config.ts';
import type { Environment } from './givens.ts';
import { keysAt } from './options.ts';
import { readProxies } from './proxy.ts';
import { quote, show } from './raw.ts';
import type { Raw } from './raw.ts';
import { memberOf, openMember, openSection, placeOf, read, readNeeded } from './section.ts';
import type { Section } from './section.ts';

/** What the clusters of a file share. */
export interface ClusterContext {
  readonly env: Environment;
  readonly collectors: readonly CollectorOptions[];
  /** The block `collectors` for all clusters. */
  readonly commonCollectors: Section;
}

const CLUSTER_KEYS = [...keysAt('clusters[]'), 'collectors'];
const NO_CLUSTER =
  'no cluster is configured: list one under clusters, or give --cluster.url; `crdb-exporter demo` needs neither';

/** Reads the list `clusters`. */
export async function readClusters(
  root: Section,
  context: ClusterContext,
): Promise<ClusterConfig[]> {
  const sections = listClusters(root).map((raw) => openSection(raw, CLUSTER_KEYS, root.findings));
  reportSameNames(sections);
  const clusters: ClusterConfig[] = [];
  for (const section of sections) clusters.push(await readCluster(section, context));
  return clusters;
}

function listClusters(root: Section): readonly Raw[] {
  const raw = memberOf(root, 'clusters');
  const isMissing = raw.form === 'scalar' && raw.value === null;
  if (raw.form === 'list' && raw.items.length > 0) return raw.items;
  const message = `${show(raw)} is not a list of clusters: begin each with "- name:"`;
  root.findings.report(raw.place, isMissing || raw.form === 'list' ? NO_CLUSTER : message);
  return [];
}

function reportSameNames(sections: readonly Section[]): void {
  const firsts = new Map<unknown, Section>();
  for (const section of sections) {
    const raw = memberOf(section, 'name');
    const name = raw.form === 'scalar' ? raw.value : null;
    const first = firsts.get(name);
    firsts.set(name, first ?? section);
    if (first === undefined || typeof name !== 'string') continue;
    const { line } = placeOf(first, CLUSTER.name);
    const message = `the name ${quote(name)} is taken by the cluster in line ${line}`;
    section.findings.report(raw.place, `${message}: names must differ`);
  }
}

async function readCluster(section: Section, context: ClusterContext): Promise<ClusterConfig> {
  const clusterApi = openApi(section, 'cluster_api');
  const cloudApi = openApi(section, 'cloud_api');
  if (clusterApi === undefined && cloudApi === undefined) {
    section.findings.report(section.place, 'a cluster needs cluster_api or cloud_api or both');
  }
  const apis = {
    clusterApi: clusterApi && (await readClusterApi(clusterApi, context.env)),
    cloudApi: cloudApi && (await readCloudApi(cloudApi, context.env)),
  };
  const cluster = {
    name: readNeeded(section, CLUSTER.name),
    ...apis,
    proxy: readProxies(listUrls(apis), context.env, section.findings),
    poll: read(section, CLUSTER.poll),
    collectors: readCollectors(
      context.commonCollectors,
      openCollectors(section, context.collectors),
      context.collectors,
      { cluster: clusterApi !== undefined, cloud: cloudApi !== undefined },
    ),
  };
  if (clusterApi !== undefined) checkLocalRoute(clusterApi, cluster);
  return cluster;
}

function listUrls({ clusterApi, cloudApi }: Pick<ClusterConfig, 'clusterApi' | 'cloudApi'>) {
  return [...(clusterApi?.urls ?? []), ...(cloudApi ? [cloudApi.url] : [])];
}

function openApi(section: Section, key: 'cluster_api' | 'cloud_api'): Section | undefined {
  if (!section.entries.has(key)) return undefined;
  return openMember(section, key, keysAt(`clusters[].${key}`));
}

/** The block `collectors`, of a cluster or for all. */
export function openCollectors(section: Section, collectors: readonly CollectorOptions[]): Section {
  const names = collectors.map(({ name }) => name);
  return openMember(section, 'collectors', names);
}

function checkLocalRoute(api: Section, { clusterApi, collectors }: ClusterConfig): void {
  const count = clusterApi?.urls.length ?? 0;
  if (!isLocalRoute('ranges', collectors['ranges']) || count < 2) return;
  const message = `${count} URLs with \`route: local\`: name only the node beside this exporter`;
  api.findings.report(placeOf(api, CLUSTER_API.urls), message);
}
