import { findNearest } from '../../../config/issues.ts';
import { usageError } from '../../command.ts';

const REPOSITORY = 'https://github.com/crdb-exporter/crdb-exporter/blob/main';

/**
 * What `rules --set KEY=VALUE` and the chart's `rules.set` change: the kind (how a value is checked and written), the
 * default and the meaning of each key.
 */
export const SETTINGS = {
  job: ['regex', 'crdb-exporter.*', 'scrape jobs of the exporter'],
  runbook_url: ['url', `${REPOSITORY}/docs/runbooks`, 'where docs/runbooks is published'],
  excluded_applications: ['optional regex', '', 'applications without alerts on transactions'],
  batch_applications: [
    'optional regex',
    '(?i).*(backup|restore|dump|import|export|migrat|etl|batch|report).*',
    'applications whose transactions may take batch_transaction_age',
  ],
  transaction_age: ['number', '900', 'seconds; CrdbTransactionTooOld'],
  idle_transaction_age: ['number', '300', 'seconds without a statement; CrdbTransactionTooOld'],
  batch_transaction_age: ['number', '14400', 'seconds; CrdbTransactionTooOld'],
  statements_per_cpu: ['number', '4', 'CrdbStatementConcurrencyHigh'],
  statements: ['number', '32', 'of a node, at least; CrdbStatementConcurrencyHigh'],
  session_memory: ['share', '0.2', 'share of the memory of a node; CrdbSessionMemoryHigh'],
  session_storm: ['number', '200', 'sessions, at least; CrdbSessionStorm'],
  session_storm_growth: ['number', '3', 'times as many as usual; CrdbSessionStorm'],
  latency: ['number', '1', 'p99 in seconds; CrdbLatencyHigh'],
  latency_growth: ['number', '2', 'times as long as usual; CrdbLatencyHigh'],
  nodes_down: ['share', '0.1', 'share of the nodes; CrdbMultipleNodesDown'],
  finalize_days: ['number', '7', 'with the upgrade not finalized; CrdbUpgradeNotFinalized'],
  restarts: ['number', '3', 'of a node in 6 hours; CrdbNodeFlapping'],
  record_age: ['number', '120', 'seconds; CrdbNodeRecordStale'],
  clock_offset: ['number', '0.3', 'seconds; CrdbClockOffsetHigh'],
  cpu: ['share', '0.9', 'share of all cores; CrdbNodeCpuHigh'],
  memory: ['share', '0.9', 'share of the memory; CrdbNodeMemoryHigh'],
  file_descriptors: ['share', '0.8', 'share of the limit; CrdbFileDescriptorsHigh'],
  lease_imbalance: ['number', '2', 'times the mean of the locality; CrdbNodeHotspot'],
  load_imbalance: ['number', '2', 'times the mean of the locality; CrdbNodeHotspot'],
  license_days: ['number', '21', 'left (warning); CrdbLicenseExpiring'],
  license_critical_days: ['number', '3', 'left (critical); CrdbLicenseExpiring'],
  certificate_days: ['number', '21', 'left (warning); CrdbCertificateExpiring'],
  certificate_critical_days: ['number', '3', 'left (critical); CrdbCertificateExpiring'],
  ca_days: ['number', '90', 'left of a CA (warning); CrdbCertificateExpiring'],
  ca_critical_days: ['number', '21', 'left of a CA (critical); CrdbCertificateExpiring'],
  short_certificate: ['share', '0.25', 'share left of a life of at most 30 days (warning)'],
  short_certificate_critical: ['share', '0.1', 'share left of such a life (critical)'],
  disk: ['share', '0.2', 'free share of a store (warning); CrdbStoreDiskLow'],
  disk_critical: ['share', '0.1', 'free share of a store (critical); CrdbStoreDiskLow'],
  disk_floor: ['number', '5368709120', 'free bytes of a store (critical); CrdbStoreDiskLow'],
  disk_filling: ['share', '0.4', 'free share above which no trend is an alert'],
  capacity: ['share', '0.1', 'free share without the largest node; CrdbClusterCapacity'],
  l0_sublevels: ['number', '20', 'CrdbStoreOverloaded'],
  write_stalls: ['number', '1', 'a minute; CrdbStoreOverloaded'],
  underreplicated: ['share', '0.1', 'share of all ranges (critical); CrdbRangesUnderreplicated'],
  quorum_risk: ['share', '0.1', 'share of all ranges, at most: more is policy; CrdbQuorumAtRisk'],
  scan_minutes: [
    'minutes',
    '15',
    'that range scans are compared over, three of their intervals at least; CrdbScanDisagrees',
  ],
  quorum_tier: ['regex', '.+', 'tiers of localities, of them the narrowest; CrdbQuorumAtRisk'],
  hot_range_cpu: ['number', '0.75', 'CPU seconds per second; CrdbHotRange'],
  hot_range_queries: ['number', '2500', 'queries per second, without CPU; CrdbHotRange'],
  backup_hours: ['number', '26', 'since the last backup; CrdbBackupTooOld'],
  protected_age: ['number', '3600', 'seconds; CrdbChangefeedPaused, CrdbJobPaused'],
  replication_lag: ['number', '600', 'seconds; CrdbReplicationLag'],
  changefeed_lag: ['number', '600', 'seconds; CrdbChangefeedLagging'],
} as const satisfies Record<
  string,
  [
    kind: 'number' | 'minutes' | 'share' | 'regex' | 'optional regex' | 'url',
    value: string,
    about: string,
  ]
>;

export type SettingName = keyof typeof SETTINGS;

/** The text of each setting in an expression or a text; severities and labels of the alerts. */
export type Settings = Readonly<ReturnType<typeof readSettings>>;

export const SEVERITIES = ['off', 'info', 'warning', 'critical'];

/** How a value is written: a regular expression as a PromQL string. */
function writeValue(name: SettingName, value: string): string {
  return SETTINGS[name][0].endsWith('regex') ? JSON.stringify(value) : value;
}

/** The settings with what KEY=VALUE pairs change. Throws a CommandError on a bad pair. */
export function readSettings(pairs: readonly string[], alerts: readonly string[]) {
  const values = recordOf(
    settingNames().map((name) => [name, writeValue(name, SETTINGS[name][1])]),
  );
  const severities: Record<string, string> = {};
  const labels: Record<string, string> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at === -1) throw usageError(`--set ${pair}: write KEY=VALUE`);
    const [key, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const [group, rest = ''] = key.split(/\.(.*)/);
    if (group === 'severity') severities[checkAlert(rest, alerts)] = checkSeverity(key, value);
    else if (group === 'label') labels[checkLabel(rest)] = value;
    else {
      const name = checkName(key);
      values[name] = writeValue(name, checkValue(name, value));
    }
  }
  checkOrder(values);
  return { values, severities, labels };
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

/** All limits of two severities are of what is left of something: less of it is critical. */
function checkOrder(values: Readonly<Record<SettingName, string>>): void {
  for (const critical of settingNames().filter((name) => name.includes('_critical'))) {
    const warning = checkName(critical.replace('_critical', ''));
    const [high, low] = [values[warning], values[critical]];
    if (Number(low) < Number(high)) continue;
    throw usageError(`--set: ${critical} (${low}) must be less than ${warning} (${high})`);
  }
}

function checkName(key: string): SettingName {
  const found = settingNames().find((name) => name === key);
  if (found !== undefined) return found;
  throw unknown('setting', key, [...settingNames(), 'severity.ALERT', 'label.NAME']);
}

function checkAlert(name: string, alerts: readonly string[]): string {
  if (alerts.includes(name)) return name;
  throw unknown('alert', name, alerts);
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
  if (/^[a-z_]\w*$/i.test(name) && !/^(?:severity|component|alertname)$/.test(name)) return name;
  throw usageError(`--set label.${name}: not the name of a label that may be set`);
}

function checkValue(name: SettingName, value: string): string {
  const [kind] = SETTINGS[name];
  const number = /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : 0;
  if (kind === 'number' && number === 0) {
    throw usageError(`--set ${name}=${value}: not a positive number`);
  }
  if (kind === 'minutes' && (number === 0 || !Number.isSafeInteger(number))) {
    throw usageError(`--set ${name}=${value}: not a whole number of minutes`);
  }
  if (kind === 'share' && (number === 0 || number > 1)) {
    throw usageError(`--set ${name}=${value}: not a share above 0, up to 1: write 0.9 for 90 %`);
  }
  if (kind === 'url' && !/^https?:\/\/[^\s'{}]+$/.test(value)) {
    throw usageError(`--set ${name}=${value}: not an address that begins with http:// or https://`);
  }
  if (kind.endsWith('regex') && !isRegex(value)) {
    throw usageError(`--set ${name}=${value}: not a regular expression`);
  }
  if (kind === 'regex' && value === '') {
    throw usageError(`--set ${name}=: matches nothing; the default is ${SETTINGS[name][1]}`);
  }
  return kind === 'url' ? value.replace(/\/$/, '') : value;
}

/** Prometheus checks it more strictly; a flag at its beginning is not known here. */
function isRegex(text: string): boolean {
  try {
    return new RegExp(text.replace(/^\(\?[a-z]+\)/, ''), 'u').source !== '';
  } catch {
    return false;
  }
}
