import { findNearest } from '../../../config/issues.ts';
import { usageError } from '../../command.ts';
import { DURATION, faultOf, type Kind } from './kinds.ts';

const REPOSITORY = 'https://github.com/crdb-exporter/crdb-exporter/blob/main';

/**
 * What `rules --set KEY=VALUE` and the chart's `rules.set` change: the kind (how a value is checked and written), the
 * default and the meaning of each key.
 */
export const SETTINGS = {
  job: ['regex', 'crdb-exporter.*', 'scrape jobs of the exporter'],
  runbook_url: ['url', `${REPOSITORY}/docs/runbooks`, 'where docs/runbooks is published'],
  dashboard_url: [
    'optional url',
    '',
    'of Grafana with the dashboards; alerts then have dashboard_url',
  ],
  excluded_applications: ['optional regex', '', 'applications without alerts on transactions'],
  batch_applications: [
    'regex',
    '(?i).*(backup|restore|dump|import|export|migrat|etl|batch|report).*',
    'applications whose transactions may take batch_transaction_age',
  ],
  transaction_age: ['seconds', '900', 'seconds; CrdbTransactionTooOld'],
  idle_transaction_age: ['seconds', '300', 'seconds without a statement; CrdbTransactionTooOld'],
  batch_transaction_age: ['seconds', '14400', 'seconds; CrdbTransactionTooOld'],
  statements_per_cpu: ['number', '4', 'CrdbStatementConcurrencyHigh'],
  statements: ['number', '32', 'of a node, at least; CrdbStatementConcurrencyHigh'],
  idle_transactions: ['share', '0.3', 'share of all sessions; CrdbIdleTransactions'],
  lock_waiters: ['number', '20', 'requests that wait for locks; CrdbIdleTransactions'],
  sql_failures: ['share', '0.1', 'share of the statements (warning); CrdbSqlFailing'],
  sql_failures_critical: ['share', '0.5', 'share of the statements (critical); CrdbSqlFailing'],
  stopped_queries: ['number', '10', 'that execute while none starts; CrdbSqlStopped'],
  session_memory: ['share', '0.2', 'share of the memory of a node; CrdbSessionMemoryHigh'],
  session_storm: ['number', '200', 'sessions, at least; CrdbSessionStorm'],
  session_storm_growth: ['number', '3', 'times as many as usual; CrdbSessionStorm'],
  latency: ['short seconds', '1', 'p99 in seconds; CrdbLatencyHigh'],
  latency_growth: ['number', '2', 'times as long as usual; CrdbLatencyHigh'],
  nodes_down: ['share', '0.1', 'share of the nodes; CrdbMultipleNodesDown'],
  finalize_days: ['days', '7', 'with the upgrade not finalized; CrdbUpgradeNotFinalized'],
  restarts: ['number', '3', 'of a node in 6 hours; CrdbNodeFlapping'],
  daily_restarts: ['number', '4', 'of a node in a day; CrdbNodeFlapping'],
  liveness_changes: ['number', '6', 'in 30 minutes, to and fro are two; CrdbNodeLivenessFlapping'],
  heartbeat: ['short seconds', '1', 'p99 in seconds (warning); CrdbHeartbeatSlow'],
  heartbeat_critical: ['short seconds', '3', 'p99 in seconds (critical); CrdbHeartbeatSlow'],
  record_age: ['seconds', '120', 'seconds; CrdbNodeRecordStale'],
  clock_offset: ['short seconds', '0.3', 'seconds; CrdbClockOffsetHigh'],
  cpu: ['share', '0.9', 'share of all cores; CrdbNodeCpuHigh'],
  memory: ['share', '0.9', 'share of the memory (warning); CrdbNodeMemoryHigh'],
  memory_critical: ['share', '0.97', 'share of the memory (critical); CrdbNodeMemoryHigh'],
  memory_growing: ['share', '0.8', 'share below which no trend is an alert; CrdbNodeMemoryGrows'],
  file_descriptors: ['share', '0.8', 'share of the limit; CrdbFileDescriptorsHigh'],
  lease_imbalance: ['number', '3', 'times the mean of the others in the region; CrdbNodeHotspot'],
  load_imbalance: ['number', '3', 'times the mean of the others in the region; CrdbNodeHotspot'],
  hotspot_cpu: ['share', '0.2', 'of CPU above the median of the region; CrdbNodeHotspot'],
  license_days: ['days', '21', 'left (warning); CrdbLicenseExpiring'],
  license_critical_days: ['days', '3', 'left (critical); CrdbLicenseExpiring'],
  certificate_days: ['days', '21', 'left (warning); CrdbCertificateExpiring'],
  certificate_critical_days: ['days', '3', 'left (critical); CrdbCertificateExpiring'],
  ca_days: ['days', '90', 'left of a CA (warning); CrdbCertificateExpiring'],
  ca_critical_days: ['days', '21', 'left of a CA (critical); CrdbCertificateExpiring'],
  short_certificate: ['share', '0.25', 'share left of a life of at most 30 days (warning)'],
  short_certificate_critical: ['share', '0.1', 'share left of such a life (critical)'],
  disk: ['share', '0.2', 'free share of a store (warning); CrdbStoreDiskLow'],
  disk_critical: ['share', '0.1', 'free share of a store (critical); CrdbStoreDiskLow'],
  disk_floor: ['bytes', '5368709120', 'free bytes of a store (critical); CrdbStoreDiskLow'],
  disk_filling: ['share', '0.4', 'free share above which no trend is an alert'],
  capacity: ['share', '0.1', 'free share without the largest node; CrdbClusterCapacity'],
  l0_sublevels: ['number', '20', 'CrdbStoreOverloaded'],
  write_stalls: ['number', '1', 'a minute; CrdbStoreOverloaded'],
  disk_latency: ['short seconds', '0.1', 'p99 of a sync of the log; CrdbStoreDiskSlow'],
  disk_slow: ['number', '5', 'slow operations in 10 minutes; CrdbStoreDiskSlow'],
  underreplicated: ['share', '0.1', 'share of all ranges (critical); CrdbRangesUnderreplicated'],
  quorum_risk: [
    'share',
    '0.1',
    'share of all ranges; where more are at risk, the placement is intended; CrdbQuorumAtRisk',
  ],
  scan_minutes: [
    'minutes',
    '15',
    'that range scans are compared over, three of their intervals at least; CrdbScanDisagrees',
  ],
  quorum_tier: [
    'regex',
    '.+',
    'locality tiers; the narrowest that matches is watched; CrdbQuorumAtRisk',
  ],
  hot_range_cpu: ['number', '0.75', 'CPU seconds per second; CrdbHotRange'],
  hot_range_queries: ['number', '2500', 'queries per second, without CPU; CrdbHotRange'],
  backup_hours: ['hours', '26', 'since the last backup; CrdbBackupTooOld'],
  protected_age: ['seconds', '3600', 'seconds; CrdbChangefeedPaused, CrdbJobPaused'],
  replication_lag: ['seconds', '600', 'seconds; CrdbReplicationLag'],
  changefeed_lag: ['seconds', '600', 'seconds (warning); CrdbChangefeedLagging'],
  changefeed_lag_critical: ['seconds', '14400', 'seconds (critical); CrdbChangefeedLagging'],
} as const satisfies Record<string, [kind: Kind, value: string, about: string]>;

export type SettingName = keyof typeof SETTINGS;

export interface Settings {
  /** The text of each setting in an expression or a text. */
  readonly values: Readonly<Record<SettingName, string>>;
  /** By alert. */
  readonly severities: Readonly<Record<string, string>>;
  /** How long an alert waits until it fires, by alert. */
  readonly waits: Readonly<Record<string, string>>;
  /** Of every alert. */
  readonly labels: Readonly<Record<string, string>>;
}

/** An alert of the template, one with two severities twice. */
export interface AlertTemplate {
  readonly name: string;
  readonly waits: boolean;
}

/** Labels that the alerts have, by which they are joined, routed and inhibited. */
export const OWN_LABELS = [
  'alertname',
  'alertstate',
  'severity',
  'component',
  'application',
  'certificate',
  'collector',
  'crdb_cluster',
  'instance',
  'job',
  'job_type',
  'kind',
  'limit',
  'locality',
  'node_id',
  'problem',
  'reason',
  'region',
  'shard',
  'state',
  'status',
  'store_id',
  'tier',
  'user',
];

export const SEVERITIES = ['off', 'info', 'warning', 'critical'];

/** How a value is written: a regular expression as a PromQL string, an optional one as a matcher, which is absent without it. */
function writeValue(name: SettingName, value: string): string {
  const [kind] = SETTINGS[name];
  if (kind === 'optional regex') {
    return value === '' ? '' : `,application!~${JSON.stringify(value)}`;
  }
  return kind === 'regex' ? JSON.stringify(value) : value;
}

/** The settings with what KEY=VALUE pairs change. Throws a CommandError on a bad pair. */
export function readSettings(pairs: readonly string[], alerts: readonly AlertTemplate[]): Settings {
  const values = recordOf(
    settingNames().map((name) => [name, writeValue(name, SETTINGS[name][1])]),
  );
  const severities: Record<string, string> = {};
  const waits: Record<string, string> = {};
  const labels: Record<string, string> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at === -1) throw usageError(`--set ${pair}: write KEY=VALUE`);
    const [key, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const [group, rest = ''] = key.split(/\.(.*)/);
    if (group === 'severity') severities[checkAlert(rest, alerts)] = checkSeverity(key, value);
    else if (group === 'for') waits[checkWaiting(rest, alerts)] = checkDuration(key, value);
    else if (group === 'label') labels[checkLabel(rest)] = value;
    else {
      const name = checkName(key);
      values[name] = writeValue(name, checkValue(name, value));
    }
  }
  checkOrder(values);
  return { values, severities, waits, labels };
}

export function settingNames(): readonly SettingName[] {
  return Object.keys(SETTINGS).filter((name): name is SettingName => name in SETTINGS);
}

/** A record with every setting, from pairs. */
export function recordOf(
  pairs: readonly (readonly [SettingName, string])[],
): Record<SettingName, string> {
  const all: Partial<Record<SettingName, string>> = Object.fromEntries(pairs);
  const isWhole = (one: typeof all): one is Record<SettingName, string> =>
    settingNames().every((name) => name in one);
  if (!isWhole(all)) throw new Error('a setting has no value');
  return all;
}

/** Of limits of two severities the defaults tell which one is critical, the smaller or the larger. */
function checkOrder(values: Readonly<Record<SettingName, string>>): void {
  for (const critical of settingNames().filter((name) => name.includes('_critical'))) {
    const warning = checkName(critical.replace('_critical', ''));
    const isLess = Number(SETTINGS[critical][1]) < Number(SETTINGS[warning][1]);
    const [limit, worse] = [Number(values[warning]), Number(values[critical])];
    if (isLess ? worse < limit : worse > limit) continue;
    const order = isLess ? 'less' : 'more';
    throw usageError(
      `--set: ${critical} (${values[critical]}) must be ${order} than ${warning} (${values[warning]})`,
    );
  }
}

function checkName(key: string): SettingName {
  const found = settingNames().find((name) => name === key);
  if (found !== undefined) return found;
  throw unknown('setting', key, [...settingNames(), 'severity.ALERT', 'for.ALERT', 'label.NAME']);
}

function checkAlert(name: string, alerts: readonly AlertTemplate[]): string {
  const names = alerts.map((alert) => alert.name);
  if (names.includes(name)) return name;
  throw unknown('alert', name, names);
}

function checkWaiting(name: string, alerts: readonly AlertTemplate[]): string {
  checkAlert(name, alerts);
  if (alerts.some((alert) => alert.name === name && alert.waits)) return name;
  throw usageError(`--set for.${name}: this alert fires at once; its expression says when`);
}

function checkDuration(key: string, value: string): string {
  if (DURATION.test(value)) return value;
  throw usageError(`--set ${key}=${value}: not a duration above 0: write 90s, 10m or 2h`);
}

function unknown(what: string, word: string, words: readonly string[]): Error {
  const near = findNearest(word, words);
  const hint = near === undefined ? 'see crdb-exporter rules --help' : `did you mean ${near}?`;
  return usageError(`--set: there is no ${what} ${JSON.stringify(word)}: ${hint}`);
}

function checkSeverity(key: string, value: string): string {
  if (SEVERITIES.includes(value)) return value;
  throw usageError(`--set ${key}=${value}: use ${SEVERITIES.join(', ')}`);
}

function checkLabel(name: string): string {
  if (OWN_LABELS.includes(name)) {
    throw usageError(
      `--set label.${name}: alerts are joined and routed by this label; set another`,
    );
  }
  if (/^[a-z_]\w*$/i.test(name)) return name;
  throw usageError(`--set label.${name}: not the name of a label that may be set`);
}

function checkValue(name: SettingName, value: string): string {
  const [kind, usual] = SETTINGS[name];
  const fault = faultOf(kind, value);
  if (fault !== undefined) throw usageError(`--set ${name}=${value}: ${fault}`);
  if (kind === 'regex' && value === '') {
    throw usageError(`--set ${name}=: matches nothing; the default is ${usual}`);
  }
  return kind.endsWith('url') ? value.replace(/\/$/, '') : value;
}
