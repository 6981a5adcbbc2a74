import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { listNodes } from '../../cockroach/node-list.ts';
import type { NodeList } from '../../cockroach/node.ts';
import { ranges } from '../../collectors/ranges.ts';
import { diagnose } from '../../diagnosis/diagnose.ts';
import { formatAge, formatList, formatNumber } from '../../format.ts';
import { PROBLEM_ISSUES } from '../../web/status/ranges.ts';
import { addClusterAction, type ClusterTarget, clusterApiOf } from '../cluster-target.ts';
import { addExamples, type CommandContext, EXIT } from '../command.ts';
import { positiveInteger } from '../flags.ts';
import { addListingOptions, type ListingOptions } from '../output/listing.ts';
import { note, writeJson, writeOut } from '../output/standard-output.ts';
import { type Cell, printTable } from '../output/table.ts';
import { noteSkippedNodes } from './ranges.ts';
import {
  formatCpuTime,
  type RangeElement,
  rangeElement,
  readTableNames,
  type Replica,
  routeOf,
  toReplica,
} from './ranges/replica.ts';

/** Seconds between two looks of `--watch`. */
const WATCH_SECONDS = 2;
/** Nodes that are queried concurrently: the answers are small. */
const CONCURRENCY = 4;

interface Options extends ListingOptions {
  readonly watch?: true;
  readonly showKeys?: true;
}

/** What all nodes know of a range. */
interface RangeReport {
  readonly range_id: number;
  readonly table_id: number | null;
  readonly index_id: number | null;
  /** By node. */
  readonly replicas: readonly Replica[];
  /** Nodes that were not read, whose replicas are missing. */
  readonly unread_nodes: readonly number[];
  /** Problems of any replica, each with its meaning and the next step. */
  readonly problems: readonly {
    readonly name: string;
    readonly meaning: string;
    readonly next: string;
  }[];
}

/** `range ID…`: single ranges as all live nodes know them. */
export function define(command: Command, context: CommandContext): void {
  const parse = positiveInteger('It must be the id of a range, as listed by `ranges`.');
  const collect = (text: string, before: readonly number[] = []) => [...before, parse(text)];
  command
    .argument('<id...>', 'ids of ranges', collect)
    .option('--watch', `Repeat every ${WATCH_SECONDS} s until no problem is left.`)
    .option('--show-keys', 'Show start and end keys, which may hold user data.');
  addListingOptions(command);
  addClusterAction(command, context, ranges, show);
  addExamples(
    command,
    'range 4711 --config.file=exporter.yml',
    'range 4711 4712 --watch --config.file=exporter.yml',
    'range 4711 --output json --config.file=exporter.yml | jq .ranges[0].problems',
  );
}

async function show(
  target: ClusterTarget,
  ids: readonly number[],
  options: Options,
): Promise<number> {
  const names = await readTableNames(target);
  for (let before: readonly number[] = []; ;) {
    const nodes = await listNodes(clusterApiOf(target), target.stats);
    const failed: number[] = [];
    const replicas: Replica[] = [];
    const onRange = (range: RangeElement): unknown =>
      replicas.push(toReplica(range, names, options.showKeys));
    await readRanges(target, [...new Set(ids)], nodes, { onRange, failed, before });
    const unread = [...failed, ...nodes.toSkip].toSorted((a, b) => a - b);
    const reports = toReports(replicas, unread);
    await print(reports, options);
    const isWhole = reportMissing(ids, reports, nodes, unread);
    const hasProblem = reports.some(({ problems }) => problems.length > 0);
    if (options.watch !== true || !(hasProblem || failed.length > 0)) {
      return isWhole ? EXIT.ok : EXIT.failed;
    }
    before = failed;
    await wait(WATCH_SECONDS * 1000, undefined, { signal: target.stats.signal });
  }
}

/**
 * Queries every live node for these ranges; one that fails is added to `failed`, and its reason printed unless it
 * failed `before`, too. Rejects when all fail.
 */
async function readRanges(
  target: ClusterTarget,
  rangeIds: readonly number[],
  { toScan }: NodeList,
  {
    onRange,
    failed,
    before,
  }: {
    readonly onRange: (range: RangeElement) => void;
    readonly failed: number[];
    readonly before: readonly number[];
  },
): Promise<void> {
  const queue = [...toScan.entries()];
  const route = routeOf(target);
  async function readInTurn(): Promise<void> {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [at, nodeId] = next;
      try {
        await clusterApiOf(target).nodeRanges(target.stats, {
          nodeId,
          route: route === 'local' ? 'gateway' : route,
          limit: rangeIds.length * 2,
          rangeIds,
          firstUrl: at % (target.config.cluster_api?.urls.length ?? 1),
          shape: rangeElement,
          onRange(range) {
            // A server that ignores the parameter lists all ranges.
            if (rangeIds.includes(range.desc.range_id ?? 0)) onRange(range);
          },
        });
      } catch (error) {
        const diagnosis = diagnose(error, ranges, target.config);
        if (diagnosis === undefined || target.stats.signal.aborted) throw error;
        failed.push(nodeId);
        const reason = before.includes(nodeId) ? '' : `: ${diagnosis.cause}; ${diagnosis.remedy}`;
        note(`node ${nodeId} was not read${reason}`);
        if (failed.length === toScan.length) throw error;
      }
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, readInTurn));
}

function toReports(
  replicas: readonly Replica[],
  unread: readonly number[],
): readonly RangeReport[] {
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
      replicas: list,
      unread_nodes: unread,
      problems: [...new Set(list.flatMap(({ problems }) => problems))].map((name) => {
        const { what, next } = PROBLEM_ISSUES[name] ??
          PROBLEM_ISSUES['other'] ?? { what: '', next: '' };
        return { name, meaning: what, next };
      }),
    }));
}

/** Prints which nodes were skipped and which ranges no node holds; returns whether all were found. */
function reportMissing(
  ids: readonly number[],
  reports: readonly RangeReport[],
  { toSkip }: NodeList,
  unread: readonly number[],
): boolean {
  const found = new Set(reports.map(({ range_id }) => range_id));
  const missing = ids.filter((id) => !found.has(id));
  noteSkippedNodes(toSkip);
  if (missing.length === 0) return true;
  const why =
    unread.length === 0
      ? 'it was merged or dropped, or never existed'
      : 'it was merged or dropped, or only nodes that were not read hold it';
  note(`no live node holds range ${formatList(missing)}: ${why}`);
  return false;
}

async function print(reports: readonly RangeReport[], { output }: Options): Promise<void> {
  if (output === 'json') {
    await writeJson({ ranges: reports }, 'json');
    return;
  }
  for (const report of reports) {
    if (output === 'ndjson') await writeJson(report, 'ndjson');
    else await printReport(report);
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
      [[{ text: first.start_key }, { text: first.end_key ?? '' }]],
    );
  }
  await printTable(
    ['NODE', 'STORE', 'LEASE', 'RAFT', 'QPS', 'WRITES/S', 'CPU', 'PROBLEMS'].map((title) => ({
      title,
    })),
    replicas.map((replica) => replicaCells(replica)),
  );
  const holder = replicas.find(({ is_leaseholder }) => is_leaseholder) ?? first;
  await writeOut('\nLeases, the last one first:\n');
  await printTable(
    ['SINCE', 'NODE', 'STORE', 'SEQUENCE'].map((title) => ({ title })),
    (holder?.lease_history ?? [])
      .toReversed()
      .map((lease) => [
        { text: startOf(lease.start) },
        { text: String(lease.replica.node_id) },
        { text: String(lease.replica.store_id) },
        { text: String(lease.sequence) },
      ]),
  );
  const lines = problems.map(({ name, meaning, next }) => `${name}: ${meaning}. ${next}`);
  const none =
    unread.length === 0
      ? 'No replica reports a problem.'
      : `No replica that was read reports a problem; node ${formatList(unread)} ${unread.length === 1 ? 'was' : 'were'} not read.`;
  await writeOut(`\n${lines.length === 0 ? none : lines.join('\n')}\n\n`);
}

function replicaCells(replica: Replica): readonly Cell[] {
  const { stats, problems } = replica;
  const raft = replica.ticking ? 'ticking' : replica.quiescent ? 'quiescent' : '-';
  const cpu = stats.cpu_time_per_second;
  return [
    { text: String(replica.node_id) },
    { text: String(replica.store_id) },
    { text: replica.is_leaseholder ? (replica.lease_kind ?? 'held') : '-' },
    { text: raft },
    { text: formatNumber(stats.queries_per_second ?? 0) },
    { text: formatNumber(stats.writes_per_second ?? 0) },
    { text: cpu === undefined ? '-' : formatCpuTime(cpu) },
    { text: problems.join(',') || '-', style: problems.length > 0 ? 'red' : undefined },
  ];
}

/** Time and age of the start of a lease. */
function startOf(start: unknown): string {
  const nanos =
    typeof start === 'object' && start !== null && 'wall_time' in start
      ? Number(start.wall_time)
      : 0;
  if (!(nanos > 0)) return '-';
  const time = new Date(Math.round(nanos / 1e6));
  return `${time.toISOString()} (${formatAge(Math.max(0, (Date.now() - time.getTime()) / 1000))} ago)`;
}
