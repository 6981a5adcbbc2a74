import type { Command } from 'commander';
import { formatAge } from '#base';
import { network, nodes, readConnections } from '#collectors';
import { describeUnheard, findUnreachable } from '#status';
import { addClusterAction, type ClusterTarget, collectOnce } from '../cluster-target.ts';
import { addExamples, type CommandContext, CommandError } from '../command.ts';
import { addListingOptions, type ListingOptions, openListing } from '../output/listing.ts';
import { note, withProgress } from '../output/standard-output.ts';
import { type Column, numberColumn } from '../output/table.ts';

/** A connection as it is printed. */
interface PrintedConnection {
  readonly node_id: number;
  readonly peer_node_id: number;
  readonly state: 'error' | 'established';
  readonly round_trip_seconds: number | null;
  readonly error: string | null;
}

const COLUMNS: readonly Column<PrintedConnection>[] = [
  { title: 'NODE', value: (connection) => connection.node_id, format: String },
  { title: 'PEER', value: (connection) => connection.peer_node_id, format: String },
  {
    title: 'STATE',
    value: (connection) => connection.state,
    style: (state) => (state === 'error' ? 'red' : 'green'),
  },
  numberColumn('ROUND TRIP', formatAge, (connection) => connection.round_trip_seconds),
  { title: 'ERROR', value: (connection) => connection.error, shrinks: true },
];

/** The collector, with the texts of the servers. */
const networkWithErrors: typeof network = {
  ...network,
  collect: (api, context) => readConnections(api, context, { showsErrors: true }),
};

/** `network`: GET /_status/connectivity, and GET /nodes/ before and after it. */
export function define(command: Command, context: CommandContext): void {
  addListingOptions(command, COLUMNS);
  addClusterAction(command, context, network, printNetwork);
  addExamples(
    command,
    'network --config.file=exporter.yml',
    'network --output ndjson --config.file=exporter.yml | jq .error',
  );
}

async function printNetwork(target: ClusterTarget, options: ListingOptions): Promise<void> {
  const listing = openListing<PrintedConnection>(options, {
    member: 'connections',
    columns: COLUMNS,
    required: ['PEER', 'STATE', 'ERROR'],
    urgencyOf: ({ round_trip_seconds: seconds }) => seconds ?? Infinity,
  });
  const result = await withProgress('connections', options.output, () =>
    collectOnce(networkWithErrors, target),
  );
  const { noData, unaskedNodes, unreachable, slowest } = result;
  if (noData !== undefined) throw new CommandError(noData);
  for (const { nodeId, peerId, error = null } of unreachable) {
    const pair = { node_id: nodeId, peer_node_id: peerId };
    listing.add({ ...pair, state: 'error', round_trip_seconds: null, error });
  }
  for (const { nodeId, peerId, seconds } of slowest) {
    const pair = { node_id: nodeId, peer_node_id: peerId };
    listing.add({ ...pair, state: 'established', round_trip_seconds: seconds, error: null });
  }
  await listing.close({ unasked_nodes: unaskedNodes });
  // A node may have come up while the others were asked, or be in a state that is not known.
  const { nodes: listed } = await collectOnce(nodes, target);
  const found = findUnreachable(result, listed);
  if (found.answer === 'unreachable' && unaskedNodes.length > 0)
    note(describeUnheard(unaskedNodes, result));
  if ('reason' in found) note(found.reason);
  if (found.answer === 'reached') note('all live nodes reach each other');
}
