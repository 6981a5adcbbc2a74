import { formatBytes, formatCounted, formatNodes, sum } from '#base';
import {
  diagnose,
  listNodes,
  livenessOf,
  REACHABLE,
  type RequestDiagnosis,
  RequestError,
} from '#cockroach';
import {
  collectorPoll,
  discoverTables,
  type FailedNode,
  formatTableName,
  type HeldRange,
  type KnownTable,
  type ListedNode,
  type NodeReplicas,
  nodes,
  ranges,
  RangeScan,
  readNodeRanges,
  scanNodes,
  type ReplicaDetails,
  replicaDetails,
} from '#collectors';
import { type ClusterConfig, collectorOptions } from '#config';
import { describeWithoutProblems, keySpaceOf, sumOfStores } from '#status';
import { type ClusterTarget, collectOnce, explainFailure } from './cluster-target.ts';
import { CommandError } from './command.ts';
import { note, withProgress } from './output/standard-output.ts';
import { type PrintedReplica, toReplica } from './printed-replica.ts';

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
  /** Replicas whose problems could not be read. */
  readonly withoutProblems: number;
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
  const read = await withProgress('replicas', output, async (advance, scanProgress) => {
    const context = collectorPoll(stats, {
      options,
      state: ranges.createState(),
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
        // A server that ignores the parameter lists all ranges.
        if (rangeIds?.includes(element.desc.range_id ?? 0) === false) return;
        node.addReplica(scannedOf(element));
        onReplica(toReplica(element, names));
      },
    };
    const reading = await scanNodes(context, toScan, async (nodeId, firstUrl) => {
      const node = await readNodeRanges({ api, context, nodeId, firstUrl, isAssigned }, reader);
      if (scan !== undefined) return scan.commit(node);
      node.replicas.free();
      return node.totals;
    });
    const summary = await scan?.end(api, reading.nodes, reading.failed);
    return { ...reading, keys: summary?.cluster?.keySpace };
  });
  stats.signal.throwIfAborted();
  const { failed, keys } = read;
  if (failed.length > 0 && failed.length === toScan.length) throw failed[0]?.failure;
  const keySpace = keys === undefined ? 'unknown' : keySpaceOf(keys);
  return {
    live: new Set(toScan),
    skipped,
    failed: explainFailures(failed, config),
    keySpace,
    overlapping: keys?.overlapping ?? [],
    withoutProblems: sum(read.nodes.map((node) => node.withoutProblems)),
  };
}

/** The replica without the sums of a scan, which are not shown; what could not be read is counted. */
function scannedOf(element: ReplicaDetails) {
  const problems = element.problems === undefined ? undefined : 0;
  return { ...element, problems, lease_history: element.lease_history.at(-1) };
}

/** Why nodes could not be read. Commands that read ranges have listed nodes or tables before. */
function explainFailures(
  failed: readonly FailedNode[],
  config: ClusterConfig,
): ReadonlyMap<number, RequestDiagnosis> {
  return new Map(
    failed.map(({ nodeId, failure }) => [
      nodeId,
      diagnose(failure, ranges, config, { hasWorked: true }),
    ]),
  );
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
  if (nodeId === undefined) {
    if (list.toScan.length > 0) return list;
    throw new CommandError(
      'no node is live, draining or decommissioning, so no ranges can be read; see `nodes`',
    );
  }
  if (list.toScan.includes(nodeId)) return { ...list, toScan: [nodeId], toSkip: [] };
  if (list.toSkip.includes(nodeId)) {
    throw new CommandError(
      `node ${nodeId} is not live, so its ranges cannot be read; see \`nodes\``,
    );
  }
  const known = [...list.toScan, ...list.toSkip].toSorted((a, b) => a - b);
  throw new CommandError(`there is no node ${nodeId}: the cluster has ${known.join(', ')}`);
}

/** What is missing, as members of a JSON document. */
export function listFailures({ skipped, failed, withoutProblems }: MissingNodes) {
  return {
    skipped_nodes: skipped,
    failed_nodes: listFailed(failed),
    replicas_without_problems: withoutProblems,
  };
}

function listFailed(failed: ReadonlyMap<number, RequestDiagnosis>) {
  return Array.from(failed, ([node_id, { reason, cause: message }]) => {
    return { node_id, reason, message };
  });
}

/** Prints whose ranges or problems are not in the output. */
export function noteMissing({ skipped, failed, withoutProblems }: MissingNodes): void {
  if (skipped.length > 0) {
    note(`skipped, because not live: ${formatNodes(skipped)}`);
  }
  for (const [nodeId, { cause, remedy }] of failed) {
    note(`the ranges of node ${nodeId} are missing or incomplete: ${cause}; ${remedy}`);
  }
  if (withoutProblems > 0) note(describeWithoutProblems(withoutProblems));
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
      : `: about ${formatCounted(replicas, 'replica')}, ${formatBytes(replicas * TYPICAL_REPLICA_BYTES)}`;
  const more =
    leases === 0 || !isDescribed
      ? ''
      : `, and ${formatCounted(leases, 'descriptor')}, ${formatBytes(leases * TYPICAL_DESCRIPTOR_BYTES)}`;
  const tables =
    zones === 0 ? '' : `, and the zones of up to ${formatCounted(zones, 'table')} one by one`;
  note(
    `reads all ranges of ${formatCounted(read.length, 'node')}${size}${more}${tables}; Ctrl-C cancels`,
  );
}

/** Lists the nodes, and prints what a scan of them costs. */
export async function announceScan(
  target: ClusterTarget,
  options?: Parameters<typeof noteScanCost>[1],
): Promise<void> {
  const listed = await collectOnce(nodes, target).catch((error: unknown) => {
    throw explainFailure(error, nodes, target.config, { hasWorked: true });
  });
  noteScanCost(listed.nodes, options);
}

/**
 * One scan of all nodes by the collector, whatever the route and the shards of the exporter; `descriptors: 'all'` also reads
 * the descriptor of each range, from its leaseholder. Prints which nodes it could not read, and the remedy; `failedNodes` are
 * these as members of a JSON document.
 */
export async function scanAllNodes(
  target: ClusterTarget,
  output: string,
  {
    top_tables = 0,
    descriptors = 'none',
  }: { readonly top_tables?: number; readonly descriptors?: 'none' | 'all' },
) {
  const options = { ...wholeLists(target.config), top_tables };
  const result = await withProgress('scan', output, (_advance, scanProgress) =>
    collectOnce(ranges, target, { options, scanProgress, descriptors }),
  ).catch((error: unknown) => {
    throw explainFailure(error, ranges, target.config, { hasWorked: true });
  });
  // Failures of nodes are told one by one.
  if (result.failure !== undefined && result.failed.length === 0) {
    throw explainFailure(result.failure, ranges, target.config, { hasWorked: true });
  }
  const failed = explainFailures(result.failed, target.config);
  for (const [remedy, some] of Map.groupBy(failed, ([, diagnosis]) => diagnosis.remedy)) {
    note(`the ranges of ${formatNodes(some.map(([nodeId]) => nodeId))} are missing: ${remedy}`);
  }
  return { ...result, failedNodes: listFailed(failed) };
}
