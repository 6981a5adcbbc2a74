import type { Command } from 'commander';
import { listNodes } from '../../cockroach/node-list.ts';
import { ranges } from '../../collectors/ranges.ts';
import { diagnose } from '../../diagnosis/diagnose.ts';
import { formatBytes, formatNumber } from '../../format.ts';
import { addClusterAction, type ClusterTarget, clusterApiOf } from '../cluster-target.ts';
import { addExamples, type CommandContext, CommandError } from '../command.ts';
import { positiveInteger } from '../flags.ts';
import {
  addListingOptions,
  type Column,
  type ListingOptions,
  numberColumn,
  openListing,
} from '../output/listing.ts';
import { withProgress } from '../output/progress.ts';
import { note } from '../output/standard-output.ts';
import {
  formatCpuTime,
  type RangeElement,
  rangeElement,
  readTableNames,
  type Replica,
  routeOf,
  toReplica,
} from './ranges/replica.ts';

/** How many times the wanted number of hot ranges is kept before the coldest are dropped. */
const HOT_SLACK = 4;

const COLUMNS: readonly Column<Replica>[] = [
  { title: 'RANGE', value: (replica) => replica.range_id, format: String },
  { title: 'NODE', value: (replica) => replica.node_id, format: String },
  { title: 'STORE', value: (replica) => replica.store_id, format: String },
  {
    title: 'TABLE',
    value: ({ table, table_id: id }) => table ?? (id === null ? null : String(id)),
    shrinks: true,
  },
  { title: 'LEASE', value: (replica) => (replica.is_leaseholder ? replica.lease_kind : null) },
  numberColumn('QPS', formatNumber, ({ stats }) => stats.queries_per_second),
  numberColumn('WRITES/S', formatNumber, ({ stats }) => stats.writes_per_second),
  numberColumn('READ/S', formatBytes, ({ stats }) => stats.read_bytes_per_second),
  numberColumn('WRITTEN/S', formatBytes, ({ stats }) => stats.write_bytes_per_second),
  numberColumn('CPU', formatCpuTime, ({ stats }) => stats.cpu_time_per_second),
  {
    title: 'PROBLEMS',
    value: (replica) => replica.problems.join(','),
    style: (problems) => (problems === '' ? undefined : 'red'),
    shrinks: true,
  },
];

/** Keys are long, so they come last. */
const KEY_COLUMNS: readonly Column<Replica>[] = [
  { title: 'START KEY', value: (replica) => replica.start_key, shrinks: true },
  { title: 'END KEY', value: (replica) => replica.end_key, shrinks: true },
];

type Diagnosis = NonNullable<ReturnType<typeof diagnose>>;

/** `ranges [NODE]`: the replicas on every node, or on one. */
export function define(command: Command, context: CommandContext): void {
  const parseNodeId = positiveInteger('It must be the id of a node, as listed by `nodes`.');
  const parseCount = positiveInteger('It must be a whole number from 1 to 999999999.');
  command
    .argument('[node]', 'id of a node; default: all nodes', parseNodeId)
    .option('--problems', 'Only replicas that report a problem.')
    .option(
      '--hot <count>',
      'Only this number of ranges: those with most queries per second on their leaseholders.',
      parseCount,
    )
    .option('--show-keys', 'Show start and end keys, which may hold user data.');
  addListingOptions(command, COLUMNS);
  addClusterAction(command, context, ranges, list);
  addExamples(
    command,
    'ranges --problems --config.file=exporter.yml',
    'ranges --hot 20 --config.file=exporter.yml',
    'ranges 3 --output ndjson --config.file=exporter.yml | jq .range_id',
  );
}

async function list(
  target: ClusterTarget,
  nodeId: number | undefined,
  options: ListingOptions & {
    readonly problems?: true;
    readonly hot?: number;
    readonly showKeys?: true;
  },
): Promise<void> {
  const { output, showKeys, hot, problems } = options;
  const columns = showKeys ? [...COLUMNS, ...KEY_COLUMNS] : COLUMNS;
  const asked = [
    ...(problems ? ['PROBLEMS'] : []),
    ...(hot === undefined ? [] : ['QPS']),
    ...KEY_COLUMNS.map(({ title }) => title),
  ];
  const listing = openListing<Replica>(options, 'ranges', columns, asked);
  const names = await readTableNames(target);
  const { toScan, toSkip } = await chooseNodes(target, nodeId);
  const hotList = hot === undefined ? undefined : createHotList(hot);
  const failed = await readNodes(target, toScan, output, {
    onRange(range) {
      const replica = toReplica(range, names, showKeys);
      if (!problems || replica.problems.length > 0) (hotList ?? listing).add(replica);
    },
    onPageEnd: () => listing.drained(),
  });
  for (const replica of hotList?.hottest() ?? []) listing.add(replica);
  await listing.close({
    skipped_nodes: toSkip,
    failed_nodes: Array.from(failed, ([node_id, { reason, cause: message }]) => {
      return { node_id, reason, message };
    }),
  });
  noteMissingNodes(toSkip, failed);
}

/** Prints whose ranges are not in the output. */
export function noteMissingNodes(
  skipped: readonly number[],
  failed: ReadonlyMap<number, Diagnosis>,
): void {
  noteSkippedNodes(skipped);
  for (const [nodeId, { cause, remedy }] of failed) {
    note(`the ranges of node ${nodeId} are missing or incomplete: ${cause}; ${remedy}`);
  }
}

export function noteSkippedNodes(skipped: readonly number[]): void {
  if (skipped.length > 0) note(`skipped, because not live: node ${skipped.join(', ')}`);
}

/**
 * Reads one node after the other, so that no server prepares two lists at a time. Resolves to the diagnoses of those
 * that failed, by node; rejects when none could be read.
 */
export function readNodes(
  target: ClusterTarget,
  nodeIds: readonly number[],
  output: string,
  handlers: {
    readonly onRange: (range: RangeElement) => void;
    readonly onPageEnd?: () => Promise<void>;
  },
) {
  const { collectors, cluster_api } = target.config;
  return withProgress('replicas', output, async (advance, step) => {
    const failed = new Map<number, Diagnosis>();
    for (const [at, nodeId] of nodeIds.entries()) {
      step(at, nodeIds.length);
      try {
        await clusterApiOf(target).nodeRanges(target.stats, {
          nodeId,
          route: routeOf(target),
          limit: Number(collectors['ranges']?.['page_limit']),
          // Another URL each time, so that no gateway carries every scan.
          firstUrl: at % (cluster_api?.urls.length ?? 1),
          shape: rangeElement,
          ...handlers,
          onRange(range) {
            advance();
            handlers.onRange(range);
          },
        });
      } catch (error) {
        const diagnosis = diagnose(error, ranges, target.config);
        if (diagnosis === undefined || target.stats.signal.aborted) throw error;
        failed.set(nodeId, diagnosis);
        if (failed.size === nodeIds.length) throw error;
      }
    }
    return failed;
  });
}

/**
 * The nodes to read: all, or the one with the id. Nodes that are not live are skipped: the call would fail after
 * seconds, or never end.
 */
export async function chooseNodes(target: ClusterTarget, nodeId?: number) {
  // The node beside this process, whatever its id.
  if (routeOf(target) === 'local' && nodeId === undefined) return { toScan: [0], toSkip: [] };
  const nodes = await listNodes(clusterApiOf(target), target.stats);
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

/** The hottest of the added replicas, by queries on their leaseholders. */
function createHotList(length: number) {
  let kept: Replica[] = [];
  /** Hottest first. */
  const hottest = (): readonly Replica[] => {
    kept = kept.toSorted((a, b) => queriesOf(b) - queriesOf(a)).slice(0, length);
    return kept;
  };
  return {
    add(replica: Replica) {
      // Followers repeat the writes of the leaseholder and know nothing of its reads.
      if (!replica.is_leaseholder) return;
      if (kept.push(replica) > HOT_SLACK * length) hottest();
    },
    hottest,
  };
}

function queriesOf({ stats }: Replica): number {
  return stats.queries_per_second ?? 0;
}
