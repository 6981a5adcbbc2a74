import { defineCollector } from '../collector.ts';
import { assignLocalNode, assignNodes } from './assignment.ts';
import { MAX_REMEMBERED } from './lists.ts';
import { families } from './range-families.ts';
import { logFailures, readNode, readNodes, SCAN, scanFailure } from './read-nodes.ts';
import { tableLabels } from './replica.ts';
import { writeSamples } from './samples.ts';
import type { RangesResult } from './scan-result.ts';
import { RangesState } from './scan-state.ts';
import { RangeScan } from './scan.ts';

const OPTIONS = {
  page_limit: {
    kind: 'integer',
    default: 0,
    min: 0,
    help: 'Ranges per request; 0 reads each node in one response. For every request the database node lists all its ranges, its stores in another order each time, so pages of a node with several stores do not fit together, and the node fails.',
  },
  node_timeout: {
    kind: 'duration',
    default: 120,
    min: 0.1,
    help: 'Maximum time to the headers of the list of one node, which it sends after all of its work; in place of cluster_api.timeout, and within the timeout of the poll.',
  },
  concurrency: {
    kind: 'integer',
    default: 2,
    min: 1,
    help: 'Nodes that are read concurrently.',
  },
  route: {
    kind: 'enum',
    values: ['auto', 'gateway', 'proxy', 'local'],
    default: 'auto',
    help: 'How a node is queried: through the configured URLs in turn (gateway), at the node itself through one of them (proxy), by proxy where the servers support it (auto), or only the node of the one URL (local), for an exporter beside each node.',
  },
  descriptor_max_age: {
    kind: 'duration',
    default: 1800,
    min: 0,
    help: 'Age at which the descriptor of a range proves nothing any more; it is read again at half of it. With 0 none is read, and which nodes may stop is not known.',
  },
  hot_ranges: {
    kind: 'integer',
    default: 20,
    min: 0,
    max: 1_000,
    help: 'Number of hottest ranges to list, by queries and again by CPU.',
  },
  problem_ranges: {
    kind: 'integer',
    default: 20,
    min: 0,
    max: MAX_REMEMBERED,
    help: 'Number of ranges to list for each problem, the oldest first.',
  },
  top_tables: {
    kind: 'integer',
    default: 20,
    min: 0,
    max: 1_000,
    help: 'Number of tables to show by queries, by CPU, by ranges and by problems; the rest is summed up.',
  },
} as const;

/** GET /nodes/{node_id}/ranges/ of every node: replicas, leases, problems and load, and the ranges behind them. */
export const ranges = defineCollector({
  name: 'ranges',
  api: 'cluster',
  help: 'Replicas, leases, problems and load of the ranges, node by node.',
  request: 'GET /nodes/{node_id}/ranges/',
  privilege: 'GRANT SYSTEM VIEWCLUSTERMETADATA',
  load: {
    requests:
      '`/nodes/`, then `/nodes/local/ranges/?remote_node_id=N` (or `/nodes/N/ranges/`) once for each node that is up; `/nodes/` again where live voters of a range are no majority',
    cost: 'Each node copies the state of all its replicas: about 2 kB of JSON per replica.',
  },
  intervalSeconds: 60,
  timeoutSeconds: 300,
  maxDuty: 0.1,
  enabledByDefault: true,
  families: Object.values(families),
  options: OPTIONS,

  scope: 'node',
  inProbe: false,
  isLocal: ({ route }) => route === 'local',

  createState: () => new RangesState(),

  async collect(api, context): Promise<RangesResult> {
    const { options, state, shard } = context;
    const assignment =
      options.route === 'local'
        ? assignLocalNode(state.localNodeId)
        : await assignNodes(api, context);
    const scan = new RangeScan(context, assignment);
    const { toScan, toSkip, isAssigned } = assignment;
    const reading = await readNodes(context, toScan, async (nodeId, firstUrl) =>
      scan.commit(await readNode({ api, context, nodeId, firstUrl, isAssigned }, SCAN)),
    );
    if (reading.timedOut) context.limits.add('duration');
    logFailures(context, reading);
    const { nodes, failed } = reading;
    const scanned = scan.describe(nodes);
    const { unreadable } = assignment;
    const result = { shard, scanned, failed, unreadable, skipped: toSkip.length };
    const failure = assignment.failure ?? scanFailure(reading);
    if (failure !== undefined) {
      await scan.abandon(reading);
      return { ...result, failure };
    }
    const summary = await scan.end(api, scanned, failed);
    const listed = [summary.hot, ...Array.from(summary.problems.values(), (each) => each.listed)];
    const listedIds = listed.flat().map(({ tableIndex }) => tableLabels(tableIndex).table_id);
    return { ...result, summary, tableIds: [...listedIds, ...summary.tables.ids] };
  },

  workBetweenPolls: async (_api, { state, signal }) => state.verification?.readDue(signal),

  samples: writeSamples,
});
