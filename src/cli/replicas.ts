import type { RangeRoute } from '../cockroach/listings.ts';
import { listNodes } from '../cockroach/node.ts';
import { ranges } from '../collectors/ranges/collector.ts';
import {
  tableLabels,
  leaseKindOf,
  LEASE_KINDS,
  tableIndexOf,
} from '../collectors/ranges/replica.ts';
import { discoverTables, formatTableName } from '../collectors/tables/table.ts';
import { collectorOptions } from '../config/schema.ts';
import { diagnose } from '../diagnosis/diagnose.ts';
import { formatBytes, formatCount, formatList } from '../format.ts';
import { RequestError } from '../http/errors.ts';
import {
  array,
  boolean,
  type Infer,
  integer,
  number,
  object,
  optional,
  raw,
  record,
  string,
} from '../json/shape.ts';
import type { ClusterTarget } from './cluster-target.ts';
import { CommandError } from './command.ts';
import { note, withProgress } from './output/standard-output.ts';

/** One element of GET /nodes/{node_id}/ranges/. */
export const rangeElement = object({
  desc: object({ range_id: integer() }),
  span: object({ start_key: string(), end_key: string() }),
  source_node_id: integer(),
  source_store_id: integer(),
  lease_history: array(
    object({
      start: raw(),
      expiration: raw(),
      proposed_ts: raw(),
      epoch: integer(),
      term: integer(),
      sequence: integer(),
      acquisition_type: integer(),
      replica: object({ node_id: integer(), store_id: integer(), replica_id: integer() }),
    }),
  ),
  problems: record(boolean()),
  stats: object({
    queries_per_second: number(),
    writes_per_second: number(),
    requests_per_second: optional(number()),
    reads_per_second: optional(number()),
    write_bytes_per_second: optional(number()),
    read_bytes_per_second: optional(number()),
    cpu_time_per_second: optional(number()),
  }),
  quiescent: boolean(),
  ticking: boolean(),
});

export type RangeElement = Infer<typeof rangeElement>;

/** A replica as JSON, with the names of the API. */
export interface Replica {
  readonly range_id: number | undefined;
  readonly node_id: number | undefined;
  readonly store_id: number | undefined;
  /** A number; of a table in virtual cluster 3 the text `3/104`; null outside of tables. */
  readonly table_id: number | string | null;
  /** `movr.public.rides`, where the server lists the table. */
  readonly table: string | null;
  readonly index_id: number | null;
  readonly problems: readonly string[];
  readonly is_leaseholder: boolean;
  readonly lease_kind: string | null;
  readonly quiescent: boolean | undefined;
  readonly ticking: boolean | undefined;
  readonly stats: RangeElement['stats'];
  /** Only with `--show-keys`. */
  readonly start_key?: string | undefined;
  readonly end_key?: string | undefined;
  readonly lease_history: RangeElement['lease_history'];
}

/** Copies a replica from the element, which is reused for the next one. Its keys are left out without `showKeys`. */
export function toReplica(
  range: RangeElement,
  names?: ReadonlyMap<string, string>,
  showKeys?: boolean,
): Replica {
  const { desc, span, stats, lease_history: leases } = range;
  const lease = leases.at(-1);
  const { table_id, index_id } = tableLabels(tableIndexOf(range.span.start_key ?? ''));
  return {
    range_id: desc.range_id,
    node_id: range.source_node_id,
    store_id: range.source_store_id,
    table_id: tableIdOf(table_id),
    table: names?.get(table_id) ?? null,
    index_id: index_id === '' ? null : Number(index_id),
    problems: [...range.problems].flatMap(([name, isSet]) => (isSet ? [name] : [])),
    is_leaseholder: lease !== undefined && lease.replica.store_id === range.source_store_id,
    lease_kind: lease === undefined ? null : (LEASE_KINDS[leaseKindOf(lease)] ?? null),
    quiescent: range.quiescent,
    ticking: range.ticking,
    stats: { ...stats },
    ...(showKeys && { start_key: span.start_key, end_key: span.end_key }),
    lease_history: leases,
  };
}

function tableIdOf(label: string): number | string | null {
  if (label === '') return null;
  return label.includes('/') ? label : Number(label);
}

/** `movr.public.rides` by table id; empty where the server lists no tables, or not for this user. */
export async function readTableNames(target: ClusterTarget): Promise<ReadonlyMap<string, string>> {
  try {
    const tables = await discoverTables(target.api, target.stats);
    return new Map(tables.map((table) => [table.tableId, formatTableName(table)]));
  } catch (error) {
    // Ranges are listed without names; where no request arrives, the first failure says why.
    const isOfTables = error instanceof RequestError && error.endpoint === 'table_metadata';
    if (!isOfTables || error.reason === 'network' || error.reason === 'tls') throw error;
    return new Map();
  }
}

interface RangeHandlers {
  readonly onRange: (range: RangeElement) => void;
  readonly onPageEnd?: () => Promise<void>;
}

/**
 * Reads the ranges of all nodes, or of one: one node after the other, so that no server prepares two lists at a time.
 * Resolves to the nodes that were not queried, and to the failures of others; rejects when none could be read.
 */
export async function readRanges(
  target: ClusterTarget,
  output: string,
  { nodeId: chosen, ...handlers }: RangeHandlers & { readonly nodeId?: number | undefined },
) {
  const { toScan, toSkip: skipped } = await chooseNodes(target, chosen);
  const failed = new Map<number, NodeFailure>();
  await withProgress('replicas', output, async (advance, step) => {
    for (const [at, nodeId] of toScan.entries()) {
      step(at, toScan.length);
      const failure = await readNode(target, {
        nodeId,
        at,
        route: routeOf(target),
        ...handlers,
        onRange(range) {
          advance();
          handlers.onRange(range);
        },
      });
      if (failure === undefined) continue;
      failed.set(nodeId, failure);
      if (failed.size === toScan.length) throw failure.error;
    }
  });
  return { skipped, failed };
}

/**
 * The nodes to read: all, or the one with the id. Nodes that are not live are skipped: the call would fail after
 * seconds, or never end.
 */
async function chooseNodes(target: ClusterTarget, nodeId?: number) {
  // The node beside this process, whatever its id.
  if (routeOf(target) === 'local' && nodeId === undefined) return { toScan: [0], toSkip: [] };
  const nodes = await listNodes(target.api, target.stats);
  if (nodeId === undefined) return nodes;
  if (nodes.toScan.includes(nodeId)) return { toScan: [nodeId], toSkip: [] };
  if (nodes.toSkip.includes(nodeId)) {
    throw new CommandError(
      `node ${nodeId} is not live, so its ranges cannot be read; see \`nodes\``,
    );
  }
  const known = [...nodes.toScan, ...nodes.toSkip].toSorted((a, b) => a - b);
  throw new CommandError(`there is no node ${nodeId}: the cluster has ${known.join(', ')}`);
}

/** Why the ranges of a node are missing or incomplete. */
type NodeFailure = NonNullable<Awaited<ReturnType<typeof readNode>>>;

/** Reads ranges of one node, `at` this place of all; resolves to its failure if a request failed. */
export async function readNode(
  target: ClusterTarget,
  {
    at,
    ...request
  }: RangeHandlers & {
    readonly nodeId: number;
    readonly at: number;
    readonly route: RangeRoute;
    readonly rangeIds?: readonly number[];
  },
) {
  const { config, stats } = target;
  // Another URL each time, so that no gateway carries every scan.
  const firstUrl = at % (config.cluster_api?.urls.length ?? 1);
  try {
    // A few ranges are ready at once.
    const headersMs = collectorOptions(config, ranges).node_timeout * 1000;
    const patience = request.rangeIds === undefined ? { headersMs } : {};
    const options = { ...request, ...patience, firstUrl, shape: rangeElement };
    await target.api.nodeRanges(stats, options);
    return undefined;
  } catch (error) {
    const diagnosis = diagnose(error, ranges, config);
    if (diagnosis === undefined || stats.signal.aborted) throw error;
    return { ...diagnosis, error };
  }
}

/** Prints whose ranges are not in the output. */
export function noteMissingNodes(
  skipped: readonly number[],
  failed: ReadonlyMap<number, NodeFailure>,
): void {
  noteSkippedNodes(skipped);
  for (const [nodeId, { cause, remedy }] of failed) {
    note(`the ranges of node ${nodeId} are missing or incomplete: ${cause}; ${remedy}`);
  }
}

export function noteSkippedNodes(skipped: readonly number[]): void {
  if (skipped.length === 0) return;
  note(`skipped, because not live: node${skipped.length === 1 ? '' : 's'} ${formatList(skipped)}`);
}

/** The size of a replica in a listing; most of it is the history of leases. */
const TYPICAL_REPLICA_BYTES = 1_500;

/** Prints what a scan of all nodes costs, by the replicas that they last reported. */
export function noteScanCost(nodes: number, replicas: number): void {
  const bytes = formatBytes(replicas * TYPICAL_REPLICA_BYTES);
  const size = replicas === 0 ? '' : `: about ${formatCount(replicas)} replicas, ${bytes}`;
  note(`reads all ranges of ${nodes} nodes${size}; Ctrl-C cancels`);
}

/** The route that is configured for the collector; `auto`, which is for repeated scans, is `gateway`. */
export function routeOf({ config }: ClusterTarget): RangeRoute {
  const { route } = collectorOptions(config, ranges);
  return route === 'proxy' || route === 'local' ? route : 'gateway';
}

/** Nanoseconds per second as a share of one CPU. */
export function formatCpuTime(nanoseconds: number): string {
  return `${(nanoseconds / 1e7).toFixed(2)}%`;
}
