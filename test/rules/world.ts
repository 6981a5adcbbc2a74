import type { RuleCase } from './cases.ts';

type Series = RuleCase['input_series'][number];
type Labels = Readonly<Record<string, string | number>>;
/** Values in minutes: a number, or nothing where there is no sample. */
export type Values = (minute: number) => number | undefined;

const STATUSES = ['live', 'dead', 'unavailable', 'draining', 'decommissioning', 'decommissioned'];
const PROBLEMS = [
  'unavailable',
  'no_lease',
  'no_raft_leader',
  'underreplicated',
  'raft_log_too_large',
  'circuit_breaker_error',
];
const BYTES = 1e12;
const MINUTE = 60;

/** A cluster or more, and the exporter that polls them, in compressed time: every series of Prometheus by minute. */
export class World {
  /** The name of the cluster. */
  readonly cluster: string;
  readonly #minutes: number;
  readonly #exporter: Labels;
  readonly #series = new Map<string, Values>();

  constructor(minutes: number, cluster = 'p') {
    this.cluster = cluster;
    this.#minutes = minutes;
    this.#exporter = { job: `crdb-exporter-${cluster}`, instance: `${cluster}-a` };
  }

  /** Sets or replaces a series. */
  set(name: string, labels: Labels, values: Values | number): this {
    const text = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    this.#series.set(
      `${name}{${text.join(',')}}`,
      typeof values === 'number' ? () => values : values,
    );
    return this;
  }

  /** A healthy cluster with nodes in three regions, and an exporter that is up. */
  healthy(nodes: number, cluster = this.cluster): this {
    const own = { crdb_cluster: cluster, ...this.#exporter };
    this.set('up', this.#exporter, 1);
    this.set('crdb_up', { ...own, api: 'cluster' }, 1);
    for (const collector of ['nodes', 'ranges', 'sessions']) {
      const labels = { ...own, collector, shard: 0 };
      this.set('crdb_exporter_collector_success', labels, 1);
      this.set('crdb_exporter_collector_interval_seconds', labels, MINUTE);
      this.set('crdb_exporter_collector_last_success_timestamp_seconds', labels, (m) => m * MINUTE);
    }
    for (const problem of PROBLEMS) this.problem(problem, 0, cluster);
    for (let id = 1; id <= nodes; id += 1) this.#node(id, cluster);
    this.set('crdb_build_tags', own, 1);
    this.set('crdb_exporter_cluster_configured', own, 1);
    this.set('crdb_backup_last_completed_timestamp_seconds', own, (m) => m * MINUTE);
    return this;
  }

  #node(id: number, cluster: string): void {
    const node = { crdb_cluster: cluster, node_id: id };
    const store = { ...node, store_id: id };
    const region = ['eu', 'us', 'ap'][id % 3] ?? '';
    this.liveness(id, () => 'live', cluster);
    this.build(id, 'v1', () => true, cluster);
    this.set('crdb_node_locality_info', { ...node, tier: 'region', value: region }, 1);
    this.set('crdb_node_started_timestamp_seconds', node, 0);
    this.set('crdb_node_updated_timestamp_seconds', node, (minute) => minute * MINUTE);
    this.set('crdb_node_record_age_seconds', node, 5);
    this.set('crdb_node_liveness_heartbeat_p99_seconds', node, 0.05);
    this.set('crdb_node_resident_memory_bytes', node, BYTES * 0.6);
    this.set('crdb_node_memory_bytes', node, BYTES);
    this.set('crdb_node_sql_connections', node, 50);
    this.set('crdb_sessions', { ...node, state: 'idle' }, 50);
    this.set('crdb_node_sql_failures_total', node, (minute) => minute * 6);
    this.set('crdb_node_rpc_connections', { ...node, state: 'healthy' }, 12);
    this.set('crdb_node_rpc_connections', { ...node, state: 'unhealthy' }, 0);
    this.set('crdb_store_wal_fsync_p99_seconds', store, 0.01);
    this.set('crdb_store_io_overload_ratio', store, 0.1);
    this.set('crdb_store_lock_waiters', store, 1);
    this.set('crdb_node_cpu_ratio', node, 0.4);
    this.set('crdb_node_sql_service_latency_p99_seconds', node, 0.05);
    this.set('crdb_node_sql_queries_total', node, (minute) => minute * 6000);
    this.set('crdb_store_available_bytes', store, BYTES * 0.6);
    this.set('crdb_store_capacity_bytes', store, BYTES);
    this.set('crdb_range_leases', store, 200);
    this.set('crdb_range_replicas', store, 600);
  }

  build(id: number, tag: string, has: (minute: number) => boolean, cluster = this.cluster): this {
    const region = ['eu', 'us', 'ap'][id % 3] ?? '';
    const labels = {
      crdb_cluster: cluster,
      node_id: id,
      address: `n${id}`,
      locality: `region=${region}`,
    };
    return this.set('crdb_node_info', { ...labels, build_tag: tag }, (m) =>
      has(m) ? 1 : undefined,
    );
  }

  liveness(id: number, statusAt: (minute: number) => string, cluster = this.cluster): this {
    for (const status of STATUSES) {
      const labels = { crdb_cluster: cluster, node_id: id, status };
      this.set('crdb_node_liveness', labels, (minute) => (statusAt(minute) === status ? 1 : 0));
    }
    return this;
  }

  problem(problem: string, ranges: Values | number, cluster = this.cluster): this {
    return this.set(
      'crdb_range_problem_ranges',
      { crdb_cluster: cluster, problem, shard: 0 },
      ranges,
    );
  }

  /** Ends the metrics of the node in these minutes, as of one that is down. */
  silence(id: number, isDown: (minute: number) => boolean): this {
    return this.#cut(
      (name) => name.includes(`node_id="${id}"`) && !/liveness|info|started|updated/.test(name),
      isDown,
    );
  }

  /** Its record is deleted from that minute on, as when its decommissioning has finished. */
  leave(id: number, minute: number): this {
    return this.#cut(
      (name) => name.includes(`node_id="${id}"`),
      (at) => at >= minute,
    );
  }

  /** Takes the exporter away in these minutes. */
  blackout(isDown: (minute: number) => boolean): this {
    return this.#cut((name) => !name.startsWith('up{'), isDown).set(
      'up',
      this.#exporter,
      (minute) => (isDown(minute) ? 0 : 1),
    );
  }

  #cut(isChosen: (name: string) => boolean, isDown: (minute: number) => boolean): this {
    for (const [name, values] of this.#series) {
      if (!isChosen(name)) continue;
      this.#series.set(name, (minute) => (isDown(minute) ? undefined : values(minute)));
    }
    return this;
  }

  /** The series in the notation of promtool; a series that ends gets its staleness marker. */
  write(): readonly Series[] {
    return Array.from(this.#series, ([series, values]) => {
      const all = Array.from({ length: this.#minutes + 1 }, (_, minute) => values(minute));
      const texts = all.map((value, minute) => {
        if (value !== undefined) return String(value);
        return minute > 0 && all[minute - 1] !== undefined ? 'stale' : '_';
      });
      return { series, values: texts.join(' ') };
    });
  }
}
