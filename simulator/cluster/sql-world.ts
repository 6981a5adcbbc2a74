import type { SqlResult } from '../options.ts';
import { isBackupRunning } from '../world/job-metrics.ts';
import { isVoter } from '../world/replica-types.ts';
import { isInternal, sessionsOfNode } from '../world/session-list.ts';
import { listedNodes, type WorldState } from '../world/state.ts';
import { jobsOf } from './jobs.ts';

const UP: readonly string[] = ['live', 'draining', 'decommissioning'];

/** What SQL says of the world itself: nodes, ranges, sessions, users, tables and jobs. */
export function createWorldResults(state: WorldState): readonly SqlResult[] {
  const nodes = listedNodes(state);
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
      contains: 'FROM crdb_internal.kv_store_status',
      columns: [
        ['replicas', 'INT8'],
        ['ranges', 'INT8'],
      ],
      // Ranges and sessions are counted for the statement about them alone: there may be very many.
      get rows() {
        return countByReplicas(state);
      },
    },
    {
      contains: 'AS voters FROM crdb_internal.ranges_no_leases WHERE range_id <= 20',
      columns: [
        ['range_id', 'INT8'],
        ['voters', 'INT8'],
      ],
      get rows() {
        const ranges = [...state.ranges.values()].filter(({ id }) => id <= 20);
        return ranges.map(({ id, replicas }) => [id, replicas.filter(isVoter).length]);
      },
    },
    counted('AS ranges FROM crdb_internal.ranges_no_leases', 'ranges', state.ranges.size),
    {
      contains: 'FROM crdb_internal.cluster_sessions',
      columns: [['sessions', 'INT8']],
      get rows() {
        return [[countSessions(state)]];
      },
    },
    counted('FROM system.users', 'users', state.accounts.length),
    {
      contains: 'AS tables FROM system.table_metadata GROUP BY',
      columns: [
        ['db_name', 'STRING'],
        ['tables', 'INT8'],
      ],
      rows: Array.from(byDatabase, ([database, tables]) => [database, tables.length]),
    },
    countedJobs(state),
  ];
}

/** The ranges by how many of their replicas are on nodes that are up. */
function countByReplicas(state: WorldState): SqlResult['rows'] {
  const up = new Set(
    listedNodes(state).flatMap(({ id, liveness }) => (UP.includes(liveness) ? id : [])),
  );
  const byReplicas = Map.groupBy(
    state.ranges.values(),
    ({ replicas }) => replicas.filter(({ nodeId }) => up.has(nodeId)).length,
  );
  return Array.from(byReplicas, ([replicas, { length }]) => [replicas, length]);
}

/** The open sessions of applications. */
function countSessions(state: WorldState): number {
  return listedNodes(state)
    .flatMap(({ id }) => sessionsOfNode(state, id))
    .filter((session) => session.endMs === undefined && !isInternal(session)).length;
}

function countedJobs(state: WorldState): SqlResult {
  const listed = jobsOf(state).filter(({ status }) => ['running', 'paused'].includes(status));
  const jobs = Map.groupBy(
    [
      ...listed.map(({ type, status }) => `${type.toLowerCase().replaceAll(' ', '_')} ${status}`),
      ...(isBackupRunning(state, state.now()) ? ['backup running'] : []),
    ],
    (name) => name,
  );
  return {
    contains: "FROM [SHOW JOBS] WHERE status IN ('running', 'reverting', 'paused')",
    columns: [
      ['job_type', 'STRING'],
      ['state', 'STRING'],
      ['jobs', 'INT8'],
    ],
    rows: Array.from(jobs, ([name, { length }]) => [...name.split(' '), length]),
  };
}

function counted(contains: string, column: string, count: number): SqlResult {
  return { contains, columns: [[column, 'INT8']], rows: [[count]] };
}
