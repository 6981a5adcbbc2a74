import type { ParsedSample } from '../../metrics/parse-exposition.ts';
import type { RuleCase } from '../cases.ts';
import { isPrometheus3 } from '../promtool.ts';
import { firingOf } from '../together.ts';
import { type Change, Exposed } from './exposition.ts';

/** The minute in which each fault begins. */
export const START = 12;
/** How long most faults are watched. */
const MINUTES = 32;
/** Faults that are watched for more than two hours are looked at every two minutes, in the lab: promtool takes as long as its evaluations are many. */
const LONG_MINUTES = 120;
export const LONG_STEP_MINUTES = 2;
const IS_PROMETHEUS_3 = isPrometheus3();

export interface Fault {
  readonly fault: string;
  /** The alerts of its cluster, and the minutes from the start of the fault to each of them, at most. */
  readonly fires: Readonly<Record<string, number>>;
  /** The one of them that fires a minute earlier in Prometheus 3, whose windows leave out the sample at their beginning. */
  readonly earlierIn3?: string;
  /** The name of its cluster, and what happens there. */
  readonly cluster: string;
  readonly play: (exposed: Exposed) => unknown;
  /** The exporters of the cluster, one unless stated: each costs promtool as much. */
  readonly instances?: readonly string[];
  readonly minutes?: number;
}

const GIB = 2 ** 30;
/** Of which the second one sees every change a minute later. */
export const PAIR = ['a', 'b'];

export function isFault(minute: number): boolean {
  return minute >= START;
}

/** A value from the start of the fault on. */
function becomes(value: number): (minute: number, before: number) => number {
  return (minute, before) => (isFault(minute) ? value : before);
}

/** A counter that rises by this much a minute from the start of the fault on. */
function rises(perMinute: number): (minute: number, before: number) => number {
  return (minute, before) => before + Math.max(0, minute - START) * perMinute;
}

/** Of a counter that rises so much a minute. */
function stops(perMinute: number): Change {
  return (minute, value) => value - Math.max(0, minute - START) * perMinute;
}

export const FAULTS: readonly Fault[] = [
  {
    fault: 'One of several exporters dies, the only one of its cluster',
    cluster: 'alone',
    fires: { 'CrdbExporterDown warning': 5, 'CrdbMonitoringBlind critical': 5 },
    play: (exposed) => exposed.exporterDown('a', isFault),
  },
  {
    fault: 'The liveness of a node flaps, one minute in three',
    cluster: 'flaps',
    instances: PAIR,
    fires: {
      'CrdbNodeLivenessFlapping warning': 7,
      'CrdbNodeLivenessFlapping critical': 16,
      'CrdbHeartbeatSlow warning': 5,
      'CrdbHeartbeatSlow critical': 5,
    },
    play: (exposed) => {
      exposed.status('3', (minute) =>
        isFault(minute) && minute % 3 === 0 ? 'unavailable' : 'live',
      );
      exposed.change(/heartbeat_p99/, { node_id: '3' }, becomes(4.5));
    },
  },
  {
    fault:
      'A leak of a third of a percent a minute, from 60 % to the end of the memory after two hours',
    cluster: 'leaks',
    minutes: 138,
    fires: {
      'CrdbNodeMemoryGrows warning': 66,
      'CrdbNodeMemoryHigh critical': 114,
    },
    play: (exposed) => {
      const killed = START + 120;
      exposed.change(
        /resident_memory/,
        { node_id: '2' },
        (minute) =>
          32 * GIB * (minute < killed ? 0.6 + (0.4 * Math.max(0, minute - START)) / 120 : 0.4),
      );
      exposed.change(/started_timestamp/, { node_id: '2' }, (minute, value) =>
        minute >= killed ? killed * 60 : value,
      );
    },
  },
  {
    fault: 'One exporter of a pair loses the API',
    cluster: 'half',
    instances: PAIR,
    fires: { 'CrdbExportersDisagree warning': 4 },
    play: (exposed) => {
      exposed.change(/^crdb_(?!up|exporter)/, { instance: 'half-b' }, (minute, value) =>
        isFault(minute - 2) ? undefined : value,
      );
      exposed.change(/^crdb_up$/, { instance: 'half-b' }, becomes(0));
      exposed.change(
        /last_success/,
        { instance: 'half-b' },
        (minute, value) => value - Math.max(0, minute - START) * 60,
      );
    },
  },
  {
    fault: 'Meta, liveness or system tables lose their quorum, and every request hangs',
    cluster: 'hangs',
    instances: PAIR,
    fires: { 'CrdbClusterApiDown critical': 4, 'CrdbDataStale warning': 5 },
    play: (exposed) => {
      // Before the data expires the nodes of the last poll are live.
      exposed.change(/^crdb_(?!up|exporter)/, {}, (minute, value) =>
        isFault(minute - 2) ? undefined : value,
      );
      exposed.change(/^crdb_up$/, {}, becomes(0));
      exposed.change(/^crdb_exporter_collector_success$/, {}, becomes(0));
      exposed.change(
        /last_success/,
        {},
        (minute, value) => value - Math.max(0, minute - START) * 60,
      );
      exposed.change(/poll_failures/, { reason: 'timeout' }, rises(2));
    },
  },
  {
    fault: 'One exporter of a pair sees three live nodes as dead',
    cluster: 'opposite',
    instances: PAIR,
    fires: {
      'CrdbExportersDisagree warning': 5,
      'CrdbMultipleNodesDown critical': 2,
      'CrdbNodeDead warning': 3,
    },
    play: (exposed) => {
      for (const node_id of ['1', '2', '3']) {
        exposed.change(
          /^crdb_node_liveness$/,
          { instance: 'opposite-b', node_id, status: 'live' },
          becomes(0),
        );
        exposed.change(
          /^crdb_node_liveness$/,
          { instance: 'opposite-b', node_id, status: 'dead' },
          becomes(1),
        );
      }
    },
  },
  {
    fault: 'The disk of a store is slow: syncs of 600 ms',
    cluster: 'slow',
    fires: { 'CrdbStoreDiskSlow warning': 10 },
    play: (exposed) => {
      exposed.change(/wal_fsync/, { store_id: '4' }, becomes(0.6));
      exposed.change(/disk_slow/, { store_id: '4' }, rises(3));
      exposed.change(/io_overload/, { store_id: '4' }, becomes(0.7));
    },
  },
  {
    fault: '90 % of the statements fail',
    cluster: 'fails',
    fires: { 'CrdbSqlFailing warning': 11, 'CrdbSqlFailing critical': 8 },
    play: (exposed) => exposed.change(/sql_failures/, {}, rises(5400)),
  },
  {
    fault: 'No statement runs',
    cluster: 'stops',
    instances: PAIR,
    fires: { 'CrdbSqlStopped critical': 11 },
    earlierIn3: 'CrdbSqlStopped critical',
    play: (exposed) => {
      exposed.change(/sql_queries/, {}, stops(6000));
      // Of each of the five kinds.
      exposed.change(/sql_statements_started/, {}, stops(1200));
    },
  },
  {
    fault: 'Partition between two regions, with a dead node in the third',
    cluster: 'parted',
    instances: PAIR,
    fires: { 'CrdbPartitionSuspected warning': 5, 'CrdbNodeDead warning': 2 - START },
    play: (exposed) => {
      exposed.status('6', () => 'dead');
      exposed.change(/network_unreachable_pairs/, {}, becomes(8));
    },
  },
  {
    fault: 'The same without lists of connections',
    cluster: 'parted-old',
    fires: { 'CrdbPartitionSuspected warning': 5, 'CrdbNodeDead warning': 2 - START },
    play: (exposed) => {
      exposed.status('6', () => 'dead');
      exposed.change(/crdb_network/, {}, () => undefined);
      for (const node_id of ['1', '2', '4', '5']) {
        exposed.change(/rpc_connections/, { node_id, state: 'unhealthy' }, becomes(6));
        exposed.change(/rpc_connections/, { node_id, state: 'healthy' }, becomes(6));
      }
    },
  },
  {
    fault: 'A node certificate has 6 days left, in a new Prometheus',
    cluster: 'expires',
    minutes: 64,
    fires: { 'CrdbCertificateExpiring warning': 60 - START },
    play: (exposed) =>
      exposed.change(/certificate_expiry/, { certificate: 'node' }, () => 6 * 86_400 - 1),
  },
  {
    fault: 'Backups stop, then nodes and exporters restart',
    cluster: 'unsaved',
    minutes: 46,
    fires: { 'CrdbBackupTooOld warning': 11 },
    play: (exposed) =>
      exposed.change(/backup_last_completed/, {}, (minute) =>
        minute < START ? -25.8 * 3600 : undefined,
      ),
  },
  {
    fault: 'One of two nodes of a region has 98 % of its leases',
    cluster: 'leases',
    minutes: 46,
    fires: { 'CrdbNodeHotspot warning': 30 },
    play: (exposed) => {
      exposed.change(/^crdb_range_leases$/, { node_id: '1' }, becomes(245));
      exposed.change(/^crdb_range_leases$/, { node_id: '4' }, becomes(5));
      exposed.change(/^crdb_node_cpu_ratio$/, { node_id: '1' }, becomes(0.75));
      exposed.change(/^crdb_node_cpu_ratio$/, { node_id: '4' }, becomes(0.2));
    },
  },
  {
    fault: '40 % of the sessions are idle in transaction, 180 requests wait',
    cluster: 'idle',
    fires: { 'CrdbIdleTransactions warning': 5 },
    play: (exposed) => {
      exposed.change(/^crdb_sessions$/, { state: 'idle_in_transaction' }, becomes(20));
      exposed.change(/^crdb_sessions$/, { state: 'idle' }, becomes(30));
      exposed.change(/lock_waiters/, {}, becomes(15));
    },
  },
  {
    fault: 'The last replicas of a decommissioning go to and fro',
    cluster: 'leaves',
    minutes: 150,
    fires: { 'CrdbNodeStuckLeaving warning': 134 },
    play: (exposed) => {
      exposed.status('6', (minute) => (isFault(minute) ? 'decommissioning' : 'live'));
      exposed.change(/^crdb_(range|store)_replicas$/, { node_id: '6' }, (minute, value) =>
        isFault(minute) ? (minute % 50 < 25 ? 4 : 3) : value,
      );
    },
  },
  {
    fault: 'A changefeed is more than 4 hours behind',
    cluster: 'behind',
    fires: { 'CrdbChangefeedLagging warning': 15, 'CrdbChangefeedLagging critical': 15 },
    play: (exposed) => exposed.change(/changefeed_max_behind/, { node_id: '1' }, becomes(15_000)),
  },
  {
    fault: "The clock of an exporter's host is 3 minutes ahead",
    cluster: 'ahead',
    instances: PAIR,
    fires: { 'CrdbExporterClockWrong info': 5 },
    play: (exposed) =>
      exposed.change(/last_(success|attempt)/, { instance: 'ahead-a' }, (minute, value) =>
        isFault(minute) ? value + 180 : value,
      ),
  },
  {
    fault: 'Two databases have one name',
    cluster: 'shared',
    instances: PAIR,
    fires: { 'CrdbClusterNameShared warning': 15 },
    play: (exposed) =>
      exposed.change(/started_timestamp/, { instance: 'shared-a' }, (minute, value) =>
        isFault(minute) ? value - 86_400 : value,
      ),
  },
];

/** Whether a fault is watched for more than two hours. */
export function isLong({ minutes = MINUTES }: Fault): boolean {
  return minutes > LONG_MINUTES;
}

/** The minutes from the start of the fault to each alert of its cluster, as a case of promtool. */
export function faultCase(samples: readonly ParsedSample[], fault: Fault): RuleCase {
  const { cluster, play, instances = ['a'], fires, earlierIn3, minutes = MINUTES } = fault;
  const earlier = IS_PROMETHEUS_3 ? earlierIn3 : undefined;
  const stepMinutes = isLong(fault) ? LONG_STEP_MINUTES : 1;
  const exposed = new Exposed(samples, cluster, minutes, { instances, stepMinutes });
  play(exposed);
  const firstFiring = `min_over_time(timestamp(${firingOf([cluster])})[${minutes}m:${stepMinutes}m])`;
  return {
    name: fault.fault,
    interval: `${stepMinutes}m`,
    input_series: exposed.write(),
    promql_expr_test: [
      {
        expr: `min by (alertname, severity) (${firstFiring}) / 60 - ${START}`,
        eval_time: `${minutes}m`,
        exp_samples: Object.entries(fires).map(([alert, value]) => {
          const [alertname, severity] = alert.split(' ');
          const labels = `{alertname="${alertname}",severity="${severity}"}`;
          return { labels, value: alert === earlier ? value - 1 : value };
        }),
      },
    ],
  };
}
