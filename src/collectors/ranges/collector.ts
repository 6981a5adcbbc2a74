import { defineCollector } from '../collector.ts';
import { assignLocalNode, assignNodes } from './assignment.ts';
import { families } from './range-families.ts';
import { replicaShape } from './replica.ts';
import { writeSamples } from './samples.ts';
import { logFailures, readNodeRanges, scanNodes, scanFailure } from './scan-nodes.ts';
import type { RangesResult } from './scan-result.ts';
import { OPTIONS, RangesState } from './scan-state.ts';
import { RangeScan } from './scan.ts';
import { tableLabels } from './table-index.ts';

/** GET /nodes/{node_id}/ranges/ of every node: replicas, leases, problems and load, and the ranges behind them. */
export const ranges = defineCollector({
  name: 'ranges',
  api: 'cluster',
  help: 'Replicas, leases, problems and load of the ranges, node by node.',
  request: 'GET /nodes/{node_id}/ranges/',
  privilege: 'GRANT SYSTEM VIEWCLUSTERMETADATA',
  load: {
    requests:
      '`/nodes/`, then `/nodes/local/ranges/?remote_node_id=N` (or `/nodes/N/ranges/`) once for each node that is up; `/nodes/` again where live voters of a range are no majority, or one of its nodes was not listed',
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
    const { options, state } = context;
    const assignment =
      options.route === 'local'
        ? assignLocalNode(state.localNodeId)
        : await assignNodes(api, context);
    const scan = new RangeScan(context, assignment);
    const { toScan, toSkip, isAssigned } = assignment;
    const reading = await scanNodes(context, toScan, async (nodeId, firstUrl) =>
      scan.commit(
        await readNodeRanges(
          { api, context, nodeId, firstUrl, isAssigned },
          { shape: replicaShape },
        ),
      ),
    );
    if (reading.timedOut) context.limits.add('duration');
    logFailures(context, reading);
    const { nodes, failed } = reading;
    const scanned = scan.describe(nodes);
    const { unreadable } = assignment;
    const result = { scanned, failed, unreadable, skipped: toSkip.length };
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
