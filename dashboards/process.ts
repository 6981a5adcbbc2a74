import type { Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { stat } from './lib/panels.ts';
import { SUCCESS } from './lib/style.ts';
import { S_MANY as S } from './lib/variables.ts';

const OF_PROCESS = 'job=~"$job", instance=~"$instance"';

/** The process of the exporter. */
export const processRow: Row = {
  title: 'Process',
  collapsed: true,
  panels: [
    graph('Series exposed', {
      about: 'Series of the current snapshots (crdb_exporter_series).',
      queries: `sum by (instance) (crdb_exporter_series{${S}, collector=~"$collector"})`,
      unit: 'short',
      legend: '{{instance}}',
    }),
    graph('Series dropped', {
      about:
        'Series above a budget, or merged duplicates (crdb_exporter_series_dropped_total). See CrdbExporterLimitHit.',
      queries: `sum by (family, reason) (rate(crdb_exporter_series_dropped_total{${S}}[$__rate_interval]))`,
      unit: 'cps',
      legend: '{{family}} {{reason}}',
      empty: 'none',
      evidence: [`crdb_exporter_series{${S}}`, 'reason'],
    }),
    stat('Config reload', {
      about:
        'Whether the last reload succeeded (crdb_exporter_config_last_reload_successful). No: CrdbConfigReloadFailed.',
      queries: 'min(crdb_exporter_config_last_reload_successful{job=~"$job"})',
      unit: 'bool_yes_no',
      states: SUCCESS,
      width: 12,
      height: 8,
    }),
    graph('CPU of the process', {
      about: '100 % is one core (process_cpu_seconds_total).',
      queries: `sum by (instance) (rate(process_cpu_seconds_total{${OF_PROCESS}}[$__rate_interval]))`,
      unit: 'percentunit',
      legend: '{{instance}}',
    }),
    graph('Resident memory', {
      about:
        'Resident memory of the process (process_resident_memory_bytes). It must not grow over time.',
      queries: `max by (instance) (process_resident_memory_bytes{${OF_PROCESS}})`,
      unit: 'bytes',
      legend: '{{instance}}',
    }),
    graph('Event-loop lag p99', {
      about:
        'Time between two measurements of the event loop (nodejs_eventloop_lag_p99_seconds), 0.02 s when it is idle. From 0.1 s on scrapes become slow.',
      queries: `max by (instance) (nodejs_eventloop_lag_p99_seconds{${OF_PROCESS}})`,
      unit: 's',
      legend: '{{instance}}',
    }),
  ],
};
