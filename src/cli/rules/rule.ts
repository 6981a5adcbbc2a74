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

export function alert(
  name: string,
  severity: 'none' | 'info' | 'warning' | 'critical',
  component: string,
  rule: Rule & Required<Pick<Rule, 'summary' | 'description'>>,
): Rule {
  const { for: wait = '' } = rule;
  const isLong = wait.endsWith('h') || Number.parseInt(wait, 10) >= 30;
  // These must outlive a gap.
  const outlives = severity === 'critical' || isLong;
  return {
    ...rule,
    alert: name,
    severity,
    component,
    ...(outlives && { keep_firing_for: KEEP }),
  };
}

/** The results of a query in the text of an alert; `row` prints one from `$row`, `none` stands for no result. */
export function list(
  query: string,
  row: string,
  { sortBy, none = 'none' }: { readonly sortBy?: string; readonly none?: string } = {},
): string {
  const sort = sortBy === undefined ? '' : ` | sortByLabel "${sortBy}"`;
  return `{{ range $i, $row := ${asked(query)}${sort} }}{{ if $i }}, {{ end }}${row}{{ else }}${none}{{ end }}`;
}

/** The nodes that a query returns, in the text of an alert. */
export function listNodes(query: string): string {
  return list(query, 'n{{ $row.Labels.node_id }}', { sortBy: 'node_id' });
}

/** The number that a query returns, in the text of an alert. */
export function figure(query: string, format: string): string {
  return `{{ with ${asked(query)} }}{{ . | first | value | ${format} }}{{ else }}unknown{{ end }}`;
}

/** Each `label="%s"` of the query stands for that label of the alert. */
function asked(query: string): string {
  const labels = Array.from(query.matchAll(/(\w+)="%s"/g), ([, label]) => `$labels.${label}`);
  return `printf ${JSON.stringify(query)} ${labels.join(' ')} | query`;
}

/** The sum or the count of a value of each node by tier and value of its locality. */
export function byLocality(name: string, value: string, how: 'sum' | 'count' = 'sum'): Rule {
  return record(
    `crdb_cluster_tier_value:${name}`,
    `${how} by (crdb_cluster, tier, value) (
  ${value}
  * on (crdb_cluster, node_id) group_right ()
  ${present('node_id, tier, value', last('crdb_node_locality_info'))}
)`,
  );
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
  ),
  ' free on its fullest store, clock off by ',
  figure(
    'max(last_over_time(crdb_cluster_node:crdb_node_clock_offset_seconds:max{crdb_cluster="%s",node_id="%s"}[1d]))',
    'humanizeDuration',
  ),
  '.',
].join('');

/** The nodes that are down, those of the last hour first. */
export const NODES_DOWN = [
  'Down for less than an hour: ',
  listNodes('crdb_cluster_node:crdb_node_down:recent{crdb_cluster="%s"} == 1'),
  '; for longer: ',
  listNodes(
    'crdb_cluster_node:crdb_node_down:max{crdb_cluster="%s"} == 1 unless crdb_cluster_node:crdb_node_down:recent == 1',
  ),
].join('');

/** Localities of which every node is down. */
export const LOCALITIES_DOWN = list(
  'crdb_cluster_tier_value:crdb_nodes_down:sum{crdb_cluster="%s"} == crdb_cluster_tier_value:crdb_nodes:count',
  '{{ $row.Labels.tier }}={{ $row.Labels.value }}',
);
