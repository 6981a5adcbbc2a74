import type { Command } from 'commander';
import { freshnessOf, livenessOf, REACHABLE, type RecordAge } from '../../cockroach/node.ts';
import { nodes } from '../../collectors/nodes/collector.ts';
import { nodeDetails } from '../../collectors/nodes/record.ts';
import { ranges, type RangesResult } from '../../collectors/ranges/collector.ts';
import { collectorOptions } from '../../config/schema.ts';
import { decideSafeToStop } from '../../findings/safe-to-stop.ts';
import { formatAge, formatBytes, formatCount, toTimestamp } from '../../format.ts';
import type { Infer } from '../../json/shape.ts';
import { LIVENESS_BY_CODE, type LivenessStatus } from '../../vocabulary.ts';
import { addClusterAction, type ClusterTarget, collectOnce } from '../cluster-target.ts';
import { addExamples, type CommandContext, EXIT } from '../command.ts';
import {
  addListingOptions,
  type Column,
  type ListingOptions,
  numberColumn,
  openListing,
} from '../output/listing.ts';
import { note, withProgress } from '../output/standard-output.ts';
import { noteScanCost, routeOf } from '../replicas.ts';

const NODES_PER_PAGE = 100;

type CurrentNode = ReturnType<typeof toItem>;

/** The node as it is printed: a stale record loses its metrics. */
type Node = Omit<CurrentNode, 'metrics' | 'store_metrics'> & {
  /** By the clock of the server; null for a node that never wrote a record. */
  readonly record_age_seconds: number | null;
  readonly metrics: CurrentNode['metrics'] | null;
  readonly store_metrics: CurrentNode['store_metrics'] | null;
  /** 0: no range depends on a node that may stop; only after a scan. */
  readonly dependent_ranges?: 0 | undefined;
};

/** A listed node with the status `decommissioned` died while it was being decommissioned. */
const DOWN: ReadonlySet<string> = new Set(['dead', 'unavailable', 'decommissioned']);

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
  numberColumn('DISK', formatPercent, (node) => {
    const capacity = sumOf(node, 'capacity');
    const used = sumOf(node, 'capacity.used');
    return capacity && used !== undefined ? used / capacity : undefined;
  }),
  numberColumn('CONNS', formatCount, (node) => node.metrics?.['sql.conns']),
  numberColumn('REPLICAS', formatCount, (node) => sumOf(node, 'replicas')),
  { title: 'LOCALITY', value: (node) => node.locality, shrinks: true },
];

const DEPENDENT = numberColumn<Node>('DEPENDENT', formatCount, (node) => node.dependent_ranges);

/** `nodes`: GET /nodes/, all of it. */
export function define(command: Command, context: CommandContext): void {
  command.option(
    '--safe-to-stop',
    'Only nodes that may stop now, one at a time. Scans all ranges.',
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
  const columns = options.safeToStop ? [...COLUMNS, DEPENDENT] : COLUMNS;
  const listing = openListing<Node>(options, 'nodes', columns, {
    urgencyOf: ({ status }) => (DOWN.has(status) ? 2 : status === 'live' ? 0 : 1),
  });
  const records: { node: CurrentNode; age: RecordAge }[] = [];
  const { dateMs } = await target.api.nodes(target.stats, {
    limit: NODES_PER_PAGE,
    shape: nodeDetails,
    onNode(node) {
      const updatedSeconds = (node.updated_at ?? 0) / 1e9;
      const age = { livenessCode: node.liveness_status, updatedSeconds };
      records.push({ node: toItem(node), age });
    },
  });
  // The newest record of all decides which are stale.
  const ages = records.map(({ age }) => age);
  const isFresh = freshnessOf(ages, dateMs);
  const safe = options.safeToStop
    ? await findSafeNodes(target, options.output, records)
    : undefined;
  for (const { node: current, age } of records) {
    const { updatedSeconds } = age;
    const ageSeconds = Math.max(0, (dateMs ?? Date.now()) / 1000 - updatedSeconds);
    const node = { ...current, record_age_seconds: updatedSeconds === 0 ? null : ageSeconds };
    const item = isFresh(age) ? node : { ...node, metrics: null, store_metrics: null };
    if (safe === undefined) listing.add(item);
    else if (safe.has(node.node_id ?? 0)) listing.add({ ...item, dependent_ranges: 0 });
  }
  // A table without rows says nothing, and an empty JSON list is complete.
  if (safe?.size !== 0 || options.output !== 'table') await listing.close();
  return safe?.size === 0 ? EXIT.failed : EXIT.ok;
}

/** A command has no memory of earlier scans: it cannot know what only the nodes that are down hold. */
const LOST_UNKNOWN =
  "not known: ranges may be lost that no node reports; see the exporter's status page";

/**
 * The nodes of which one may stop now. Scans the ranges of all nodes, after printing what that costs by what they last
 * reported, unless the result could prove nothing. Prints why the other nodes may not stop.
 */
async function findSafeNodes(
  target: ClusterTarget,
  output: string,
  records: readonly { readonly node: CurrentNode; readonly age: RecordAge }[],
): Promise<ReadonlySet<number>> {
  const listed = new Map(records.map(({ node, age }) => [node.node_id ?? 0, livenessOf(age)]));
  if (!areAllLive(listed)) {
    note(LOST_UNKNOWN);
    return new Set();
  }
  const replicas = records.reduce((sum, { node }) => sum + (sumOf(node, 'replicas') ?? 0), 0);
  noteScanCost(records.length, replicas);
  const result = await scan(target, output);
  const after = await collectOnce(nodes, target);
  const statuses = new Map(after.nodes.map((node) => [node.id, livenessOf(node)]));
  // A node may have gone down while the others were read.
  if (!areAllLive(statuses)) {
    note(LOST_UNKNOWN);
    return new Set();
  }
  const current = { result, ageSeconds: 0, durationSeconds: 0, intervalSeconds: 0 };
  const { answer, nodes: safe, reason, decisions } = decideSafeToStop({ scan: current, statuses });
  for (const [nodeId, decision] of decisions) {
    if (decision.answer === 'no') note(`do not stop node ${nodeId}: ${decision.reason}`);
  }
  if (answer === 'no') note(`no node may stop now: ${reason}`);
  if (answer === 'unknown') note(`not known: ${reason}`);
  return new Set(safe);
}

/** Whether every listed node is live, draining or decommissioning. */
function areAllLive(statuses: ReadonlyMap<number, LivenessStatus>): boolean {
  return [...statuses.values()].every((status) => REACHABLE.has(status));
}

/** One scan by the collector. It reads every node, whatever the route or the shards of the exporter. */
function scan(target: ClusterTarget, output: string): Promise<RangesResult> {
  const route = routeOf(target);
  const options = {
    ...collectorOptions(target.config, ranges),
    page_limit: 0,
    route: route === 'local' ? 'auto' : route,
  };
  return withProgress('nodes', output, (_advance, scanProgress) =>
    collectOnce(ranges, target, { options, warn: note, scanProgress }),
  );
}

/** A node as JSON: names of the API, times as text, nothing omitted. */
function toItem(node: Infer<typeof nodeDetails>) {
  const { major_val, minor_val, patch, internal } = node.ServerVersion;
  return {
    node_id: node.node_id,
    status: LIVENESS_BY_CODE[node.liveness_status ?? -1] ?? `unknown(${node.liveness_status})`,
    address: node.address.address_field,
    sql_address: node.sql_address.address_field,
    build_tag: node.build_tag,
    server_version: { major: major_val, minor: minor_val, patch, internal },
    cluster_name: node.cluster_name,
    locality: node.locality.tiers.map(({ key = '', value = '' }) => `${key}=${value}`).join(','),
    attrs: node.attrs.attrs,
    started_at: toTime(node.started_at),
    updated_at: toTime(node.updated_at),
    num_cpus: node.num_cpus,
    num_vcpus: node.num_vcpus,
    total_system_memory: node.total_system_memory,
    metrics: Object.fromEntries(node.metrics),
    store_metrics: Object.fromEntries(
      [...node.store_metrics].map(([id, metrics]) => [id, Object.fromEntries(metrics)]),
    ),
  };
}

function toTime(nanoseconds = 0): string | null {
  // A double loses the last digits of nanoseconds since 1970: rounding restores the millisecond.
  return nanoseconds === 0 ? null : (toTimestamp(Math.round(nanoseconds / 1e6)) ?? null);
}

/** How long the process had run when it last wrote its record. */
function uptimeOf({ started_at: started, updated_at: updated, metrics }: Node): number | undefined {
  if (started === null || updated === null || metrics === null) return undefined;
  return (Date.parse(updated) - Date.parse(started)) / 1000;
}

function sumOf(node: Pick<Node, 'store_metrics'> | undefined, key: string): number | undefined {
  const values = Object.values(node?.store_metrics ?? {}).flatMap((metrics) => metrics[key] ?? []);
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

function formatPercent(ratio: number): string {
  return `${(ratio * 100).toFixed(1)}%`;
}
