import type { ParsedSample } from '../../metrics/parse-exposition.ts';
import type { RuleCase } from '../cases.ts';
import { firingOf, nothingFires } from '../together.ts';
import { Exposed } from './exposition.ts';
import { LONG_STEP_MINUTES } from './faults.ts';

const MINUTES = 13 * 60;
const STEP = { stepMinutes: LONG_STEP_MINUTES };

/** From which minute what happens. */
const IMPORT = 120;
const NEW_NODE = 180;
const UPGRADE = 240;
const FAILED_BACKUP = 360;
const NEXT_BACKUP = 420;
const ROLLOUT = 480;
const NEW_CLUSTER = 540;
const REMOVED_CLUSTER = 600;
const PROMETHEUS = [660, 662] as const;

/**
 * A busy day of 13 hours: an import, a sixth node, an upgrade, a backup that fails once, a rollout of both exporters while a
 * node restarts, a cluster that is new, one that is removed together with its exporter's pod, and a Prometheus that restarts.
 * No alert may fire.
 */
export function busyDayCase(samples: readonly ParsedSample[]): RuleCase {
  const busy = new Exposed(samples, 'busy', MINUTES, { ...STEP, instances: ['a', 'b', 'c', 'd'] });
  importData(busy);
  join(busy);
  upgrade(busy);
  failOnce(busy);
  busy.restartNode('3', ROLLOUT - 4);
  busy.exporterLives('a', 0, ROLLOUT).exporterLives('c', ROLLOUT - 2, MINUTES + 1);
  busy.exporterLives('b', 0, ROLLOUT + 4).exporterLives('d', ROLLOUT + 2, MINUTES + 1);
  const fresh = new Exposed(samples, 'fresh', MINUTES, { ...STEP, instances: ['a'] });
  fresh.exporterLives('a', NEW_CLUSTER, MINUTES + 1);
  const removed = new Exposed(samples, 'dropped', MINUTES, { ...STEP, instances: ['a', 'b', 'c'] });
  removed.exporterLives('a', 0, REMOVED_CLUSTER).exporterLives('b', 0, 0);
  removed.exporterLives('c', REMOVED_CLUSTER - 2, MINUTES + 1);
  removed.change(/^crdb_/, { instance: 'dropped-c', crdb_cluster: 'dropped' }, () => undefined);
  const worlds = [busy, fresh, removed];
  for (const world of worlds) world.prometheusDown(...PROMETHEUS);
  return {
    name: 'a busy day of 13 hours',
    interval: `${LONG_STEP_MINUTES}m`,
    input_series: worlds.flatMap((world) => world.write()),
    promql_expr_test: [nothingFires(firingOf(worlds.map(({ cluster }) => cluster)), MINUTES)],
  };
}

/** A store falls from 42 to 34 % free within half an hour. */
function importData(busy: Exposed): void {
  busy.change(/^crdb_store_capacity_bytes$/, { store_id: '1' }, () => 1e12);
  busy.change(/^crdb_store_available_bytes$/, { store_id: '1' }, (minute) => {
    const done = Math.min(1, Math.max(0, minute - IMPORT) / 30);
    return 1e12 * (0.42 - 0.08 * done);
  });
  busy.change(/^crdb_jobs$/, { job_type: 'import', state: 'running' }, (minute) =>
    minute >= IMPORT && minute < IMPORT + 30 ? 1 : 0,
  );
}

/** The sixth node gets its replicas and leases within an hour. */
function join(busy: Exposed): void {
  busy.change(/^crdb_/, { node_id: '6' }, (minute, value) =>
    minute < NEW_NODE ? undefined : value,
  );
  busy.change(/^crdb_(range|store)_(replicas|leases)$/, { node_id: '6' }, (minute, value) =>
    Math.round(value * Math.min(1, (minute - NEW_NODE) / 60)),
  );
}

/** One node after the other starts with the new version. */
function upgrade(busy: Exposed): void {
  for (let id = 1; id <= 6; id += 1) {
    const at = UPGRADE + id * 8;
    busy.restartNode(`${id}`, at);
    busy.relabel(/^crdb_node_info$/, { node_id: `${id}` }, { build_tag: 'v99.1.0' }, at + 4);
  }
  busy.change(/^crdb_build_tags$/, {}, (minute) =>
    minute >= UPGRADE + 12 && minute < UPGRADE + 52 ? 2 : 1,
  );
}

function failOnce(busy: Exposed): void {
  busy.change(/backup_schedule_failures/, { node_id: '2' }, (minute, value) =>
    minute >= FAILED_BACKUP ? value + 1 : value,
  );
  busy.change(/backup_last_completed/, {}, (minute) =>
    minute >= NEXT_BACKUP ? NEXT_BACKUP * 60 : -3600,
  );
}
