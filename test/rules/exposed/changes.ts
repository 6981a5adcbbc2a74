import { type Fault, isFault, PAIR, START } from './faults.ts';

/** What a rule remembers is replaced, removed or ends; and faults of one node, one application or the exporter itself. */
export const CHANGES: readonly Fault[] = [
  {
    fault: 'Both pods of the exporter are replaced while two nodes restart for a minute',
    cluster: 'replaced',
    minutes: 45,
    instances: ['a', 'b', 'c', 'd'],
    fires: {},
    play(exposed) {
      for (const instance of ['a', 'b']) exposed.exporterLives(instance, 0, START + 1);
      for (const instance of ['c', 'd']) exposed.exporterLives(instance, START + 1, 99);
      for (const id of ['4', '5']) {
        exposed.status(id, (minute) => (minute === START ? 'unavailable' : 'live'));
      }
      exposed.change(/^crdb_range_problem_ranges$/, { problem: 'unavailable' }, (minute, value) =>
        minute === START ? 30 : value,
      );
      exposed.change(/^crdb_ranges_without_live_replica$/, {}, (minute, value) =>
        minute === START ? 3 : value,
      );
    },
  },
  {
    fault:
      'The only pod of the exporter is replaced in a bad minute, by one that comes two minutes later',
    cluster: 'lone',
    minutes: 45,
    instances: ['a', 'lateless', 'c'],
    fires: {},
    play(exposed) {
      exposed.exporterLives('lateless', 0, 0);
      exposed.exporterLives('a', 0, START + 1).exporterLives('c', START + 3, 99);
      for (const id of ['4', '5']) {
        exposed.status(id, (minute) => (minute === START ? 'unavailable' : 'live'));
      }
      exposed.change(/^crdb_range_problem_ranges$/, { problem: 'unavailable' }, (minute, value) =>
        minute === START ? 30 : value,
      );
    },
  },
  {
    fault: 'The cluster is renamed in the configuration, and the pod replaced with it',
    cluster: 'renamed',
    minutes: 46,
    instances: ['a', 'lateless', 'c'],
    fires: {},
    play(exposed) {
      exposed.exporterLives('lateless', 0, 0);
      exposed.exporterLives('a', 0, START).exporterLives('c', START - 1, 99);
      const successor = { crdb_cluster: 'renamed', instance: 'renamed-c' };
      exposed.relabel(/^crdb_/, successor, { crdb_cluster: 'renamed-after' }, 0);
    },
  },
  {
    fault: 'An import of 25 minutes takes a store from 38 to 26 % free',
    cluster: 'imports',
    minutes: 460,
    fires: {},
    play: (exposed) => fill(exposed, 370, 25, 0.38, 0.26),
  },
  {
    fault: 'A store loses 1.2 % of its disk a minute, from 60 %',
    cluster: 'fills',
    minutes: 85,
    fires: { 'CrdbStoreDiskFillsSoon critical': 53, 'CrdbStoreDiskLow critical': 62 },
    earlierIn3: 'CrdbStoreDiskLow critical',
    play: (exposed) => fill(exposed, 30, 50, 0.6, 0),
  },
  {
    fault: 'The exporter is killed every five minutes',
    cluster: 'killed',
    fires: { 'CrdbExporterUnstable warning': 9 },
    play(exposed) {
      exposed.exporterDown('a', (minute) => isFault(minute) && minute % 5 === 0);
      exposed.change(/^process_start/, {}, (minute, value) =>
        isFault(minute) ? Math.floor(minute / 5) * 300 : value,
      );
    },
  },
  {
    fault: 'Two of three scrapes fail',
    cluster: 'scrapes',
    fires: { 'CrdbExporterUnstable warning': 6 },
    play: (exposed) => exposed.exporterDown('a', (minute) => isFault(minute) && minute % 3 !== 0),
  },
  {
    fault: 'Of many nodes one fails 95 % of its statements',
    cluster: 'one-fails',
    fires: { 'CrdbNodeSqlFailing warning': 13 },
    play(exposed) {
      busy(exposed);
      exposed.change(
        /sql_failures/,
        { node_id: '3' },
        (minute, value) => value + Math.max(0, minute - START) * 5700,
      );
    },
  },
  {
    fault: 'Of many nodes one accepts connections and runs nothing',
    cluster: 'one-stops',
    instances: PAIR,
    minutes: 90,
    fires: { 'CrdbNodeSqlStopped warning': 16 },
    earlierIn3: 'CrdbNodeSqlStopped warning',
    play(exposed) {
      busy(exposed);
      for (const [names, perMinute] of [
        [/sql_queries/, 6000],
        [/sql_statements_started/, 1200],
      ] as const) {
        exposed.change(
          names,
          { node_id: '3' },
          (minute, value) => value - Math.max(0, minute - START) * perMinute,
        );
      }
    },
  },
  {
    fault: 'A leak of connections: 350 an hour for 6 hours, from 100',
    cluster: 'leak',
    minutes: 430,
    fires: { 'CrdbSessionLeak warning': 84 },
    play(exposed) {
      exposed.change(
        /^crdb_application_sessions$/,
        { state: 'idle' },
        (minute) => 100 + leaked(minute),
      );
      exposed.change(/^crdb_sessions$/, { state: 'idle' }, (minute) => (100 + leaked(minute)) / 6);
    },
  },
  {
    fault: 'Of two nodes of a region one is new and has no leases for an hour, on a quiet day',
    cluster: 'joins',
    minutes: 100,
    fires: {},
    play(exposed) {
      exposed.change(/^crdb_range_leases$/, { node_id: '3' }, () => 300);
      exposed.change(/^crdb_range_leases$/, { node_id: '6' }, (minute) =>
        isFault(minute) ? 300 * Math.min(1, (minute - START) / 60) : 300,
      );
    },
  },
  {
    fault: 'A partition between two regions, and requests that are stuck',
    cluster: 'parted-stuck',
    fires: {
      'CrdbPartitionSuspected warning': 5,
      'CrdbPartitionSuspected critical': 10,
      'CrdbRequestsStuck warning': 10,
    },
    play(exposed) {
      exposed.change(/network_unreachable_pairs/, {}, (minute, value) =>
        isFault(minute) ? 8 : value,
      );
      exposed.change(
        /^crdb_store_slow_requests$/,
        { store_id: '3', kind: 'raft' },
        (minute, value) => (isFault(minute) ? 4 : value),
      );
    },
  },
  {
    fault: 'A clock drifts by a millisecond a minute',
    cluster: 'drifts',
    minutes: 230,
    fires: { 'CrdbClockOffsetHigh warning': 208 },
    play: (exposed) =>
      exposed.change(
        /clock_offset/,
        { node_id: '2' },
        (minute) => Math.max(0, minute - START) / 1000,
      ),
  },
  {
    fault: 'A backup fails, and succeeds an hour later',
    cluster: 'again',
    minutes: 180,
    fires: {},
    play(exposed) {
      exposed.change(/backup_schedule_failures/, { node_id: '1' }, (minute, value) =>
        isFault(minute) ? value + 1 : value,
      );
      exposed.change(/backup_last_completed/, {}, (minute) =>
        minute >= START + 60 ? (START + 60) * 60 : -3600,
      );
    },
  },
];

type Played = Parameters<Fault['play']>[0];

/** Sessions that were opened since minute 30 and not closed: 350 an hour. */
function leaked(minute: number): number {
  return Math.max(0, minute - 30) * (350 / 60);
}

/** The first store falls from one share of its disk to another. */
function fill(exposed: Played, at: number, minutes: number, from: number, to: number): void {
  const capacity = 1e12;
  exposed.change(/^crdb_store_capacity_bytes$/, { store_id: '1' }, () => capacity);
  exposed.change(/^crdb_store_available_bytes$/, { store_id: '1' }, (minute) => {
    const done = Math.min(1, Math.max(0, minute - at) / minutes);
    return capacity * (from + (to - from) * done);
  });
}

/** All nodes but the third run as many statements as fifty would. */
function busy(exposed: Played): void {
  for (const node_id of ['1', '2', '4', '5', '6']) {
    exposed.change(/sql_(queries|statements_started)/, { node_id }, (_minute, value) => value * 10);
  }
}
