import type { Command } from 'commander';
import { formatAge, formatCount, formatList, formatNodes, formatTables, plural } from '#base';
import { ranges } from '#collectors';
import {
  adviseProblem,
  formatHeld,
  isSystemRange,
  PROBLEM_ISSUES,
  STUCK,
  systemRangeName,
} from '#status';
import { parseIds, parseSeconds } from '../arguments.ts';
import { Claims, claimantsOf, noteDisputed } from '../claims.ts';
import { addClusterAction, type ClusterTarget } from '../cluster-target.ts';
import { addExamples, type CommandContext, EXIT, usageError } from '../command.ts';
import { type DescriptorReport, describeReplicas, readDescriptors } from '../described-ranges.ts';
import { addListingOptions, type ListingOptions, openListing } from '../output/listing.ts';
import { note, withProgress, writeJson, writeLines } from '../output/standard-output.ts';
import { type Column, printTable, textColumns, toRow } from '../output/table.ts';
import { type PrintedReplica, REPLICA_COLUMNS, startOf } from '../printed-replica.ts';
import {
  listFailures,
  type MissingNodes,
  noteMissing,
  readRanges,
  readTableNames,
} from '../read-replicas.ts';
import { printFewVoters } from '../zone-voters.ts';

/** How many times the wanted number of hot ranges is kept before the coldest are dropped. */
const HOT_SLACK = 4;

const PROBLEM_NAMES = Object.keys(PROBLEM_ISSUES);

/** `ranges [NODE]`: the replicas on every node, or on one. */
export function define(command: Command, context: CommandContext): void {
  const parseNodeId = parseIds('It must be the id of a node, as listed by `nodes`.');
  const parseCount = parseIds('It must be a whole number from 1 to 999999999.');
  command
    .argument('[node]', 'id of a node; default: all nodes', parseNodeId)
    .option('--problems', 'Only replicas that report a problem.')
    .option(
      '--hot <count>',
      'Only this number of ranges: those with most queries per second on their leaseholders.',
      parseCount,
    )
    .option(
      '--still-after <duration>',
      'Only ranges that are still on the node after this time, such as 10m: what its decommissioning waits for.',
      parseSeconds,
    )
    .option(
      '--few-voters',
      'Only ranges with fewer voters than the zone of their table wants: reads all ranges, descriptors and zones.',
    );
  addListingOptions(command, REPLICA_COLUMNS);
  addClusterAction(command, context, ranges, printReplicas);
  addExamples(
    command,
    'ranges --problems --config.file=exporter.yml',
    'ranges --hot 20 --config.file=exporter.yml',
    'ranges 3 --still-after 10m --config.file=exporter.yml',
    'ranges 3 --output ndjson --config.file=exporter.yml | jq .range_id',
  );
}

interface Options extends ListingOptions {
  readonly problems?: true;
  readonly hot?: number;
  /** Seconds. */
  readonly stillAfter?: number;
  readonly fewVoters?: true;
}

async function printReplicas(
  target: ClusterTarget,
  nodeId: number | undefined,
  options: Options,
): Promise<void> {
  const { output, hot, problems, stillAfter, fewVoters } = options;
  if (fewVoters) {
    if ([nodeId, hot, problems, stillAfter].some((each) => each !== undefined))
      throw usageError('--few-voters is about all ranges: omit the node and the other options');
    return printFewVoters(target, options);
  }
  const listing = openListing<PrintedReplica>(options, {
    member: 'ranges',
    columns: REPLICA_COLUMNS,
    required: [...(problems ? ['PROBLEMS'] : []), ...(hot === undefined ? [] : ['QPS'])],
    urgencyOf: problems ? severityOf : undefined,
  });
  const names = await readTableNames(target);
  const before =
    stillAfter === undefined ? undefined : await readBefore(target, nodeId, names, options);
  const claims = problems && nodeId === undefined ? new Claims() : undefined;
  let hottest: PrintedReplica[] = [];
  let now = 0;
  let stayed = 0;
  const missing = await readRanges(target, output, {
    nodeId,
    names,
    onReplica(replica) {
      now += 1;
      if (before?.has(replica.range_id ?? 0) === false) return;
      stayed += 1;
      claims?.add(replica);
      if (problems && (replica.problems ?? []).length === 0) return;
      if (hot === undefined) return listing.add(replica);
      // Followers repeat the writes of the leaseholder and know nothing of its reads.
      if (replica.is_leaseholder) hottest.push(replica);
      if (hottest.length > HOT_SLACK * hot) hottest = takeHottest(hottest, hot);
    },
    onPageEnd: () => listing.drained(),
    checksKeys: problems && nodeId === undefined,
  });
  for (const replica of takeHottest(hottest, hot ?? 0)) listing.add(replica);
  const counts = before && { ranges_before: before.size, ranges_now: now, stayed };
  const keys = problems && {
    key_space: missing.keySpace,
    overlapping: missing.overlapping.map(({ rangeId, nodeIds }) => {
      return { range_id: rangeId, node_ids: nodeIds };
    }),
    disputed: claims?.disputed ?? [],
  };
  await listing.close({ ...counts, ...keys, ...listFailures(missing) });
  if (before !== undefined) {
    const [was, is, same] = [before.size, now, stayed].map(formatCount);
    note(
      `node ${nodeId} held ${was} ranges, and ${is} after ${formatAge(stillAfter ?? 0)}: ${same} did not move`,
    );
  }
  noteMissing(missing);
  noteDisputed(claims?.disputed ?? []);
  if (problems) noteMissingRanges(missing);
}

/** Prints whether ranges are missing that no node reports: those are in no list. */
function noteMissingRanges({ keySpace, overlapping, skipped }: MissingNodes): void {
  if (keySpace === 'overlap') {
    const [lies, them] = [
      plural(overlapping.length, 'lies', 'lie'),
      plural(overlapping.length, 'it', 'them'),
    ];
    note(
      `${formatHeld(overlapping)} ${lies} over the keys of others, which join without ${them}: probably left over from a merge, and of no effect, or a split was going on; the status page knows it by the descriptors`,
    );
  } else if (keySpace === 'incomplete') {
    const it = plural(skipped.length, 'it', 'them');
    const down =
      skipped.length === 0 ? '' : `; start ${formatNodes(skipped)}, and do not decommission ${it}`;
    note(
      `ranges may be missing that no node reports: the keys of those that were read do not join (if that is so twice, it is no split or merge)${down}; the status page names them where it can`,
    );
  } else if (keySpace === 'complete') {
    note('no range is missing: the keys of those that were read join');
  } else if (skipped.length > 0) {
    note('ranges that only these nodes hold are not listed: the status page names lost ranges');
  }
}

/** The ranges of the node; resolves when the time has passed after which they are read again. */
async function readBefore(
  target: ClusterTarget,
  nodeId: number | undefined,
  names: ReadonlyMap<string, string>,
  { output, stillAfter = 0 }: Options,
): Promise<ReadonlySet<number>> {
  if (nodeId === undefined) throw usageError('--still-after needs the id of a node');
  const found = new Set<number>();
  await readRanges(target, output, {
    nodeId,
    names,
    onReplica: ({ range_id: id }) => void found.add(id ?? 0),
  });
  await withProgress('waiting', output, () => target.sleep(stillAfter * 1000));
  return found;
}

/**
 * The most severe problem of a replica decides; `PROBLEM_ISSUES` begins with the worst. Of equal ones those of the system are
 * first: without them nothing works.
 */
function severityOf(replica: PrintedReplica): number {
  const worst = PROBLEM_NAMES.findIndex((name) => replica.problems?.includes(name));
  const severity = worst === -1 ? 0 : PROBLEM_NAMES.length - worst;
  const table = replica.table ?? String(replica.table_id ?? '');
  return severity + (isSystemRange({ rangeId: replica.range_id ?? 0, table }) ? 0.5 : 0);
}

/** The leaseholders with most queries, the hottest first. */
function takeHottest(replicas: readonly PrintedReplica[], count: number): PrintedReplica[] {
  return replicas
    .toSorted((a, b) => (b.stats.queries_per_second ?? 0) - (a.stats.queries_per_second ?? 0))
    .slice(0, count);
}

/** Seconds between two looks of `--watch`. */
const WATCH_SECONDS = 2;

/** `range ID…`: single ranges as all live nodes know them. */
export function defineRange(command: Command, context: CommandContext): void {
  const parse = parseIds('It must be the id of a range, as listed by `ranges`.');
  const collect = (text: string, before: readonly number[] = []) => [...before, parse(text)];
  command
    .argument('<id...>', 'ids of ranges', collect)
    .option('--watch', `Repeat every ${WATCH_SECONDS} s until no problem is left.`);
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
  options: ListingOptions & { readonly watch?: true },
): Promise<number> {
  const names = await readTableNames(target);
  const rangeIds = [...new Set(ids)].toSorted((a, b) => a - b);
  for (;;) {
    const replicas: PrintedReplica[] = [];
    const missing = await readRanges(target, options.output, {
      rangeIds,
      names,
      onReplica: (replica) => replicas.push(replica),
    });
    const unread = [...missing.failed.keys(), ...missing.skipped].toSorted((a, b) => a - b);
    const descriptors = await readDescriptors(target, replicas);
    const reports = rangeIds.flatMap(
      (id) => toReport(id, replicas, { unread, ...missing }, descriptors.get(id)) ?? [],
    );
    if (options.output === 'json') await writeJson({ ranges: reports }, 'json');
    else {
      for (const report of reports) {
        const print = () => printReport(report, missing.live);
        await (options.output === 'ndjson' ? writeJson(report, 'ndjson') : print());
      }
    }
    noteMissing(missing);
    const unknown = rangeIds.filter((id) => !reports.some(({ range_id }) => range_id === id));
    if (unknown.length > 0) {
      note(`no live node reports range ${formatList(unknown)}: ${explainAbsence(missing)}`);
    }
    const hasProblem = reports.some(({ problems }) => (problems ?? []).length > 0);
    if (!options.watch || !(hasProblem || missing.failed.size > 0)) {
      const isKnown = unknown.length === 0 && missing.withoutProblems === 0;
      return isKnown ? EXIT.ok : EXIT.failed;
    }
    await target.sleep(WATCH_SECONDS * 1000);
  }
}

/** What may have become of ranges that no node reported. */
function explainAbsence({ failed, skipped }: MissingNodes): string {
  const unread = [...failed.keys()];
  if (unread.length + skipped.length === 0) return 'it was merged or dropped, or never existed';
  const hold = plural(unread.length, 'holds', 'hold');
  const are = plural(skipped.length, 'is', 'are');
  return [
    'merged or dropped',
    ...(unread.length === 0
      ? []
      : [`only ${formatNodes(unread)} ${hold} it, which could not be read`]),
    ...(skipped.length === 0
      ? []
      : [
          `lost with ${formatNodes(skipped)}, which ${are} not live: the status page names the nodes that held a lost range`,
        ]),
  ].join(', or ');
}

/** All that the nodes know of one range, as JSON. */
interface RangeReport {
  readonly range_id: number;
  readonly table_id: number | string | null;
  readonly index_id: number | null;
  /** The replicas that are reported, by node. */
  readonly replicas: readonly PrintedReplica[];
  /** All replicas, those on nodes that are not live included; null where it could not be read. */
  readonly descriptor: DescriptorReport | null;
  /** Nodes that were not read, whose replicas are missing. */
  readonly unread_nodes: readonly number[];
  /** Problems of any replica, each with its meaning and the next step; null where none is known, and not all could be read. */
  readonly problems: readonly ReportedProblem[] | null;
}

interface ReportedProblem {
  readonly name: string;
  readonly meaning: string;
  readonly next: string;
}

/** The report on a range; undefined when no node that was read holds it. */
function toReport(
  rangeId: number,
  all: readonly PrintedReplica[],
  {
    unread,
    skipped,
    live,
  }: Pick<MissingNodes, 'skipped' | 'live'> & { readonly unread: readonly number[] },
  descriptor: DescriptorReport | undefined,
): RangeReport | undefined {
  const replicas = all
    .filter(({ range_id }) => range_id === rangeId)
    .toSorted(
      (a, b) => (a.node_id ?? 0) - (b.node_id ?? 0) || (a.store_id ?? 0) - (b.store_id ?? 0),
    );
  const [first] = replicas;
  if (first === undefined) return undefined;
  const names = [...new Set(replicas.flatMap(({ problems }) => problems ?? []))];
  const claimants = claimantsOf(replicas, descriptor, live);
  const areRead = replicas.every((replica) => replica.problems !== null);
  const problems = names.map((name): ReportedProblem => {
    const { what = '', next = '' } = PROBLEM_ISSUES[name] ?? PROBLEM_ISSUES['other'] ?? {};
    if (name === 'unavailable' && claimants.length > 0) {
      const report = plural(claimants.length, 'reports', 'report');
      return {
        name,
        meaning: `only ${formatNodes(claimants)} ${report} it: the holder of the lease lists the range without that, and all of its replicas are live`,
        next: `Check whether ${formatNodes(claimants)} ${plural(claimants.length, 'reaches', 'reach')} the others: \`crdb-exporter network\`.`,
      };
    }
    // Without a quorum there is no leader, and nothing is rebuilt: their own steps would be wrong.
    const isEffect =
      claimants.length === 0 &&
      names.includes('unavailable') &&
      (STUCK.includes(name) || name === 'underreplicated');
    const advice = adviseProblem(name, next, skipped.length > 0);
    return { name, meaning: what, next: isEffect ? 'It follows from the lost quorum.' : advice };
  });
  return {
    range_id: rangeId,
    table_id: first.table_id,
    index_id: first.index_id,
    replicas,
    descriptor: descriptor ?? null,
    unread_nodes: unread,
    problems: problems.length > 0 || areRead ? problems : null,
  };
}

async function printReport(report: RangeReport, live: ReadonlySet<number>): Promise<void> {
  const { range_id, table_id, index_id, replicas } = report;
  const [first] = replicas;
  const last = first?.last_table ?? first?.last_table_id ?? null;
  const table = first?.table ?? String(table_id);
  const tables =
    last === null ? `table ${table}` : formatTables({ table, lastTable: String(last) });
  const system = systemRangeName({ rangeId: range_id, table: '' }) ?? 'outside of tables';
  const where = table_id === null ? system : `${tables}, index ${index_id ?? '-'}`;
  await writeLines(`Range ${range_id}: ${where}`);
  const { descriptor } = report;
  if (descriptor !== null) await writeLines(describeReplicas(descriptor, live), '');
  await printTable(
    COLUMNS,
    replicas.map((replica) => toRow(COLUMNS, replica)),
  );
  const holder = replicas.find(({ is_leaseholder }) => is_leaseholder) ?? first;
  await writeLines('', 'Leases, the last one first:');
  await printTable(
    textColumns('SINCE', 'NODE', 'STORE', 'SEQUENCE'),
    (holder?.lease_history ?? []).toReversed().map(({ start, replica, sequence }) => {
      return [startOf(start), ...[replica.node_id, replica.store_id, sequence].map(String)];
    }),
  );
  await writeLines('', ...describeProblems(report), '');
}

function describeProblems({ problems, unread_nodes: unread }: RangeReport): readonly string[] {
  if (problems === null) return ['Whether it has a problem is not known.'];
  if (problems.length > 0) {
    return problems.map(({ name, meaning, next }) => `${name}: ${meaning}. ${next}`);
  }
  if (unread.length === 0) return ['No replica reports a problem.'];
  return [`No replica that was read reports a problem; not read: ${formatNodes(unread)}.`];
}

const RAFT: Column<PrintedReplica> = {
  title: 'RAFT',
  value: ({ ticking, quiescent }) => (ticking ? 'ticking' : quiescent ? 'quiescent' : null),
};
const TITLES = ['NODE', 'STORE', 'LEASE', 'QPS', 'WRITES/S', 'CPU', 'PROBLEMS'];
const COLUMNS = REPLICA_COLUMNS.filter(({ title }) => TITLES.includes(title)).toSpliced(3, 0, RAFT);
