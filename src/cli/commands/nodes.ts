import type { Command } from 'commander';
import {
  formatAge,
  formatBytes,
  formatCount,
  formatDuration,
  formatNodes,
  formatPercent,
  largest,
  type LivenessStatus,
  ratio,
  sumOrNone,
  SYSTEM_CLOCK,
  toTime,
} from '#base';
import { diagnose, DOWN, freshnessOf, livenessOf, LocalityReader, RequestError } from '#cockroach';
import {
  copyNode,
  type ListedNode,
  network,
  nodeDetails,
  nodes,
  type NodesResult,
} from '#collectors';
import type { Infer } from '#json';
import {
  compareScan,
  type Connections,
  decideSafeToStop,
  findUnreachable,
  findUnreachableSince,
  leastFavourable,
  youngestRecord,
} from '#status';
import { addClusterAction, type ClusterTarget, collectOnce } from '../cluster-target.ts';
import { addExamples, type CommandContext, EXIT } from '../command.ts';
import { addListingOptions, type ListingOptions, openListing } from '../output/listing.ts';
import { note, withProgress } from '../output/standard-output.ts';
import { type Column, numberColumn } from '../output/table.ts';
import { noteScanCost, scanAllNodes } from '../read-replicas.ts';

const NODES_PER_PAGE = 100;

/** A node writes its record every 10 s. */
const NEXT_RECORDS_MS = 12_000;

/** The node as it is printed: a stale record loses its metrics. */
interface Node extends ReturnType<typeof describeNode> {
  readonly metrics: Readonly<Record<string, number>> | null;
  readonly store_metrics: Readonly<Record<string, Readonly<Record<string, number>>>> | null;
  /** The age by the clock of the server; null for a node that never wrote a record. */
  readonly record_age_seconds: number | null;
  /** 0: no range depends on a node that may stop; only after a scan. */
  readonly dependent_ranges?: 0 | undefined;
}

/** A node of the list, and what is printed beside its metrics. */
interface DescribedNode extends ListedNode {
  readonly described: ReturnType<typeof describeNode>;
}

/** The most important first: a narrow terminal hides the last. */
const COLUMNS: readonly Column<Node>[] = [
  { title: 'ID', value: (node) => node.node_id, format: String },
  {
    title: 'STATUS',
    value: (node) => node.status,
    style: (status) => (status === 'live' ? 'green' : DOWN.has(String(status)) ? 'red' : 'yellow'),
  },
  numberColumn(
    'UPDATED',
    (age) => `${formatAge(age)} ago`,
    (node) => node.record_age_seconds,
  ),
  { title: 'ADDRESS', value: (node) => node.address, shrinks: true },
  { title: 'VERSION', value: (node) => node.build_tag },
  numberColumn('UPTIME', formatAge, uptimeOf),
  numberColumn(
    'CPU',
    formatPercent,
    (node) => node.metrics?.['sys.cpu.combined.percent-normalized'],
  ),
  numberColumn('MEMORY', formatBytes, (node) => node.metrics?.['sys.rss']),
  numberColumn('MAX DISK', formatPercent, fullestOf),
  numberColumn('SQL P99', formatDuration, (node) => secondsOf(node, 'sql.service.latency-p99')),
  numberColumn('HEARTBEAT', formatDuration, (node) =>
    secondsOf(node, 'liveness.heartbeatlatency-p99'),
  ),
  numberColumn('CONNS', formatCount, (node) => node.metrics?.['sql.conns']),
  numberColumn('REPLICAS', formatCount, (node) => sumOf(node, 'replicas')),
  { title: 'LOCALITY', value: (node) => node.locality, shrinks: true },
];

const DEPENDENT = numberColumn<Node>('DEPENDENT', formatCount, (node) => node.dependent_ranges);

/** `nodes`: GET /nodes/, all of it. */
export function define(command: Command, context: CommandContext): void {
  command.option(
    '--safe-to-stop',
    'Only nodes that may stop now, one at a time. Scans all ranges and reads their descriptors.',
  );
  addListingOptions(command, COLUMNS);
  addClusterAction(command, context, nodes, printNodes);
  addExamples(
    command,
    'nodes --config.file=exporter.yml',
    'nodes --sort cpu --config.file=exporter.yml --cluster prod',
    'nodes --safe-to-stop --config.file=exporter.yml',
    'nodes --output ndjson --cluster.url=http://127.0.0.1:8080 | jq .metrics',
  );
}

async function printNodes(
  target: ClusterTarget,
  options: ListingOptions & { readonly safeToStop?: true },
): Promise<number> {
  const listing = openListing<Node>(options, {
    member: 'nodes',
    columns: options.safeToStop ? [...COLUMNS, DEPENDENT] : COLUMNS,
    urgencyOf: ({ status }) => (DOWN.has(status) ? 2 : status === 'live' ? 0 : 1),
  });
  const { list, answeredMs } = await listAllNodes(target);
  if (!options.safeToStop) {
    for (const node of list) listing.add(toItem(node, answeredMs));
    await listing.close();
    return EXIT.ok;
  }
  const safe = await findSafeNodes(target, options.output, list);
  for (const node of list) {
    if (safe.has(node.id)) listing.add({ ...toItem(node, answeredMs), dependent_ranges: 0 });
  }
  // A table without rows says nothing, and an empty JSON list is complete.
  if (safe.size > 0 || options.output !== 'table') await listing.close();
  return safe.size === 0 ? EXIT.failed : EXIT.ok;
}

/** Lists the nodes with all of their metrics. */
async function listAllNodes({ api, stats, wallMs }: ClusterTarget) {
  const localities = new LocalityReader();
  const records: Omit<DescribedNode, 'isFresh'>[] = [];
  const { dateMs } = await api.nodes(stats, {
    limit: NODES_PER_PAGE,
    shape: nodeDetails,
    onNode(node, answeredMs) {
      const described = describeNode(node);
      records.push({ ...copyNode(node, answeredMs, localities), described });
    },
  });
  const isFresh = freshnessOf(records, dateMs);
  const list = records.map((node): DescribedNode => ({ ...node, isFresh: isFresh(node) }));
  return { list, answeredMs: dateMs ?? wallMs() };
}

/**
 * The nodes that may stop now, one at a time. Scans the ranges of all nodes, reads their descriptors and who reaches whom, after
 * printing what that costs, and decides like the status page, except that connections which nobody can check forbid no yes: it
 * says so instead. One of two URLs may repeat old responses: the lists of nodes before and after the scan come from different ones,
 * and who reaches whom is read from both, or where nodes only count their connections, from both lists and from their next records.
 * Prints why the other nodes may not stop.
 */
async function findSafeNodes(
  target: ClusterTarget,
  output: string,
  before: readonly ListedNode[],
): Promise<ReadonlySet<number>> {
  noteScanCost(before, { descriptors: true });
  const { monotonicMs, runningMs } = SYSTEM_CLOCK;
  const [startMs, startedMs] = [monotonicMs(), runningMs()];
  const result = await scanAllNodes(target, output, { descriptors: 'all' });
  const durationSeconds = (runningMs() - startedMs) / 1000;
  const lastUrl = Math.min(1, (target.config.cluster_api?.urls.length ?? 1) - 1);
  const connections = await readConnections(target, 0);
  const others = lastUrl === 0 ? connections : await readConnections(target, lastUrl);
  const after = await collectOnce(nodes, target, { firstUrl: lastUrl });
  const isOnlyCounted = [connections, others].some(isCounted);
  let reachability = leastFavourable(
    [connections, others].flatMap((list) => {
      const lists = isCounted(list) && lastUrl !== 0 ? [before, after.nodes] : [after.nodes];
      return lists.map((listed) => findUnreachable(list, listed));
    }),
  );
  const statuses = [before, after.nodes];
  if (isOnlyCounted && reachability.answer === 'reached' && after.nodes.length > 1) {
    await withProgress('waiting for the next records', output, () => target.sleep(NEXT_RECORDS_MS));
    const next = await collectOnce(nodes, target, { firstUrl: lastUrl });
    reachability = findUnreachableSince(after.nodes, next.nodes);
    statuses.push(next.nodes);
  }
  if (reachability.answer === 'unchecked') note(`connections not checked: ${reachability.remedy}`);
  const compared = compareScan(result, [{ nodes: before }, after]);
  const {
    answer,
    nodes: safe,
    reason,
    decisions,
  } = decideSafeToStop({
    scan: {
      result,
      // A host that was suspended during the scan makes it older.
      ageSeconds: (monotonicMs() - startMs) / 1000 - durationSeconds,
      durationSeconds,
      intervalSeconds: 0,
      disagrees: compared.wrong.length > 0,
    },
    statuses: worseStatuses(...statuses),
    youngestRecordSeconds: youngestByThisHost(target, after),
    reachability: reachability.answer === 'unchecked' ? { answer: 'reached' } : reachability,
  });
  const refused = decisions.filter((decision) => decision.answer === 'no');
  for (const [refusal, same] of Map.groupBy(refused, (decision) => decision.reason)) {
    if (answer !== 'yes' && refusal === reason) continue;
    const any = same.length === 1 ? '' : 'any of ';
    note(`do not stop ${any}${formatNodes(same.map(({ nodeId }) => nodeId))}: ${refusal}`);
  }
  if (answer !== 'yes')
    note(`${answer === 'no' ? 'no node may stop now' : 'not known'}: ${reason}`);
  return new Set(safe);
}

/** The age of the youngest record by the clock of this host: from its time to the Date of the list, and since. */
function youngestByThisHost(
  target: ClusterTarget,
  { nodes: listed, answeredMs }: NodesResult,
): number | undefined {
  const age = youngestRecord(listed);
  if (age === undefined || answeredMs === undefined) return age;
  return age + Math.max(0, target.wallMs() - answeredMs) / 1000;
}

/** Whether the server lists no connections, which nodes may count. */
function isCounted(connections: NonNullable<Connections>): boolean {
  return connections !== 'unread' && connections.checked === undefined;
}

/** A node that is not live in one of the lists is not: one of two URLs may repeat old responses. */
function worseStatuses(
  ...lists: readonly (readonly ListedNode[])[]
): ReadonlyMap<number, LivenessStatus> {
  const statuses = new Map<number, LivenessStatus>();
  for (const node of lists.flat()) {
    const status = livenessOf(node);
    if (status !== 'live' || !statuses.has(node.id)) statuses.set(node.id, status);
  }
  return statuses;
}

/** Reads who reaches whom; one that fails proves nothing. */
async function readConnections(
  target: ClusterTarget,
  firstUrl: number,
): Promise<NonNullable<Connections>> {
  try {
    return await collectOnce(network, target, { firstUrl });
  } catch (error) {
    target.stats.signal.throwIfAborted();
    if (!(error instanceof RequestError)) throw error;
    const { cause, remedy } = diagnose(error, network, target.config, { hasWorked: true });
    note(`connections: ${cause}; ${remedy}`);
    return 'unread';
  }
}

/** A node as JSON: names of the API, times as text, nothing omitted. */
function toItem(node: DescribedNode, answeredMs: number): Node {
  const { described, isFresh, metrics, stores, updatedSeconds } = node;
  const ageSeconds = Math.max(0, answeredMs / 1000 - updatedSeconds);
  const storeMetrics = [...stores].map(([id, store]) => [id, Object.fromEntries(store)] as const);
  return {
    ...described,
    metrics: isFresh ? Object.fromEntries(metrics) : null,
    store_metrics: isFresh ? Object.fromEntries(storeMetrics) : null,
    record_age_seconds: updatedSeconds === 0 ? null : ageSeconds,
  };
}

/** Copies what is printed beside the metrics from the element, which is reused for the next one. */
function describeNode(node: Infer<typeof nodeDetails>) {
  const { major_val, minor_val, patch, internal } = node.ServerVersion;
  return {
    node_id: node.node_id,
    status: livenessOf({ livenessCode: node.liveness_status }),
    address: node.address.address_field,
    sql_address: node.sql_address.address_field,
    build_tag: node.build_tag,
    server_version: { major: major_val, minor: minor_val, patch, internal },
    cluster_name: node.cluster_name,
    locality: node.locality.tiers.map(({ key = '', value = '' }) => `${key}=${value}`).join(','),
    attrs: node.attrs.attrs,
    started_at: toTimeOfNanos(node.started_at),
    updated_at: toTimeOfNanos(node.updated_at),
    num_cpus: node.num_cpus,
    num_vcpus: node.num_vcpus,
    total_system_memory: node.total_system_memory,
  };
}

/** A double loses the last digits of nanoseconds since 1970: rounding restores the millisecond. */
function toTimeOfNanos(nanoseconds = 0): string | null {
  return toTime(Math.round(nanoseconds / 1e6)) ?? null;
}

/** How long the process had run when it last wrote its record. */
function uptimeOf({ started_at: started, updated_at: updated, metrics }: Node): number | undefined {
  if (started === null || updated === null || metrics === null) return undefined;
  return (Date.parse(updated) - Date.parse(started)) / 1000;
}

/** The used share of the fullest store, whoever fills its disk. */
function fullestOf({ store_metrics: stores }: Pick<Node, 'store_metrics'>): number | undefined {
  const used = Object.values(stores ?? {}).flatMap((metrics) => {
    const free = ratio(metrics['capacity.available'], metrics['capacity']);
    return free === undefined ? [] : [1 - free];
  });
  return largest(used);
}

function secondsOf({ metrics }: Pick<Node, 'metrics'>, key: string): number | undefined {
  const nanos = metrics?.[key];
  return nanos === undefined ? undefined : nanos / 1e9;
}

function sumOf({ store_metrics: stores }: Pick<Node, 'store_metrics'>, key: string) {
  const values = Object.values(stores ?? {}).flatMap((metrics) => metrics[key] ?? []);
  return sumOrNone(values);
}
