import type { RuleCase } from './cases.ts';

export const RULE = 'crdb_cluster_node_id:crdb_safe_to_stop:bool';
const DISAGREEING =
  'crdb_cluster_instance_collector_shard:crdb_exporter_collector_last_success_timestamp_seconds:disagreeing';

/** When the rule is evaluated. */
export const MINUTES = 10;

/** What one exporter sees of a cluster of the nodes 1 and 2. */
export interface World {
  /** Distinguishes two exporters of one cluster. */
  readonly instance?: string;
  readonly job?: string;
  /** Dependent ranges by node and effect; the rest is 0. */
  readonly dependent?: Readonly<Record<string, number>>;
  readonly status?: Readonly<Record<number, Status>>;
  /** The nodes that were read. */
  readonly read?: readonly number[];
  /** Replicas by node, of which each has one on each of two stores. */
  readonly replicas?: Readonly<Record<number, number>>;
  readonly unavailable?: number;
  readonly lost?: number;
  readonly gap?: number;
  readonly servingNothing?: number;
  readonly unverified?: number;
  readonly keySpaceComplete?: number;
  /** What the collector network exposes; undefined: it has no data to get. */
  readonly network?: {
    readonly checked: number;
    readonly pairs?: number;
    readonly success?: number;
  };
  /** Nodes that were down when the others were asked for their connections. */
  readonly returned?: readonly number[];
  /** Unhealthy connections of each node, of 4; undefined where no node counts them. */
  readonly unhealthy?: number | undefined;
  /** Nodes that have one more of them. */
  readonly cut?: readonly number[];
  /** Nodes whose counts of connections are 0. */
  readonly uncounted?: readonly number[];
  /** Nodes that do not write their records. */
  readonly oldRecords?: readonly number[];
  readonly scanAgeSeconds?: number;
  /** Success of the last polls of nodes, ranges and sessions. */
  readonly success?: Readonly<Record<string, number>>;
  /** Scans of the last minutes that disagreed with the counts of the nodes. */
  readonly disagreeing?: number;
  /** Parts of the names of families that are absent. */
  readonly without?: readonly string[];
}

const STATUSES = ['live', 'draining', 'decommissioning', 'dead', 'unknown', 'other'] as const;
type Status = (typeof STATUSES)[number];

/** What this exporter exposes all the time. */
export function seriesOf(cluster: string, world: World): RuleCase['input_series'] {
  const { instance = 'a', job = 'j', disagreeing = 0 } = world;
  const found = Array.from(samplesOf(cluster, world, MINUTES), ([series, value]) => ({
    series,
    values: `${value}x${MINUTES}`,
  }));
  const ends = Array.from({ length: disagreeing }, (_, scan) => 60 * scan);
  if (ends.length > 0) {
    const series = `${DISAGREEING}{crdb_cluster="${cluster}",job="${job}",instance="${instance}",collector="ranges",shard="0"}`;
    found.push({ series, values: ends.join(' ') });
  }
  return found;
}

/** The value of each series that this exporter exposes in this minute. */
export function samplesOf(
  cluster: string,
  world: World,
  minute: number,
): ReadonlyMap<string, number> {
  const { instance = 'a', job = 'j', dependent = {}, status = { 1: 'live', 2: 'live' } } = world;
  const { scanAgeSeconds = 100, network = { checked: 1 } } = world;
  const found = new Map<string, number>();
  const add = (name: string, value: number | undefined, labels = ''): void => {
    if (value === undefined || world.without?.some((part) => name.includes(part))) return;
    found.set(
      `${name}{crdb_cluster="${cluster}",job="${job}",instance="${instance}"${labels}}`,
      value,
    );
  };
  for (const node of world.read ?? [1, 2]) {
    for (const effect of ['quorum', 'all_replicas', 'without_quorum']) {
      const value = dependent[`${node} ${effect}`] ?? 0;
      add('crdb_node_dependent_ranges', value, `,node_id="${node}",effect="${effect}"`);
    }
    add('crdb_range_scan_node_success', 1, `,node_id="${node}"`);
    for (const store of [1, 2]) {
      const replicas = world.replicas?.[node] ?? 30;
      add('crdb_range_replicas', replicas, `,node_id="${node}",store_id="${node}${store}"`);
    }
    if (world.unhealthy !== undefined) {
      const all = world.uncounted?.includes(node) === true ? 0 : 4;
      const unhealthy = Math.min(all, world.unhealthy + (world.cut?.includes(node) ? 1 : 0));
      add('crdb_node_rpc_connections', all - unhealthy, `,node_id="${node}",state="healthy"`);
      add('crdb_node_rpc_connections', unhealthy, `,node_id="${node}",state="unhealthy"`);
    }
  }
  for (const [node, current] of Object.entries(status)) {
    for (const one of STATUSES) {
      add('crdb_node_liveness', one === current ? 1 : 0, `,node_id="${node}",status="${one}"`);
    }
    const recordAge = world.oldRecords?.includes(Number(node)) === true ? 120 : 5;
    add('crdb_node_record_age_seconds', recordAge, `,node_id="${node}"`);
    const hasTold = current !== 'dead' && world.returned?.includes(Number(node)) !== true;
    add('crdb_node_peers', hasTold ? 1 : undefined, `,node_id="${node}",state="established"`);
  }
  for (const one of STATUSES) {
    const listed = Object.values(status).filter((current) => current === one);
    add('crdb_nodes', listed.length, `,status="${one}"`);
  }
  add('crdb_range_problem_ranges', world.unavailable ?? 0, ',problem="unavailable",shard="0"');
  add('crdb_range_problem_ranges', 7, ',problem="underreplicated",shard="0"');
  add('crdb_ranges_without_live_replica', world.lost ?? 0);
  add('crdb_range_key_space_gap', world.gap ?? 0);
  add('crdb_range_key_space_complete', world.keySpaceComplete ?? 1);
  add('crdb_ranges_serving_nothing', world.servingNothing ?? 0);
  add('crdb_ranges_unverified', world.unverified ?? 0);
  add('crdb_network_checked', network.checked);
  add('crdb_network_unreachable_pairs', network.pairs ?? 0);
  add('crdb_exporter_collector_success', network.success ?? 1, ',collector="network",shard="0"');
  // That of the sessions, which is late, does not matter.
  for (const [name, ageSeconds] of Object.entries({ ranges: scanAgeSeconds, sessions: 500 })) {
    const collector = `,collector="${name}",shard="0"`;
    const ended = 60 * minute - ageSeconds;
    add('crdb_exporter_collector_last_success_timestamp_seconds', ended, collector);
    add('crdb_exporter_collector_interval_seconds', name === 'ranges' ? 60 : 600, collector);
    add('crdb_exporter_collector_duration_seconds', name === 'ranges' ? 10 : 900, collector);
  }
  for (const name of ['nodes', 'ranges', 'sessions']) {
    const success = world.success?.[name] ?? 1;
    add('crdb_exporter_collector_success', success, `,collector="${name}",shard="0"`);
  }
  return found;
}

/** `1-0` -> 1 of node 1 and 0 of node 3 */
export function answersOf(cluster: string, answer: string) {
  return Array.from(answer, (value, index) => ({
    labels: `${RULE}{crdb_cluster="${cluster}",node_id="${index + 1}"}`,
    value: Number(value),
  })).filter(({ value }) => !Number.isNaN(value));
}
