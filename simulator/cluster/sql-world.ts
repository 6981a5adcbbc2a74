import type { SqlResult } from '../options.ts';
import { recordOf } from '../world/records.ts';
import { isVoter } from '../world/replica-types.ts';
import { isInternal, sessionsOfNode } from '../world/session-list.ts';
import { listedNodes, type WorldState } from '../world/state.ts';

const UP: readonly string[] = ['live', 'draining', 'decommissioning'];

/** What SQL says of the world itself: nodes, ranges, sessions, users, tables and changefeeds. */
export function createWorldResults(state: WorldState): readonly SqlResult[] {
  const nodes = listedNodes(state);
  const sessions = nodes
    .flatMap(({ id }) => sessionsOfNode(state, id))
    .filter((session) => session.endMs === undefined && !isInternal(session));
  const changefeeds = nodes
    .filter(({ liveness }) => UP.includes(liveness))
    .map((node) => recordOf(state, node).metrics['jobs.changefeed.currently_running'] ?? 0);
  const byReplicas = Map.groupBy(state.ranges.values(), ({ replicas }) => replicas.length);
  const byDatabase = Map.groupBy(state.tables, ({ database }) => database);
  return [
    {
      contains: 'FROM crdb_internal.gossip_nodes',
      columns: [
        ['node_id', 'INT8'],
        ['is_live', 'BOOL'],
      ],
      rows: nodes.map(({ id, liveness }) => [id, UP.includes(liveness)]),
    },
    {
      contains: 'AS ranges FROM crdb_internal.ranges_no_leases GROUP BY',
      columns: [
        ['replicas', 'INT8'],
        ['ranges', 'INT8'],
      ],
      rows: Array.from(byReplicas, ([replicas, ranges]) => [replicas, ranges.length]),
    },
    {
      contains: 'AS voters FROM crdb_internal.ranges_no_leases WHERE range_id <= 20',
      columns: [
        ['range_id', 'INT8'],
        ['voters', 'INT8'],
      ],
      rows: [...state.ranges.values()]
        .filter(({ id }) => id <= 20)
        .map(({ id, replicas }) => [id, replicas.filter(isVoter).length]),
    },
    counted('AS ranges FROM crdb_internal.ranges_no_leases', 'ranges', state.ranges.size),
    counted('FROM crdb_internal.cluster_sessions', 'sessions', sessions.length),
    counted('FROM system.users', 'users', state.accounts.length),
    {
      contains: 'AS tables FROM system.table_metadata GROUP BY',
      columns: [
        ['db_name', 'STRING'],
        ['tables', 'INT8'],
      ],
      rows: Array.from(byDatabase, ([database, tables]) => [database, tables.length]),
    },
    counted(
      'FROM [SHOW CHANGEFEED JOBS]',
      'jobs',
      changefeeds.reduce((sum, running) => sum + running, 0),
    ),
  ];
}

function counted(contains: string, column: string, count: number): SqlResult {
  return { contains, columns: [[column, 'INT8']], rows: [[count]] };
}
