import type { Figures } from './figures.ts';

/** A node as its record says; what a stale record measured is left out, as on /metrics. */
export interface NodeStatus {
  readonly id: number;
  readonly status: string;
  /** `region=us-east1,zone=b`; empty when the node has none. */
  readonly locality: string;
  readonly build: string;
  readonly startedAt: string | undefined;
  /** When the node last wrote its record. */
  readonly recordAt: string | undefined;
  /** True when others write theirs and this one does not. */
  readonly isStale: boolean;
  readonly cpuRatio: number | undefined;
  readonly sqlConnections: number | undefined;
  /** Of its stores, from the last range scan. */
  readonly queriesPerSecond: number | undefined;
  /** Of its fullest store. */
  readonly storeUsedRatio: number | undefined;
}

export interface NodesStatus {
  readonly byStatus: Readonly<Record<string, number>>;
  /** Builds of the nodes that are neither dead nor decommissioned. */
  readonly builds: readonly string[];
  /** By id. */
  readonly list: readonly NodeStatus[];
}

/** Records are written every 10 s: one that lags the newest by this much is written no more. */
const MAX_LAG_SECONDS = 60;
/** Nodes that are expected to be silent. */
const GONE: ReadonlySet<string> = new Set(['dead', 'decommissioned']);

/** Undefined while there is no present data of the nodes. */
export function readNodes(figures: Figures): NodesStatus | undefined {
  const infos = figures.all('crdb_node_info');
  if (infos.length === 0) return undefined;
  const statuses = readStatuses(figures);
  const updated = figures.by('node_id', 'crdb_node_updated_timestamp_seconds');
  const started = figures.by('node_id', 'crdb_node_started_timestamp_seconds');
  const newest = Math.max(...updated.values());
  const measured = readMeasured(figures);
  const list = infos.map(({ labels }): NodeStatus => {
    const { node_id: id = '', locality = '', build_tag: build = '' } = labels;
    const status = statuses.get(id) ?? 'unknown';
    const record = updated.get(id);
    return {
      id: Number(id),
      status,
      locality,
      build,
      startedAt: toTime(started.get(id)),
      recordAt: toTime(record),
      isStale: !GONE.has(status) && newest - (record ?? 0) > MAX_LAG_SECONDS,
      ...measured(id),
    };
  });
  const present = list.filter(({ status, build }) => !GONE.has(status) && build !== '');
  return {
    byStatus: Object.fromEntries(figures.by('status', 'crdb_nodes')),
    builds: [...new Set(present.map(({ build }) => build))].toSorted(),
    list: list.toSorted((a, b) => a.id - b.id),
  };
}

function readStatuses(figures: Figures): ReadonlyMap<string, string> {
  const present = figures.all('crdb_node_liveness').filter(({ value }) => value === 1);
  return new Map(present.map(({ labels }) => [labels['node_id'] ?? '', labels['status'] ?? '']));
}

type Measured = Pick<
  NodeStatus,
  'cpuRatio' | 'sqlConnections' | 'queriesPerSecond' | 'storeUsedRatio'
>;

function readMeasured(figures: Figures): (id: string) => Measured {
  const cpu = figures.by('node_id', 'crdb_node_cpu_ratio');
  const connections = figures.by('node_id', 'crdb_node_sql_connections');
  const queries = figures.by('node_id', 'crdb_store_queries_per_second');
  const used = readFullest(figures);
  return (id) => ({
    cpuRatio: cpu.get(id),
    sqlConnections: connections.get(id),
    queriesPerSecond: queries.get(id),
    storeUsedRatio: used.get(id),
  });
}

/** How much of its fullest store each node has used: space that is not available, whoever took it. */
function readFullest(figures: Figures): ReadonlyMap<string, number> {
  const capacities = figures.by('store_id', 'crdb_store_capacity_bytes');
  const fullest = new Map<string, number>();
  for (const { labels, value } of figures.all('crdb_store_available_bytes')) {
    const { node_id: node = '', store_id: store = '' } = labels;
    const capacity = capacities.get(store) ?? 0;
    if (capacity > 0) fullest.set(node, Math.max(fullest.get(node) ?? 0, 1 - value / capacity));
  }
  return fullest;
}

/** RFC 3339. */
export function toTime(seconds: number | undefined): string | undefined {
  return seconds === undefined ? undefined : new Date(seconds * 1000).toISOString();
}
