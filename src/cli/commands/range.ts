import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { listNodes } from '../../cockroach/node.ts';
import { ranges } from '../../collectors/ranges/collector.ts';
import { PROBLEM_ISSUES } from '../../findings/range-problems.ts';
import { formatAge, formatList, toTimestamp } from '../../format.ts';
import { addClusterAction, type ClusterTarget } from '../cluster-target.ts';
import { addExamples, type CommandContext, EXIT, positiveInteger } from '../command.ts';
import { addListingOptions, type ListingOptions } from '../output/listing.ts';
import { note, writeJson, writeOut } from '../output/standard-output.ts';
import { printTable, type TableColumn } from '../output/table.ts';
import {
  formatCpuTime,
  noteSkippedNodes,
  readNode,
  type RangeElement,
  readTableNames,
  type Replica,
  routeOf,
  toReplica,
} from '../replicas.ts';

/** Nodes that are queried at a time: the responses are small. */
const CONCURRENCY = 4;
/** Seconds between two looks of `--watch`. */
const WATCH_SECONDS = 2;

/** `range ID…`: single ranges as all live nodes know them. */
export function define(command: Command, context: CommandContext): void {
  const parse = positiveInteger('It must be the id of a range, as listed by `ranges`.');
  const collect = (text: string, before: readonly number[] = []) => [...before, parse(text)];
  command
    .argument('<id...>', 'ids of ranges', collect)
    .option('--watch', `Repeat every ${WATCH_SECONDS} s until no problem is left.`)
    .option('--show-keys', 'Show start and end keys, which may hold user data.');
  addListingOptions(command);
  addClusterAction(command, context, ranges, printReports);
  addExamples(
    command,
    'range 4711 --config.file=exporter.yml',
    'range 4711 4712 --watch --config.file=exporter.yml',
    'range 4711 --output json --config.file=exporter.yml | jq .ranges[0].problems',
  );
}

async function printReports(
  target: ClusterTarget,
  ids: readonly number[],
  options: ListingOptions & { readonly watch?: true; readonly showKeys?: true },
): Promise<number> {
  const names = await readTableNames(target);
  for (;;) {
    const { toScan, toSkip } = await listNodes(target.api, target.stats);
    const replicas: Replica[] = [];
    const failed = await askNodes(target, [...new Set(ids)], toScan, (range) => {
      replicas.push(toReplica(range, names, options.showKeys));
    });
    const unread = [...failed, ...toSkip].toSorted((a, b) => a - b);
    const reports = toReports(replicas, unread);
    await writeReports(reports, options.output);
    noteSkippedNodes(toSkip);
    const isWhole = reportMissing(ids, reports, unread);
    const hasProblem = reports.some(({ problems }) => problems.length > 0);
    if (!options.watch || !(hasProblem || failed.length > 0)) {
      return isWhole ? EXIT.ok : EXIT.failed;
    }
    await wait(WATCH_SECONDS * 1000, undefined, { signal: target.stats.signal });
  }
}

/**
 * Queries every live node for these ranges; resolves to those that failed, with the reason printed. Rejects when all fail.
 */
async function askNodes(
  target: ClusterTarget,
  rangeIds: readonly number[],
  nodeIds: readonly number[],
  onRange: (range: RangeElement) => void,
): Promise<readonly number[]> {
  const failed: number[] = [];
  const route = routeOf(target);
  const read = async (nodeId: number, at: number): Promise<void> => {
    const failure = await readNode(target, {
      nodeId,
      at,
      route: route === 'local' ? 'gateway' : route,
      rangeIds,
      onRange(range) {
        // A server that ignores the parameter lists all ranges.
        if (rangeIds.includes(range.desc.range_id ?? 0)) onRange(range);
      },
    });
    if (failure === undefined) return;
    failed.push(nodeId);
    note(`node ${nodeId} was not read: ${failure.cause}; ${failure.remedy}`);
    if (failed.length === nodeIds.length) throw failure.error;
  };
  const queue = nodeIds.entries();
  const readInTurn = async (): Promise<void> => {
    for (const [at, nodeId] of queue) await read(nodeId, at);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, readInTurn));
  return failed;
}

type RangeReport = ReturnType<typeof toReports>[number];

/** The replicas that all nodes list of each range. */
function toReports(replicas: readonly Replica[], unread: readonly number[]) {
  const byNode = replicas.toSorted(
    (a, b) => (a.node_id ?? 0) - (b.node_id ?? 0) || (a.store_id ?? 0) - (b.store_id ?? 0),
  );
  const byRange = [...Map.groupBy(byNode, ({ range_id }) => range_id ?? 0)];
  return byRange
    .toSorted(([a], [b]) => a - b)
    .map(([rangeId, list]) => ({
      range_id: rangeId,
      table_id: list[0]?.table_id ?? null,
      index_id: list[0]?.index_id ?? null,
      /** By node. */
      replicas: list,
      /** Nodes that were not read, whose replicas are missing. */
      unread_nodes: unread,
      /** Problems of any replica, each with its meaning and the next step. */
      problems: [...new Set(list.flatMap(({ problems }) => problems))].map((name) => {
        const { what, next } = PROBLEM_ISSUES[name] ??
          PROBLEM_ISSUES['other'] ?? { what: '', next: '' };
        return { name, meaning: what, next };
      }),
    }));
}

/** Prints which ranges no node holds; returns whether all were found. */
function reportMissing(
  ids: readonly number[],
  reports: readonly RangeReport[],
  unread: readonly number[],
): boolean {
  const found = new Set(reports.map(({ range_id }) => range_id));
  const missing = ids.filter((id) => !found.has(id));
  if (missing.length === 0) return true;
  const why =
    unread.length === 0
      ? 'it was merged or dropped, or never existed'
      : 'it was merged or dropped, or only nodes that were not read hold it';
  note(`no live node holds range ${formatList(missing)}: ${why}`);
  return false;
}

async function writeReports(reports: readonly RangeReport[], output: ListingOptions['output']) {
  if (output === 'json') return writeJson({ ranges: reports }, output);
  for (const report of reports) {
    await (output === 'ndjson' ? writeJson(report, output) : printReport(report));
  }
}

async function printReport(report: RangeReport): Promise<void> {
  const { range_id, table_id, index_id, replicas, unread_nodes: unread, problems } = report;
  const place =
    table_id === null
      ? 'outside of tables'
      : `table ${replicas[0]?.table ?? table_id}, index ${index_id ?? '-'}`;
  await writeOut(`Range ${range_id}: ${place}\n`);
  const [first] = replicas;
  if (first?.start_key !== undefined) {
    await printTable(
      [{ title: 'START KEY' }, { title: 'END KEY' }],
      [[first.start_key, first.end_key]],
    );
  }
  await printTable(REPLICA_COLUMNS, replicas.map(toRow));
  const holder = replicas.find(({ is_leaseholder }) => is_leaseholder) ?? first;
  await writeOut('\nLeases, the last one first:\n');
  await printTable(
    ['SINCE', 'NODE', 'STORE', 'SEQUENCE'].map((title) => ({ title })),
    (holder?.lease_history ?? []).toReversed().map(({ start, replica, sequence }) => {
      return [startOf(start), ...[replica.node_id, replica.store_id, sequence].map(String)];
    }),
  );
  const lines = problems.map(({ name, meaning, next }) => `${name}: ${meaning}. ${next}`);
  const none =
    unread.length === 0
      ? 'No replica reports a problem.'
      : `No replica that was read reports a problem; node ${formatList(unread)} ${unread.length === 1 ? 'was' : 'were'} not read.`;
  await writeOut(`\n${lines.length === 0 ? none : lines.join('\n')}\n\n`);
}

const REPLICA_COLUMNS: readonly TableColumn[] = [
  ...['NODE', 'STORE', 'LEASE', 'RAFT', 'QPS', 'WRITES/S', 'CPU'].map((title) => ({ title })),
  { title: 'PROBLEMS', style: (problems) => (problems === '' ? undefined : 'red') },
];

function toRow(replica: Replica) {
  const { stats } = replica;
  const cpu = stats.cpu_time_per_second;
  return [
    String(replica.node_id),
    String(replica.store_id),
    replica.is_leaseholder ? (replica.lease_kind ?? 'held') : undefined,
    replica.ticking ? 'ticking' : replica.quiescent ? 'quiescent' : undefined,
    stats.queries_per_second ?? 0,
    stats.writes_per_second ?? 0,
    cpu === undefined ? undefined : formatCpuTime(cpu),
    replica.problems.join(','),
  ];
}

/** Time and age of the start of a lease. */
function startOf(start: unknown): string {
  const nanos =
    typeof start === 'object' && start !== null && 'wall_time' in start
      ? Number(start.wall_time)
      : 0;
  if (!(nanos > 0)) return '-';
  const time = toTimestamp(Math.round(nanos / 1e6));
  if (time === undefined) return '-';
  return `${time} (${formatAge(Math.max(0, (Date.now() - Date.parse(time)) / 1000))} ago)`;
}
