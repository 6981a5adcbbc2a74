import type { ParsedSample } from '../../metrics/parse-exposition.ts';
import type { RuleCase } from '../cases.ts';
import { isPrometheus3 } from '../promtool.ts';
import { firingOf } from '../together.ts';
import { Exposed } from './exposition.ts';

/** The minute in which each fault begins. */
export const START = 12;
/** How long most faults are watched. */
const MINUTES = 32;
/** Faults that are watched for more than an hour are played in the lab: promtool takes as long as its evaluations are many. */
const LAB_MINUTES = 60;
/** Those of more than two hours are looked at every two minutes. */
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

/** Of which the second one sees every change a minute later. */
export const PAIR = ['a', 'b'];

export function isFault(minute: number): boolean {
  return minute >= START;
}

/** A value from the start of the fault on. */
export function becomes(value: number): (minute: number, before: number) => number {
  return (minute, before) => (isFault(minute) ? value : before);
}

/** A counter that rises by this much a minute from the start of the fault on. */
export function rises(perMinute: number): (minute: number, before: number) => number {
  return (minute, before) => before + Math.max(0, minute - START) * perMinute;
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
];

/** Whether a fault is played in the lab alone. */
export function isLong({ minutes = MINUTES }: Fault): boolean {
  return minutes > LAB_MINUTES;
}

/** The minutes from the start of the fault to each alert of its cluster, as a case of promtool. */
export function faultCase(samples: readonly ParsedSample[], fault: Fault): RuleCase {
  const { cluster, play, instances = ['a'], fires, earlierIn3, minutes = MINUTES } = fault;
  const earlier = IS_PROMETHEUS_3 ? earlierIn3 : undefined;
  const stepMinutes = minutes > LONG_MINUTES ? LONG_STEP_MINUTES : 1;
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
