import { formatCount } from '#base';
import { diagnose, RequestError } from '#cockroach';
import { type KnownTable, readTable, tables } from '#collectors';
import type { ClusterTarget } from './cluster-target.ts';
import { readDescriptors } from './described-ranges.ts';
import { type ListingOptions, openListing } from './output/listing.ts';
import { note, withProgress } from './output/standard-output.ts';
import { type Column, numberColumn } from './output/table.ts';
import type { PrintedReplica } from './printed-replica.ts';
import {
  announceScan,
  listFailures,
  nameTables,
  noteMissing,
  readRanges,
  readTables,
} from './read-replicas.ts';

/** Replicas that vote, also after the change that is on its way. */
const VOTERS = ['voter', 'incoming voter'];

type KnownReplica = Pick<
  PrintedReplica,
  'range_id' | 'node_id' | 'table_id' | 'table' | 'is_leaseholder'
>;

/** A range with fewer voters than the zone of its table wants, as JSON. */
interface FewVoters {
  readonly range_id: number;
  readonly table_id: number | string | null;
  readonly table: string | null;
  readonly voters: number;
  readonly wanted_voters: number;
  readonly voter_nodes: readonly number[];
}

const COLUMNS: readonly Column<FewVoters>[] = [
  { title: 'RANGE', value: ({ range_id: id }) => id, format: String },
  { title: 'TABLE', value: ({ table }) => table },
  numberColumn('VOTERS', formatCount, ({ voters }) => voters),
  numberColumn('WANTED', formatCount, ({ wanted_voters: wanted }) => wanted),
  { title: 'NODES', value: ({ voter_nodes: nodes }) => nodes.join(', ') },
];

/**
 * Prints the ranges that have fewer voters than the zone of their table wants, whatever the servers report: a server wants
 * fewer where it has too few nodes. Reads all ranges, all their descriptors, and the zone of each table.
 */
export async function printFewVoters(
  target: ClusterTarget,
  options: ListingOptions,
): Promise<void> {
  const listing = openListing<FewVoters>(options, { member: 'ranges', columns: COLUMNS });
  const known = await readTables(target);
  const names = nameTables(known);
  await announceScan(target, { descriptors: true, zones: known.size });
  // Of each range the replica that holds its lease, else one of the others.
  const ranges = new Map<number, KnownReplica>();
  const missing = await readRanges(target, options.output, {
    names,
    onReplica({ range_id: id = 0, node_id, table_id, table, is_leaseholder }) {
      if (is_leaseholder || !ranges.has(id))
        ranges.set(id, { range_id: id, node_id, table_id, table, is_leaseholder });
    },
  });
  const wanted = await readWantedVoters(target, options.output, known, [...ranges.values()]);
  const comparable = [...ranges.values()].filter(({ table_id: id }) => wanted.has(String(id)));
  const descriptors = await withProgress('descriptors', options.output, () =>
    readDescriptors(target, comparable),
  );
  const found = comparable.flatMap(({ range_id: id = 0, table_id, table }): FewVoters[] => {
    const voters = descriptors.get(id)?.replicas.filter(({ type }) => VOTERS.includes(type));
    const wanted_voters = wanted.get(String(table_id)) ?? 0;
    if (voters === undefined || voters.length >= wanted_voters) return [];
    const voter_nodes = voters.map(({ node_id }) => node_id);
    return [{ range_id: id, table_id, table, voters: voters.length, wanted_voters, voter_nodes }];
  });
  for (const range of found.toSorted(byMissing)) listing.add(range);
  const compared = comparable.filter(({ range_id: id = 0 }) => descriptors.has(id)).length;
  const not_known = ranges.size - compared;
  await listing.close({ compared, not_known, ...listFailures(missing) });
  note(
    `compared ${formatCount(compared)} ranges with the zones of their tables; not known: ${formatCount(not_known)}, outside of tables, or whose table inherits its number of replicas`,
  );
  noteMissing(missing);
}

/** The range that lacks most is first. */
function byMissing(a: FewVoters, b: FewVoters): number {
  return b.wanted_voters - b.voters - (a.wanted_voters - a.voters) || a.range_id - b.range_id;
}

/**
 * The voters that the zones of these ranges' tables want, by table id; without the tables that do not say it themselves. The
 * server runs several statements for each, so that the requests take no more than `max_duty` of the collector `tables`.
 */
async function readWantedVoters(
  { api, stats, config, sleep }: ClusterTarget,
  output: string,
  known: ReadonlyMap<string, KnownTable>,
  ranges: readonly Pick<PrintedReplica, 'table_id'>[],
): Promise<ReadonlyMap<string, number>> {
  const ids = new Set(ranges.map(({ table_id: id }) => String(id)));
  const wanted = new Map<string, number>();
  const failures = new Set<string>();
  const maxDuty = config.collectors[tables.name]?.max_duty ?? tables.maxDuty;
  await withProgress('zones', output, async (_advance, step) => {
    for (const [index, id] of [...ids].entries()) {
      step(index, ids.size);
      const table = known.get(id);
      if (table === undefined) continue;
      const startedMs = performance.now();
      try {
        const name = `${table.schema}.${table.table}`;
        const { zone_config: zone } = await readTable(api, stats, table.database, name);
        const voters = zone.num_voters || zone.num_replicas;
        if (voters) wanted.set(id, voters);
      } catch (error) {
        if (!(error instanceof RequestError) || stats.signal.aborted) throw error;
        const { cause, remedy } = diagnose(error, tables, config, { hasWorked: true });
        failures.add(`the zones of some tables are not known: ${cause}; ${remedy}`);
      }
      const tookMs = performance.now() - startedMs;
      await sleep(tookMs / maxDuty - tookMs);
    }
  });
  for (const text of failures) note(text);
  return wanted;
}
