import type { Change } from './exposition.ts';
import { becomes, type Fault, isFault, PAIR, rises, START } from './faults.ts';

const GIB = 2 ** 30;

/** A counter that rises by this much a minute, until the fault starts. */
function stops(perMinute: number): Change {
  return (minute, value) => value - Math.max(0, minute - START) * perMinute;
}

/** One figure over its limit, for the lab: the cases of its alert say the same with fewer series. */
export const FIGURES: readonly Fault[] = [
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
