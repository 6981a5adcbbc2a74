import type { Command } from 'commander';
import { divideNodes, freshnessOf, livenessOf, type RecordAge } from '../../cockroach/node.ts';
import { nodes } from '../../collectors/nodes.ts';
import { ranges } from '../../collectors/ranges.ts';
import { formatAge, formatBytes, formatCount, toTimestamp } from '../../format.ts';
import { array, type Infer, integer, number, object, record, string } from '../../json/shape.ts';
import { LIVENESS_BY_CODE } from '../../vocabulary.ts';
import { addClusterAction, type ClusterTarget, collectOnce } from '../cluster-target.ts';
import { addExamples, type CommandContext, CommandError, EXIT } from '../command.ts';
import {
  addListingOptions,
  type Column,
  type ListingOptions,
  numberColumn,
  openListing,
} from '../output/listing.ts';
import { withProgress } from '../output/progress.ts';
import { note } from '../output/standard-output.ts';
import { noteSkippedNodes, routeOf } from './ranges/replica.ts';

const NODES_PER_PAGE = 100;
/** Of a replica in a listing, most of it the history of leases. */
const TYPICAL_REPLICA_BYTES = 1_500;

const address = object({ network_field: string(), address_field: string() });

export const shape = object({
  node_id: integer(),
  liveness_status: integer(),
  address,
  sql_address: address,
  build_tag: string(),
  cluster_name: string(),
  ServerVersion: object({
    major_val: integer(),
    minor_val: integer(),
    patch: integer(),
    internal: integer(),
  }),
  locality: object({ tiers: array(object({ key: string(), value: string() })) }),
  attrs: object({ attrs: array(string()) }),
  started_at: integer(),
  updated_at: integer(),
  num_cpus: integer(),
  num_vcpus: number(),
  total_system_memory: integer(),
  metrics: record(number()),
  store_metrics: record(record(number())),
});

type CurrentNode = ReturnType<typeof toItem>;

/** Without the metrics of a stale record. */
type Node = Omit<CurrentNode, 'metrics' | 'store_metrics'> & {
  /** By the clock of the server; null for a node that never wrote a record. */
  readonly record_age_seconds: number | null;
  readonly metrics: CurrentNode['metrics'] | null;
  readonly store_metrics: CurrentNode['store_metrics'] | null;
  /** Ranges that would lose their quorum without the node; only after a scan. */
  readonly dependent_ranges?: number | undefined;
};

/** The most important first: a narrow terminal hides the last. */
const COLUMNS: readonly Column<Node>[] = [
  { title: 'ID', value: (node) => node.node_id, format: String },
  {
    title: 'STATUS',
    value: (node) => node.status,
    style: (status) =>
      status === 'live'
        ? 'green'
        : status === 'dead' || status === 'unavailable' || status === 'decommissioned'
          ? 'red'
          : 'yellow',
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
    'Only nodes that can stop without a range losing its quorum. Scans all ranges.',
  );
  addListingOptions(command, COLUMNS);
  addClusterAction(command, context, nodes, list);
  addExamples(
    command,
    'nodes --config.file=exporter.yml',
    'nodes --sort cpu --config.file=exporter.yml --cluster prod',
    'nodes --safe-to-stop --config.file=exporter.yml',
    'nodes --output ndjson --cluster.url=http://127.0.0.1:8080 | jq .metrics',
  );
}

async function list(
  target: ClusterTarget,
  options: ListingOptions & { readonly safeToStop?: true },
): Promise<number> {
  const columns = options.safeToStop ? [...COLUMNS, DEPENDENT] : COLUMNS;
  const listing = openListing<Node>(options, 'nodes', columns);
  const records: { node: CurrentNode; age: RecordAge }[] = [];
  const { dateMs } = await target.api.nodes(target.stats, {
    limit: NODES_PER_PAGE,
    shape,
    onNode(node) {
      const updatedSeconds = (node.updated_at ?? 0) / 1e9;
      const age = { livenessCode: node.liveness_status, updatedSeconds };
      records.push({ node: toItem(node), age });
    },
  });
  // The newest record of all decides which are stale.
  const ages = records.map(({ age }) => age);
  const isFresh = freshnessOf(ages, dateMs);
  const dependent = options.safeToStop
    ? await countDependentRanges(target, options.output, records)
    : undefined;
  for (const { node: current, age } of records) {
    const { updatedSeconds } = age;
    const ageSeconds = Math.max(0, (dateMs ?? Date.now()) / 1000 - updatedSeconds);
    const node = { ...current, record_age_seconds: updatedSeconds === 0 ? null : ageSeconds };
    const item = isFresh(age) ? node : { ...node, metrics: null, store_metrics: null };
    if (dependent === undefined) listing.add(item);
    else if (dependent.get(node.node_id ?? 0) === 0) listing.add({ ...item, dependent_ranges: 0 });
  }
  await listing.close();
  const isNoneSafe = dependent !== undefined && ![...dependent.values()].includes(0);
  return isNoneSafe ? EXIT.failed : EXIT.ok;
}

/**
 * Scans the ranges of all nodes, after printing which are skipped and what a scan of the others costs, by what they last
 * reported. Resolves to the number of ranges that would lose their quorum, by id of the live node that they would lose.
 */
async function countDependentRanges(
  target: ClusterTarget,
  output: string,
  records: readonly { readonly node: CurrentNode; readonly age: RecordAge }[],
): Promise<ReadonlyMap<number, number>> {
  const statuses = new Map(records.map(({ node, age }) => [node.node_id ?? 0, livenessOf(age)]));
  const byId = new Map(records.map(({ node }) => [node.node_id ?? 0, node]));
  const { toScan, toSkip } = divideNodes(statuses);
  noteSkippedNodes(toSkip);
  const replicas = toScan.reduce((sum, id) => sum + (sumOf(byId.get(id), 'replicas') ?? 0), 0);
  const bytes = formatBytes(replicas * TYPICAL_REPLICA_BYTES);
  const size = replicas === 0 ? '' : `: about ${formatCount(replicas)} replicas, ${bytes}`;
  note(`reads all ranges of ${toScan.length} nodes${size}; Ctrl-C cancels`);
  const { summary, failed, failure } = await scan(target, output);
  if (summary?.domains === undefined) {
    const cause = failure?.message ?? failed.map(({ message }) => message).join('; ');
    throw new CommandError(
      `not every live node was read, so no node is known to be safe: ${cause}`,
    );
  }
  const { nodes: live, unknownVoters } = summary.domains;
  const uncertain = unknownVoters.node;
  for (const [nodeId, { quorum, allReplicas }] of live) {
    if (quorum === 0) continue;
    const last =
      allReplicas === 0 ? '' : `, ${formatRanges(allReplicas)} of them the last live replica`;
    note(`do not stop node ${nodeId}: ${formatRanges(quorum)} would lose the quorum${last}`);
  }
  if (uncertain > 0) {
    note(
      `not certain: ${formatRanges(uncertain)} with non-voters may be missing replicas that count`,
    );
  }
  if ([...live.values()].every(({ quorum }) => quorum > 0)) {
    note('no node can stop now without a range losing its quorum');
  }
  return new Map(Array.from(live, ([nodeId, { quorum }]) => [nodeId, quorum]));
}

function formatRanges(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'range' : 'ranges'}`;
}

/** One scan by the collector. It reads every node, whatever the route or the shards of the exporter. */
function scan(target: ClusterTarget, output: string) {
  const settings = target.config.collectors['ranges'];
  const route = routeOf(target);
  const options = {
    page_limit: 0,
    node_timeout: Number(settings?.['node_timeout']),
    concurrency: Number(settings?.['concurrency']),
    route: route === 'local' ? ('auto' as const) : route,
    hot_ranges: 0,
    problem_ranges: 0,
    top_tables: 0,
  };
  return withProgress('nodes', output, (_advance, scanProgress) =>
    collectOnce(ranges, target, { options, warn: note, scanProgress }),
  );
}

/** A node as JSON: names of the API, times as text, nothing omitted. */
function toItem(node: Infer<typeof shape>) {
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

/** Of the process when it last wrote its record. */
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
