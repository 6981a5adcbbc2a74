import type { ParsedSample } from '../../metrics/parse-exposition.ts';
import type { RuleCase } from '../cases.ts';
import { firingOf, nothingFires } from '../together.ts';
import { Exposed } from './exposition.ts';
import { LONG_STEP_MINUTES } from './faults.ts';

const MINUTES = 13 * 60;

/** From and to which minute what happens. */
const RESTARTS = [60, 100] as const;
const NEW_NODE = 120;
const BACKUP = [200, 320] as const;
const SCHEMA_CHANGE = [360, 400] as const;
const PEAK = [420, 480] as const;
const HOT_RANGE = [500, 522] as const;
const EXPORTERS = { a: [560, 562], b: [566, 568] } as const;
const DEPLOYMENT = [600, 605] as const;

type Span = readonly [from: number, to: number];

function isIn([from, to]: Span, minute: number): boolean {
  return minute >= from && minute < to;
}

function during(span: Span, changed: number): (minute: number, value: number) => number {
  return (minute, value) => (isIn(span, minute) ? changed : value);
}

function times(span: Span, factor: number): (minute: number, value: number) => number {
  return (minute, value) => (isIn(span, minute) ? value * factor : value);
}

/**
 * A normal day of 13 hours: a rolling restart, a sixth node that fills, a backup of two hours, a schema change, a peak of
 * load, a hot range, the upgrade of both exporters and a deployment. No alert may fire.
 */
export function dayCase(samples: readonly ParsedSample[]): RuleCase {
  const day = new Exposed(samples, 'day', MINUTES, { stepMinutes: LONG_STEP_MINUTES });
  for (let id = 1; id <= 5; id += 1) day.restartNode(`${id}`, RESTARTS[0] + id * 6);
  day.change(/^crdb_range_problem_ranges$/, { problem: 'underreplicated' }, during(RESTARTS, 40));
  day.change(/^crdb_store_underreplicated/, { store_id: '1' }, during(RESTARTS, 40));
  join(day);
  backUp(day);
  day.change(
    /^crdb_jobs$/,
    { job_type: 'schema_change', state: 'running' },
    during(SCHEMA_CHANGE, 1),
  );
  day.change(/l0_sublevels/, {}, (minute, value) => (isIn(SCHEMA_CHANGE, minute) ? 9 : value));
  peak(day);
  day.change(/range_max_cpu/, {}, during(HOT_RANGE, 0.9));
  day.change(/range_max_queries/, {}, during(HOT_RANGE, 4000));
  for (const [instance, span] of Object.entries(EXPORTERS)) {
    day.exporterDown(instance, (minute) => isIn(span, minute));
  }
  day.change(
    /sql_failures/,
    {},
    (minute, value) => value + 300 * Math.min(5, Math.max(0, minute - DEPLOYMENT[0])),
  );
  day.change(/^crdb_(user_|application_)?sessions$/, {}, times(DEPLOYMENT, 0.2));
  return {
    name: 'a normal day of 13 hours with two exporters',
    interval: `${LONG_STEP_MINUTES}m`,
    input_series: day.write(),
    promql_expr_test: [
      nothingFires(firingOf(['day']), MINUTES),
      {
        expr: 'crdb_cluster:crdb_health:code{crdb_cluster="day"}',
        eval_time: `${MINUTES}m`,
        exp_samples: [{ labels: 'crdb_cluster:crdb_health:code{crdb_cluster="day"}', value: 0 }],
      },
    ],
  };
}

/** The sixth node is new: its stores fill within an hour. */
function join(day: Exposed): void {
  day.change(/^crdb_/, { node_id: '6' }, (minute, value) =>
    minute < NEW_NODE ? undefined : value,
  );
  day.change(/^crdb_node_started/, { node_id: '6' }, () => NEW_NODE * 60);
  day.change(/^crdb_(range|store)_(replicas|leases)$/, { node_id: '6' }, (minute, value) =>
    Math.round(value * Math.min(1, (minute - NEW_NODE) / 60)),
  );
}

/** At night the backup takes 93 % of the CPU of three nodes and leaves 14 sublevels. */
function backUp(day: Exposed): void {
  day.change(/^crdb_jobs$/, { job_type: 'backup', state: 'running' }, during(BACKUP, 1));
  for (const node_id of ['1', '2', '3']) {
    day.change(/cpu_ratio/, { node_id }, during(BACKUP, 0.93));
    day.change(/l0_sublevels/, { node_id }, during(BACKUP, 14));
  }
  day.change(/backup_last_completed/, {}, (minute, value) =>
    minute >= BACKUP[1] ? BACKUP[1] * 60 : value,
  );
}

function peak(day: Exposed): void {
  day.change(/cpu_ratio/, {}, during(PEAK, 0.86));
  day.change(/sql_service_latency/, {}, during(PEAK, 0.9));
  day.change(/^crdb_(user_|application_)?sessions$/, {}, times(PEAK, 2.4));
  day.change(/sql_connections/, {}, times(PEAK, 2.4));
  day.change(/^crdb_store_queries_per_second$/, {}, times(PEAK, 2.4));
}
