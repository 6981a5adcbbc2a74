/** The releases that the simulator can be, from old to new. */
export const RELEASES = ['25.2', '25.3', '25.4', '26.1', '26.2', '26.3'] as const;

export type Release = (typeof RELEASES)[number];

/** The release of a world of which none is chosen. */
export const DEFAULT_RELEASE: Release = '25.4';

/** What differs between the releases. */
interface Traits {
  readonly build: string;
  /** Nodes of such releases talk to each other by DRPC, whose connections they neither list nor count. */
  readonly hasDrpc: boolean;
  /** Figures of the whole cluster are in no record of a node, but in `/_status/vars` of one node. */
  readonly hasClusterMetrics: boolean;
  readonly hasInspect: boolean;
}

const UNTIL_25_3 = { hasDrpc: false, hasClusterMetrics: false, hasInspect: false };
const UNTIL_26_2 = { ...UNTIL_25_3, hasInspect: true };

const TRAITS: Readonly<Record<Release, Traits>> = {
  '25.2': { ...UNTIL_25_3, build: 'v25.2.9' },
  '25.3': { ...UNTIL_25_3, build: 'v25.3.5' },
  '25.4': { ...UNTIL_26_2, build: 'v25.4.3' },
  '26.1': { ...UNTIL_26_2, build: 'v26.1.2' },
  '26.2': { ...UNTIL_26_2, build: 'v26.2.2' },
  '26.3': {
    build: 'v26.3.0-alpha.1',
    hasDrpc: true,
    hasClusterMetrics: true,
    hasInspect: true,
  },
};

export function traitsOf({ release }: { readonly release: Release }): Traits {
  return TRAITS[release];
}

/** The version that a node of the release says that it has. */
export function versionOf(release: Release) {
  const [major = 0, minor = 0] = release.split('.').map(Number);
  return { major, minor, internal: 0 };
}

/** Whether two nodes talk to each other by DRPC. */
export function talkByDrpc(
  a: { readonly release: Release },
  b: { readonly release: Release },
): boolean {
  return traitsOf(a).hasDrpc && traitsOf(b).hasDrpc;
}

/** Keys that are in the records of older releases alone, and where they are in newer ones. */
const MOVED_KEYS: readonly string[] = [
  'physical_replication.running',
  'physical_replication.scanning_ranges',
  'physical_replication.catchup_ranges',
  'physical_replication.failover_progress',
  'physical_replication.distsql_replan_count',
];

/** Metrics of a node that a newer release has no more in its record. */
export function releaseMetrics(node: { readonly release: Release }): Record<string, number> {
  if (traitsOf(node).hasClusterMetrics) return {};
  return Object.fromEntries(MOVED_KEYS.map((key) => [key, 0]));
}

/** Figures of the whole cluster with their labels, as one node has them in `/_status/vars`. */
export function clusterMetrics(node: { readonly release: Release }): readonly string[] {
  if (!traitsOf(node).hasClusterMetrics) return [];
  return [
    ...MOVED_KEYS.map(
      (key) =>
        `${key.replace('.', '_')}{source_tenant_name="main",destination_tenant_name="standby"} 0`,
    ),
    'changefeed_checkpoint_lag{job_id="1000001",scope="default"} 3',
  ];
}
