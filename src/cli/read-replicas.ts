import { formatBytes, formatCount, formatNodes, formatNumber, sum } from '#base';
import {
  diagnose,
  listNodes,
  livenessOf,
  REACHABLE,
  type RequestDiagnosis,
  RequestError,
  warningText,
} from '#cockroach';
import {
  collectorPoll,
  discoverTables,
  type FailedNode,
  formatTableName,
  type HeldRange,
  type KnownTable,
  lastTableIdOf,
  lastTableLabel,
  LEASE_KINDS,
  leaseKindOf,
  type ListedNode,
  LOADS,
  type NodeReplicas,
  nodes,
  ranges,
  RangeScan,
  type RangesResult,
  readNode,
  readNodes,
  recordOf,
  type ReplicaDetails,
  replicaDetails,
  tableLabels,
  tablesOf,
} from '#collectors';
import { type ClusterConfig, collectorOptions } from '#config';
import { findLastTable, keySpaceOf, sumOfStores, systemRangeName } from '#status';
import { type ClusterTarget, collectOnce, explainFailure } from './cluster-target.ts';
import { CommandError } from './command.ts';
import { note, withProgress } from './output/standard-output.ts';
import { type Column, numberColumn } from './output/table.ts';

/** A replica as JSON, with the names of the API, and without its keys, which may hold user data. */
export interface PrintedReplica extends Pick<
  ReplicaDetails,
  'quiescent' | 'ticking' | 'lease_history'
> {
  readonly range_id: number | undefined;
  readonly node_id: number | undefined;
  readonly store_id: number | undefined;
  /** A number; of a table in virtual cluster 3 the text `3/104`; null outside of tables. */
  readonly table_id: number | string | null;
  /** `movr.public.rides`, where the server lists the table. */
  readonly table: string | null;
  readonly index_id: number | null;
  /** The last table of a range that small tables share, as `table_id`; null where it is the first one. */
  readonly last_table_id: number | string | null;
  readonly last_table: string | null;
  readonly problems: readonly string[];
  readonly is_leaseholder: boolean;
  readonly lease_kind: string | null;
  readonly stats: Readonly<Partial<Record<(typeof LOADS)[number], number>>>;
}

/** Copies a replica from the element, which is reused for the next one; `names` has the tables by their id. */
function toReplica(element: ReplicaDetails, names: ReadonlyMap<string, string>): PrintedReplica {
  const { desc, span, stats, lease_history: leases } = element;
  const lease = leases.at(-1);
  const { start_key: first = 0, end_key: end = 0 } = span;
  const { table_id, index_id } = tableLabels(first);
  const lastLabel = lastTableLabel(first, lastTableIdOf(first, end));
  const last = findLastTable(table_id, lastLabel, names) ?? '';
  return {
    range_id: desc.range_id,
    node_id: element.source_node_id,
    store_id: element.source_store_id,
    table_id: toTableId(table_id),
    table: names.get(table_id) ?? null,
    index_id: index_id === '' ? null : Number(index_id),
    last_table_id: toTableId(last),
    last_table: names.get(last) ?? null,
    problems: [...element.problems].flatMap(([name, isSet]) => (isSet ? [name] : [])),
    is_leaseholder: lease !== undefined && lease.replica.store_id === element.source_store_id,
    lease_kind:
      lease === undefined
        ? null
        : (LEASE_KINDS[leaseKindOf(lease.term ?? 0, lease.epoch ?? 0)] ?? null),
    quiescent: element.quiescent,
    ticking: element.ticking,
    stats: toStats(stats),
    lease_history: leases,
  };
}

/** What the server sends of the load; queries and writes are 0 where it sends none. */
function toStats(loads: Float64Array): PrintedReplica['stats'] {
  const sent = LOADS.map((name, index) => [name, loads[index] ?? NaN] as const);
  const known = sent.filter(([, load]) => !Number.isNaN(load));
  return { queries_per_second: 0, writes_per_second: 0, ...Object.fromEntries(known) };
}

/** `movr.public.rides` by table id; empty where the server lists no tables, or not for this user. */
export async function readTableNames(target: ClusterTarget): Promise<ReadonlyMap<string, string>> {
  return nameTables(await readTables(target));
}

export function nameTables(tables: ReadonlyMap<string, KnownTable>): ReadonlyMap<string, string> {
  return new Map(Array.from(tables, ([id, table]) => [id, formatTableName(table)]));
}

/** All tables by their id; empty where the server lists none, or not for this user. */
export async function readTables(target: ClusterTarget): Promise<ReadonlyMap<string, KnownTable>> {
  try {
    const tables = await discoverTables(target.api, target.stats);
    return new Map(tables.map((table) => [table.tableId, table]));
  } catch (error) {
    // Ranges are listed without names; where no request arrives, the first failure says why.
    const isOfTables = error instanceof RequestError && error.endpoint === 'table_metadata';
    if (!isOfTables || error.reason === 'network' || error.reason === 'tls') throw error;
    return new Map();
  }
}

/** The replicas that a command reads. */
interface ReplicasRequest {
  /** The only node to read; default: all. */
  readonly nodeId?: number | undefined;
  /** The only ranges to read; default: all. */
  readonly rangeIds?: readonly number[];
  /** The names of tables by their id. */
  readonly names: ReadonlyMap<string, string>;
  readonly onReplica: (replica: PrintedReplica) => void;
  readonly onPageEnd?: () => Promise<void>;
  /** Whether to find out if ranges are missing that no node reports; costs memory for all ranges. */
  readonly checksKeys?: boolean | undefined;
}

/** The nodes whose replicas are not in the output. */
export interface MissingNodes {
  /** The nodes that were queried. */
  readonly live: ReadonlySet<number>;
  /** The nodes that were not queried, because they are not live. */
  readonly skipped: readonly number[];
  /** The failures of the others, whose replicas are missing or incomplete, by node. */
  readonly failed: ReadonlyMap<number, RequestDiagnosis>;
  /**
   * Whether the ranges join from the first key to the last; overlap: without those of `overlapping`; unknown unless that was checked
   * and all nodes were read.
   */
  readonly keySpace: ReturnType<typeof keySpaceOf> | 'unknown';
  /** Ranges without which the others join. */
  readonly overlapping: readonly HeldRange[];
}

/**
 * Reads the ranges of all nodes, or of one, as a scan does: whole lists one after the other, so that no server prepares two
 * at a time; a few ranges of as many nodes at a time as `max_concurrent_requests` allows. Rejects when no node could be read.
 */
export async function readRanges(
  target: ClusterTarget,
  output: string,
  { nodeId: onlyNode, rangeIds, names, onReplica, onPageEnd, checksKeys = false }: ReplicasRequest,
): Promise<MissingNodes> {
  const { api, config, stats } = target;
  const list = await chooseNodes(target, onlyNode);
  const { toScan, toSkip: skipped } = list;
  const { urls = [], max_concurrent_requests: most = 1 } = config.cluster_api ?? {};
  const options = {
    ...wholeLists(config),
    ...NO_LISTS,
    concurrency: rangeIds === undefined ? 1 : most,
  };
  const isWanted = (rangeId = 0): boolean => rangeIds?.includes(rangeId) ?? true;
  const read = await withProgress('replicas', output, async (advance, scanProgress) => {
    const state = ranges.createState();
    const context = collectorPoll(stats, {
      options,
      state,
      urls: urls.length,
      scanProgress,
      descriptors: 'none',
    });
    const isWholeCluster = onlyNode === undefined;
    const scan = checksKeys
      ? new RangeScan(context, { ...list, isWholeCluster, isAssigned, failure: undefined })
      : undefined;
    const reader = {
      shape: replicaDetails,
      rangeIds,
      onPageEnd,
      add(node: NodeReplicas, element: ReplicaDetails): void {
        advance();
        // What a scan sums up is not shown.
        const replica = { ...element, problems: 0, lease_history: element.lease_history.at(-1) };
        node.add(recordOf(replica), 0, tablesOf(replica));
        // A server that ignores the parameter lists all ranges.
        if (isWanted(element.desc.range_id)) onReplica(toReplica(element, names));
      },
    };
    const reading = await readNodes(context, toScan, async (nodeId, firstUrl) => {
      const node = await readNode({ api, context, nodeId, firstUrl, isAssigned }, reader);
      if (scan !== undefined) return scan.commit(node);
      node.replicas.free();
      return node.totals;
    });
    const summary = await scan?.end(api, reading.nodes, reading.failed);
    return { ...reading, keys: summary?.cluster?.keySpace };
  });
  stats.signal.throwIfAborted();
  const { failed, keys } = read;
  const failures = failed.map(({ nodeId, failure }) => {
    const diagnosis = diagnose(failure, ranges, config, { hasWorked: true });
    if (diagnosis === undefined || failed.length === toScan.length) throw failure;
    return [nodeId, diagnosis] as const;
  });
  const { overlapping = [] } = keys ?? {};
  const keySpace = keys === undefined ? 'unknown' : keySpaceOf(keys);
  return { live: new Set(toScan), skipped, failed: new Map(failures), keySpace, overlapping };
}

/** A command reads all nodes by itself. */
const isAssigned = (): boolean => true;

/** A command does not show the lists that a scan ranks. */
const NO_LISTS = { hot_ranges: 0, problem_ranges: 0, top_tables: 0 } as const;

/** The options of a scan by a command: each list in one response, whatever the route of the exporter. */
function wholeLists(config: ClusterConfig) {
  const options = collectorOptions(config, ranges);
  const route = options.route === 'local' ? 'auto' : options.route;
  return { ...options, page_limit: 0, route } as const;
}

/**
 * The nodes to read: all, or the one with the id. Nodes that are not live are skipped: the call would fail after
 * seconds, or never end.
 */
async function chooseNodes({ api, stats }: ClusterTarget, nodeId: number | undefined) {
  const list = await listNodes(api, stats);
  if (nodeId === undefined) return list;
  if (list.toScan.includes(nodeId)) return { ...list, toScan: [nodeId], toSkip: [] };
  if (list.toSkip.includes(nodeId)) {
    throw new CommandError(
      `node ${nodeId} is not live, so its ranges cannot be read; see \`nodes\``,
    );
  }
  const known = [...list.toScan, ...list.toSkip].toSorted((a, b) => a - b);
  throw new CommandError(`there is no node ${nodeId}: the cluster has ${known.join(', ')}`);
}

/** The same nodes as members of a JSON document. */
export function listFailures({ skipped, failed }: MissingNodes) {
  return {
    skipped_nodes: skipped,
    failed_nodes: Array.from(failed, ([node_id, { reason, cause: message }]) => {
      return { node_id, reason, message };
    }),
  };
}

/** Prints whose ranges are not in the output. */
export function noteMissingNodes({ skipped, failed }: MissingNodes): void {
  if (skipped.length > 0) {
    note(`skipped, because not live: ${formatNodes(skipped)}`);
  }
  for (const [nodeId, { cause, remedy }] of failed) {
    note(`the ranges of node ${nodeId} are missing or incomplete: ${cause}; ${remedy}`);
  }
}

/** The size of a replica in a listing; most of it is the history of leases. */
const TYPICAL_REPLICA_BYTES = 1_500;

/** The size of a descriptor with what the server sends beside it. */
const TYPICAL_DESCRIPTOR_BYTES = 4_000;

/**
 * Prints what a scan of all nodes costs, by the replicas and the leases that they last reported; `zones` is the number of
 * tables whose zones are read, too.
 */
export function noteScanCost(
  list: readonly ListedNode[],
  { descriptors: isDescribed = false, zones = 0 } = {},
): void {
  const read = list.filter((node) => REACHABLE.has(livenessOf(node)));
  const count = (key: string) => sum(read.map((node) => sumOfStores(node, key) ?? 0));
  const [replicas, leases] = [count('replicas'), count('replicas.leaseholders')];
  const size =
    replicas === 0
      ? ''
      : `: about ${formatCount(replicas)} replicas, ${formatBytes(replicas * TYPICAL_REPLICA_BYTES)}`;
  const more =
    leases === 0 || !isDescribed
      ? ''
      : `, and ${formatCount(leases)} descriptors, ${formatBytes(leases * TYPICAL_DESCRIPTOR_BYTES)}`;
  const tables =
    zones === 0 ? '' : `, and the zones of up to ${formatCount(zones)} tables one by one`;
  note(`reads all ranges of ${read.length} nodes${size}${more}${tables}; Ctrl-C cancels`);
}

/** Lists the nodes, and prints what a scan of them costs. */
export async function announceScan(
  target: ClusterTarget,
  options: Parameters<typeof noteScanCost>[1],
): Promise<void> {
  const listed = await collectOnce(nodes, target).catch((error: unknown) => {
    throw explainFailure(error, nodes, target.config, { hasWorked: true });
  });
  noteScanCost(listed.nodes, options);
}

/**
 * One scan of all nodes by the collector, whatever the route and the shards of the exporter; `descriptors: 'all'` also reads
 * the descriptor of each range, from its leaseholder. Prints which nodes it could not read, and the remedy.
 */
export async function scanAllNodes(
  target: ClusterTarget,
  output: string,
  {
    top_tables = 0,
    descriptors = 'none',
  }: { readonly top_tables?: number; readonly descriptors?: 'none' | 'all' } = {},
): Promise<RangesResult> {
  const options = { ...wholeLists(target.config), top_tables };
  // The commands that scan have listed nodes or tables before.
  const before = { hasWorked: true };
  const result = await withProgress('scan', output, (_advance, scanProgress) =>
    collectOnce(ranges, target, { options, scanProgress, descriptors }),
  ).catch((error: unknown) => {
    throw explainFailure(error, ranges, target.config, before);
  });
  for (const warning of target.stats.warnings.values()) note(warningText(warning));
  const remedyOf = ({ failure }: FailedNode) =>
    diagnose(failure, ranges, target.config, before)?.remedy ?? 'see `diagnose`';
  for (const [remedy, failed] of Map.groupBy(result.failed, remedyOf)) {
    const ids = failed.map(({ nodeId }) => nodeId);
    note(`the ranges of ${formatNodes(ids)} are missing: ${remedy}`);
  }
  return result;
}

/** The columns of a list of replicas, the most important first: a narrow terminal hides the last. */
export const REPLICA_COLUMNS: readonly Column<PrintedReplica>[] = [
  { title: 'RANGE', value: (replica) => replica.range_id, format: String },
  { title: 'NODE', value: (replica) => replica.node_id, format: String },
  { title: 'STORE', value: (replica) => replica.store_id, format: String },
  {
    title: 'TABLE',
    value: tableOf,
  },
  { title: 'LEASE', value: (replica) => (replica.is_leaseholder ? replica.lease_kind : null) },
  numberColumn('QPS', formatNumber, ({ stats }) => stats.queries_per_second),
  numberColumn('WRITES/S', formatNumber, ({ stats }) => stats.writes_per_second),
  numberColumn('READ/S', formatBytes, ({ stats }) => stats.read_bytes_per_second),
  numberColumn('WRITTEN/S', formatBytes, ({ stats }) => stats.write_bytes_per_second),
  // Nanoseconds per second, as a share of one CPU.
  numberColumn(
    'CPU',
    (nanoseconds) => `${formatNumber(nanoseconds / 1e7)} %`,
    ({ stats }) => stats.cpu_time_per_second,
  ),
  {
    title: 'PROBLEMS',
    value: (replica) => replica.problems.join(','),
    style: (problems) => (problems === '' ? undefined : 'red'),
  },
];

/** A number; the text of a table in a virtual cluster; null for the empty text. */
function toTableId(label: string): number | string | null {
  return label === '' || label.includes('/') ? label || null : Number(label);
}

/** The tables, by their names if they are known; of a range outside of tables what the system keeps there. */
function tableOf(replica: PrintedReplica): string | null {
  const { range_id: rangeId = 0, table_id: id, last_table_id: lastId } = replica;
  if (id === null) return systemRangeName({ rangeId, table: '' }) ?? null;
  const first = replica.table ?? String(id);
  return lastId === null ? first : `${first} to ${replica.last_table ?? lastId}`;
}
