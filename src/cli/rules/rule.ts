import type { SettingName } from './settings.ts';

/** Values of the settings as texts, to be written into expressions and texts. */
export type Values = Readonly<Record<SettingName, string>>;

/** A recording rule, or an alert. */
export interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  /** Lines above the rule. */
  readonly comment?: string;
  readonly for?: string;
  readonly keep_firing_for?: string;
  /** Of a recording rule. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly severity?: string;
  readonly component?: string;
  readonly summary?: string;
  readonly description?: string;
}

export interface RuleGroup {
  readonly name: string;
  readonly rules: readonly Rule[];
}

/** Failed scans, a restart of the exporter and short outages leave gaps of some minutes: the last values bridge them. */
const BRIDGE = '10m';
/** For how long an alert goes on when its expression has no result. */
const KEEP = '10m';

/** The last values of the gap's length. */
export function last(selector: string): string {
  return `last_over_time(${selector}[${BRIDGE}])`;
}

function by(labels: string): string {
  return `by (crdb_cluster${labels === '' ? '' : `, ${labels}`})`;
}

/** The larger of the values of an HA pair, by these labels beside the cluster. */
export function fold(labels: string, value: string): string {
  return `max ${by(labels)} (${value})`;
}

/** 1 for each cluster, and these labels beside it, that has the series: for what is there, whatever its value. */
export function present(labels: string, series: string): string {
  return `group ${by(labels)} (${series})`;
}

export function record(name: string, expr: string, more: Partial<Rule> = {}): Rule {
  return { record: name, expr, ...more };
}

interface Alert {
  readonly expr: string;
  readonly for?: string;
  readonly summary: string;
  readonly description: string;
}

type Severity = 'none' | 'info' | 'warning' | 'critical';

export function alert(
  name: string,
  severity: Severity,
  component: string,
  { expr, for: wait, summary, description }: Alert,
): Rule {
  const isLong = wait !== undefined && (wait.endsWith('h') || Number.parseInt(wait, 10) >= 30);
  return {
    alert: name,
    expr,
    ...(wait === undefined ? {} : { for: wait }),
    // These must outlive a gap.
    ...(severity === 'critical' || isLong ? { keep_firing_for: KEEP } : {}),
    severity,
    component,
    summary,
    description,
  };
}

interface ListOptions {
  /** Labels of the alert for each %s of the query; the cluster by default. */
  readonly args?: readonly string[];
  readonly sortBy?: string;
  /** What is written when there is nothing. */
  readonly none?: string;
}

/** The results of a query in the text of an alert; `row` prints one from `$row`. */
export function list(query: string, row: string, options: ListOptions = {}): string {
  const { sortBy, none = 'none' } = options;
  const sort = sortBy === undefined ? '' : ` | sortByLabel "${sortBy}"`;
  return `{{ range $i, $row := ${asked(query, options)}${sort} }}{{ if $i }}, {{ end }}${row}{{ else }}${none}{{ end }}`;
}

/** The number that a query returns, in the text of an alert. */
export function figure(query: string, format: string, options: ListOptions = {}): string {
  const { none = 'unknown' } = options;
  return `{{ with ${asked(query, options)} }}{{ . | first | value | ${format} }}{{ else }}${none}{{ end }}`;
}

function asked(query: string, { args = ['crdb_cluster'] }: ListOptions): string {
  const labels = args.map((label) => `$labels.${label}`).join(' ');
  return `printf ${JSON.stringify(query)} ${labels} | query`;
}

/** Address and locality of the node of an alert. */
export const ADDRESS =
  '{{ with printf "crdb_cluster_node:crdb_node_info:first{crdb_cluster=\\"%s\\",node_id=\\"%s\\"}" $labels.crdb_cluster $labels.node_id | query }}{{ . | first | label "address" }}{{ with . | first | label "locality" }} ({{ . }}){{ end }}{{ else }}address unknown{{ end }}';

/** What was last known of the disks and the clock of the node of an alert. */
export const LAST_KNOWN = [
  'Last known: ',
  figure(
    'min(last_over_time(crdb_cluster_node_store:crdb_store_available:ratio{crdb_cluster="%s",node_id="%s"}[1d]))',
    'humanizePercentage',
    { args: ['crdb_cluster', 'node_id'] },
  ),
  ' free on its fullest store, clock off by ',
  figure(
    'max(last_over_time(crdb_cluster_node:crdb_node_clock_offset_seconds:max{crdb_cluster="%s",node_id="%s"}[1d]))',
    'humanizeDuration',
    { args: ['crdb_cluster', 'node_id'] },
  ),
  '.',
].join('');

/** The nodes that are down, those of the last hour first. */
export const NODES_DOWN = [
  'Down for less than an hour: ',
  list(
    'crdb_cluster_node:crdb_node_down:recent{crdb_cluster="%s"} == 1',
    'n{{ $row.Labels.node_id }}',
    {
      sortBy: 'node_id',
    },
  ),
  '; for longer: ',
  list(
    'crdb_cluster_node:crdb_node_down:max{crdb_cluster="%s"} == 1 unless crdb_cluster_node:crdb_node_down:recent == 1',
    'n{{ $row.Labels.node_id }}',
    { sortBy: 'node_id' },
  ),
].join('');

/** Localities of which every node is down. */
export const LOCALITIES_DOWN = list(
  'crdb_cluster_tier_value:crdb_nodes_down:sum{crdb_cluster="%s"} == crdb_cluster_tier_value:crdb_nodes:count',
  '{{ $row.Labels.tier }}={{ $row.Labels.value }}',
);
