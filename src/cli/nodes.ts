import type { Command } from 'commander';
import { freshnessOf, LIVENESS_BY_CODE, type RecordAge } from '../collectors/nodes/liveness.ts';
import { array, type Infer, integer, number, object, record, string } from '../json/shape.ts';
import { addExamples, type Invocation } from './command.ts';
import { EXIT } from './exit.ts';
import { writeAge, writeBytes, writeCount } from './human.ts';
import { addListingOptions, type Column, type Format, openListing } from './listing.ts';
import { addTargetOptions, clusterApiOf, type Target, withTarget } from './target.ts';

const NODES_PER_PAGE = 100;

const address = object({ network_field: string(), address_field: string() });

const shape = object({
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

type NodeElement = Infer<typeof shape>;

type CurrentNode = ReturnType<typeof toItem>;

/** Without the figures of a record that nobody writes any more. */
type Node = Omit<CurrentNode, 'metrics' | 'store_metrics'> & {
  readonly metrics: CurrentNode['metrics'] | null;
  readonly store_metrics: CurrentNode['store_metrics'] | null;
};

const COLUMNS: readonly Column<Node>[] = [
  { title: 'ID', value: (node) => node.node_id, write: String },
  {
    title: 'STATUS',
    value: (node) => node.status,
    style: (status) =>
      status === 'live'
        ? 'green'
        : status === 'dead' || status === 'unavailable'
          ? 'red'
          : 'yellow',
  },
  { title: 'ADDRESS', value: (node) => node.address, shrinks: true },
  { title: 'VERSION', value: (node) => node.build_tag },
  { title: 'LOCALITY', value: (node) => node.locality, shrinks: true },
  {
    title: 'UPTIME',
    value: uptimeOf,
    write: writeAge,
    order: 'descending',
  },
  {
    title: 'CPU',
    value: (node) => node.metrics?.['sys.cpu.combined.percent-normalized'],
    write: writePercent,
    order: 'descending',
  },
  {
    title: 'MEMORY',
    value: (node) => node.metrics?.['sys.rss'],
    write: writeBytes,
    order: 'descending',
  },
  {
    title: 'CONNS',
    value: (node) => node.metrics?.['sql.conns'],
    write: writeCount,
    order: 'descending',
  },
  {
    title: 'REPLICAS',
    value: (node) => sumOf(node, 'replicas'),
    write: writeCount,
    order: 'descending',
  },
  {
    title: 'DISK',
    value: (node) => share(sumOf(node, 'capacity.used'), sumOf(node, 'capacity')),
    write: writePercent,
    order: 'descending',
  },
];

/** `nodes`: GET /nodes/, all of it. */
export function define(command: Command, invocation: Invocation): void {
  addListingOptions(command, COLUMNS);
  addTargetOptions(command);
  addExamples(
    command,
    'nodes --config.file=exporter.yml',
    'nodes --sort cpu --config.file=exporter.yml --cluster prod',
    'nodes --output ndjson --cluster.url=http://127.0.0.1:8080 | jq .metrics',
  );
  command.action(async (options: { readonly output: Format; readonly sort?: string }) => {
    const work = (target: Target): Promise<number> => list(target, options);
    invocation.done(await withTarget(command, invocation, { operation: 'nodes', work }));
  });
}

async function list(
  target: Target,
  { output: format, sort }: { readonly output: Format; readonly sort?: string },
): Promise<number> {
  const listing = openListing({ format, member: 'nodes', columns: COLUMNS, sort });
  const read: { readonly node: CurrentNode; readonly age: RecordAge }[] = [];
  const { dateMs } = await clusterApiOf(target).nodes(target.reading, {
    limit: NODES_PER_PAGE,
    shape,
    onNode: (node) => read.push({ node: toItem(node), age: recordAgeOf(node) }),
  });
  // Which records are stale is known by the newest one of all.
  const isFresh = freshnessOf(
    read.map(({ age }) => age),
    dateMs,
  );
  for (const { node, age } of read) {
    listing.add(isFresh(age) ? node : { ...node, metrics: null, store_metrics: null });
  }
  await listing.close();
  return EXIT.good;
}

function recordAgeOf({ liveness_status, updated_at = 0 }: NodeElement): RecordAge {
  return { livenessCode: liveness_status, updatedSeconds: updated_at / 1e9 };
}

/** A node as JSON: names of the API, times as text, nothing left out. */
function toItem(node: NodeElement) {
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
  // A double loses the last digits of so many nanoseconds: what is a little below a millisecond is meant to be it.
  return nanoseconds === 0 ? null : new Date(Math.round(nanoseconds / 1e6)).toISOString();
}

/** Of the process when it last wrote its record. */
function uptimeOf({ started_at: started, updated_at: updated, metrics }: Node): number | undefined {
  if (started === null || updated === null || metrics === null) return undefined;
  return (Date.parse(updated) - Date.parse(started)) / 1000;
}

function sumOf(node: Node, key: string): number | undefined {
  const values = Object.values(node.store_metrics ?? {}).flatMap((metrics) => metrics[key] ?? []);
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

function share(part: number | undefined, whole: number | undefined): number | undefined {
  return part === undefined || whole === undefined || whole === 0 ? undefined : part / whole;
}

function writePercent(ratio: number): string {
  return `${(ratio * 100).toFixed(1)}%`;
}
