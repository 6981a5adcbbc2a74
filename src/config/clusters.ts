import { CLUSTER } from './cluster-options.ts';
import { readCloudApi } from './cloud-api.ts';
import { readClusterApi } from './cluster-api.ts';
import type { CollectorOptions } from './collector-options.ts';
import { isLocalRoute, readCollectors } from './collectors.ts';
import type { ClusterConfig } from './config.ts';
import type { Environment } from './givens.ts';
import { keysAt } from './options.ts';
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

/** Reads the list `clusters`. */
export async function readClusters(
  root: Section,
  context: ClusterContext,
): Promise<ClusterConfig[]> {
  const raw = memberOf(root, 'clusters');
  const { findings } = root;
  if (raw.form !== 'list' && !(raw.form === 'scalar' && raw.value === null)) {
    findings.report(raw.place, `${show(raw)} is not a list of clusters: begin each with "- name:"`);
    return [];
  }
  const items = raw.form === 'list' ? raw.items : [];
  if (items.length === 0) findings.report(raw.place, NO_CLUSTER);
  const clusters: ClusterConfig[] = [];
  const lines = new Map<string, number | undefined>();
  for (const item of items) {
    const section = openSection(item, CLUSTER_KEYS, findings);
    const cluster = await readCluster(section, context);
    const { line } = placeOf(section, CLUSTER.name);
    if (cluster.name !== '' && lines.has(cluster.name)) {
      const message = `the name ${quote(cluster.name)} is taken by the cluster in line ${lines.get(cluster.name)}`;
      findings.report(placeOf(section, CLUSTER.name), `${message}: names must differ`);
    }
    lines.set(cluster.name, line);
    clusters.push(cluster);
  }
  return clusters;
}

const NO_CLUSTER =
  'no cluster is configured: list one under clusters, or give --cluster.url; `crdb-exporter demo` needs neither';

async function readCluster(section: Section, context: ClusterContext): Promise<ClusterConfig> {
  const apis = {
    cluster: hasMember(section, 'cluster_api'),
    cloud: hasMember(section, 'cloud_api'),
  };
  if (!apis.cluster && !apis.cloud) {
    section.findings.report(section.place, 'a cluster needs cluster_api or cloud_api or both');
  }
  const name = readNeeded(section, CLUSTER.name);
  const cluster = {
    name,
    clusterApi: apis.cluster
      ? await readClusterApi(openApi(section, 'cluster_api'), context.env)
      : undefined,
    cloudApi: apis.cloud
      ? await readCloudApi(openApi(section, 'cloud_api'), context.env)
      : undefined,
    poll: read(section, CLUSTER.poll),
    collectors: readCollectors(
      context.commonCollectors,
      openCollectors(section, context.collectors),
      context.collectors,
      apis,
    ),
  };
  checkLocalRoute(section, cluster);
  return cluster;
}

function hasMember(section: Section, key: string): boolean {
  const { form } = memberOf(section, key);
  return form !== 'scalar' || section.entries.has(key);
}

function openApi(section: Section, key: 'cluster_api' | 'cloud_api'): Section {
  return openMember(section, key, keysAt(`clusters[].${key}`));
}

/** The block `collectors`, of a cluster or for all. */
export function openCollectors(section: Section, collectors: readonly CollectorOptions[]): Section {
  return openMember(
    section,
    'collectors',
    collectors.map(({ name }) => name),
  );
}

function checkLocalRoute(section: Section, { clusterApi, collectors }: ClusterConfig): void {
  const urls = clusterApi?.urls ?? [];
  if (!isLocalRoute('ranges', collectors['ranges']) || urls.length < 2) return;
  const raw: Raw = memberOf(openApi(section, 'cluster_api'), 'urls');
  const message = `${urls.length} URLs with \`route: local\`: name only the node beside this exporter`;
  section.findings.report(raw.place, message);
}
