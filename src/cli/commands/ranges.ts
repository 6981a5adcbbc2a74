import type { Command } from 'commander';
import { ranges } from '../../collectors/ranges/collector.ts';
import { PROBLEM_ISSUES } from '../../findings/range-problems.ts';
import type { ClusterTarget } from '../clients.ts';
import { addClusterAction } from '../cluster-target.ts';
import { addExamples, type CommandContext } from '../command.ts';
import { addListingOptions, type ListingOptions, openListing } from '../output/listing.ts';
import {
  noteMissingNodes,
  parseIds,
  readRanges,
  readTableNames,
  type Replica,
  REPLICA_COLUMNS,
  toReplica,
} from '../replicas.ts';

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
    );
  addListingOptions(command, REPLICA_COLUMNS);
  addClusterAction(command, context, ranges, printReplicas);
  addExamples(
    command,
    'ranges --problems --config.file=exporter.yml',
    'ranges --hot 20 --config.file=exporter.yml',
    'ranges 3 --output ndjson --config.file=exporter.yml | jq .range_id',
  );
}

interface Options extends ListingOptions {
  readonly problems?: true;
  readonly hot?: number;
}

async function printReplicas(
  target: ClusterTarget,
  nodeId: number | undefined,
  options: Options,
): Promise<void> {
  const { output, hot, problems } = options;
  const listing = openListing<Replica>(options, {
    member: 'ranges',
    columns: REPLICA_COLUMNS,
    required: [...(problems ? ['PROBLEMS'] : []), ...(hot === undefined ? [] : ['QPS'])],
    urgencyOf: problems ? severityOf : undefined,
  });
  const names = await readTableNames(target);
  let hottest: Replica[] = [];
  const missing = await readRanges(target, output, {
    nodeId,
    onRange(range) {
      const replica = toReplica(range, names);
      if (problems && replica.problems.length === 0) return;
      if (hot === undefined) return listing.add(replica);
      // Followers repeat the writes of the leaseholder and know nothing of its reads.
      if (replica.is_leaseholder) hottest.push(replica);
      if (hottest.length > HOT_SLACK * hot) hottest = takeHottest(hottest, hot);
    },
    onPageEnd: () => listing.drained(),
  });
  for (const replica of takeHottest(hottest, hot ?? 0)) listing.add(replica);
  await listing.close({
    skipped_nodes: missing.skipped,
    failed_nodes: Array.from(missing.failed, ([node_id, { reason, cause: message }]) => {
      return { node_id, reason, message };
    }),
  });
  noteMissingNodes(missing);
}

/** The most severe problem of a replica decides; `PROBLEM_ISSUES` begins with the worst. */
function severityOf(replica: Replica): number {
  const worst = PROBLEM_NAMES.findIndex((name) => replica.problems.includes(name));
  return worst === -1 ? 0 : PROBLEM_NAMES.length - worst;
}

/** The leaseholders with most queries, the hottest first. */
function takeHottest(replicas: readonly Replica[], count: number): Replica[] {
  return replicas.toSorted((a, b) => queriesOf(b) - queriesOf(a)).slice(0, count);
}

function queriesOf({ stats }: Replica): number {
  return stats.queries_per_second ?? 0;
}
