// Alerts and findings share thresholds and links. Each is declared once, here: the configuration file, `rules --set`, the
// rules in the chart and the findings read it.

/**
 * A threshold: its bounds, its default and its meaning. A value in another unit, as milliseconds for seconds, is mostly out of
 * bounds.
 */
export interface Threshold {
  /** What its values are, as in `90 is not a share above 0`. */
  readonly what: string;
  readonly min: number;
  readonly max: number;
  readonly isWhole: boolean;
  readonly initial: number;
  readonly help: string;
}

function kind(what: string, min: number, max = Number.MAX_SAFE_INTEGER, isWhole = false) {
  return (initial: number, help: string): Threshold => ({ what, min, max, isWhole, initial, help });
}

const amount = kind('a positive number', 0.001);
const share = kind('a share above 0, up to 1: write 0.9 for 90 %', 0.001, 1);
const shortSeconds = kind('a number of seconds from 0.001 to 60', 0.001, 60);
const seconds = kind('a number of seconds from 10 to 2678400', 10, 31 * 86_400);
const minutes = kind('a whole number of minutes', 1, 31 * 24 * 60, true);
const hours = kind('a number of hours from 1 to 744', 1, 31 * 24);
const days = kind('a number of days from 1 to 3660', 1, 3660);
const bytes = kind('a number of bytes from 1048576 on', 2 ** 20);

export const THRESHOLDS = {
  transaction_age: seconds(900, 'Seconds of a transaction; CrdbTransactionTooOld.'),
  idle_transaction_age: seconds(300, 'Seconds without a statement; CrdbTransactionTooOld.'),
  batch_transaction_age: seconds(14_400, 'Seconds of batch applications; CrdbTransactionTooOld.'),
  idle_transactions: share(0.3, 'Share of all sessions; CrdbIdleTransactions.'),
  lock_waiters: amount(20, 'Requests that wait for locks; CrdbIdleTransactions.'),
  sql_failures: share(0.1, 'Share of the statements (warning); CrdbSqlFailing.'),
  sql_failures_critical: share(0.5, 'Share of the statements (critical); CrdbSqlFailing.'),
  stopped_queries: amount(10, 'Statements that execute while none starts; CrdbSqlStopped.'),
  session_memory: share(0.2, 'Share of the memory of a node; CrdbSessionMemoryHigh.'),
  session_storm: amount(200, 'Sessions, at least; CrdbSessionStorm.'),
  session_storm_growth: amount(3, 'Times as many as usual; CrdbSessionStorm.'),
  session_leak: amount(100, 'Sessions of an application, at least; CrdbSessionLeak.'),
  session_leak_growth: amount(3, 'Times the fewest of 12 hours; CrdbSessionLeak.'),
  latency: shortSeconds(1, '99th percentile in seconds; CrdbLatencyHigh.'),
  latency_growth: amount(2, 'Times as long as usual; CrdbLatencyHigh.'),
  nodes_down: share(0.1, 'Share of the nodes; CrdbMultipleNodesDown.'),
  finalize_days: days(7, 'Days with the upgrade not finalized; CrdbUpgradeNotFinalized.'),
  restarts: amount(3, 'Restarts of a node in 6 hours; CrdbNodeFlapping.'),
  daily_restarts: amount(4, 'Restarts of a node in a day; CrdbNodeFlapping.'),
  liveness_changes: amount(6, 'Changes in 30 minutes (warning); CrdbNodeLivenessFlapping.'),
  liveness_changes_critical: amount(12, 'The same (critical); CrdbNodeLivenessFlapping.'),
  heartbeat: shortSeconds(0.5, '99th percentile, seconds (warning); CrdbHeartbeatSlow.'),
  heartbeat_critical: shortSeconds(3, '99th percentile (critical); CrdbHeartbeatSlow.'),
  record_age: seconds(120, 'Seconds since the last record of a node; CrdbNodeRecordStale.'),
  clock_offset: shortSeconds(0.2, 'Seconds between the clocks of nodes; CrdbClockOffsetHigh.'),
  cpu: share(0.8, 'Share of all cores for 4 hours (warning); CrdbNodeCpuHigh.'),
  cpu_critical: share(0.9, 'Share for an hour (critical); CrdbNodeCpuHigh, CrdbHostCpuHigh.'),
  memory: share(0.8, 'Share of the memory for 4 hours (warning); CrdbNodeMemoryHigh.'),
  memory_critical: share(0.9, 'Share of the memory for an hour (critical); CrdbNodeMemoryHigh.'),
  memory_full: share(0.97, 'Share of the memory at once (critical); CrdbNodeMemoryHigh.'),
  memory_growing: share(0.8, 'Share of the memory, at least; CrdbNodeMemoryGrows.'),
  file_descriptors: share(0.8, 'Share of the limit; CrdbFileDescriptorsHigh.'),
  lease_imbalance: amount(3, 'Times the mean of the others in the region; CrdbNodeHotspot.'),
  load_imbalance: amount(3, 'Times the mean of the others in the region; CrdbNodeHotspot.'),
  hotspot_cpu: share(0.2, 'Share of CPU above the median of the region; CrdbNodeHotspot.'),
  hotspot_cpu_only: share(0.3, 'The same, whatever its leases, for 2 hours; CrdbNodeHotspot.'),
  license_days: days(21, 'Days left (warning); CrdbLicenseExpiring.'),
  license_critical_days: days(3, 'Days left (critical); CrdbLicenseExpiring.'),
  certificate_days: days(
    6,
    'Days left (warning), more where you renew by hand; CrdbCertificateExpiring.',
  ),
  certificate_critical_days: days(1.5, 'Days left (critical); CrdbCertificateExpiring.'),
  ca_days: days(
    26,
    'Days left of a CA (warning), more where you renew by hand; CrdbCertificateExpiring.',
  ),
  ca_critical_days: days(21, 'Days left of a CA (critical); CrdbCertificateExpiring.'),
  short_certificate: share(
    0.25,
    'Share left of a life of at most 30 days (warning); CrdbCertificateExpiring.',
  ),
  short_certificate_critical: share(
    0.1,
    'Share left of such a life (critical); CrdbCertificateExpiring.',
  ),
  short_certificate_hours: hours(
    36,
    'Hours left of such a life, at most (warning); CrdbCertificateExpiring.',
  ),
  short_certificate_critical_hours: hours(
    12,
    'Hours left of such a life, at most (critical); CrdbCertificateExpiring.',
  ),
  disk: share(0.2, 'Free share of a store (warning); CrdbStoreDiskLow.'),
  disk_critical: share(0.1, 'Free share of a store (critical); CrdbStoreDiskLow.'),
  disk_floor: bytes(5_368_709_120, 'Free bytes of a store (critical); CrdbStoreDiskLow.'),
  disk_filling: share(0.4, 'Free share without alert on trends (warning); CrdbStoreDiskFillsSoon.'),
  disk_filling_critical: share(0.25, 'The same (critical); CrdbStoreDiskFillsSoon.'),
  capacity: share(0.1, 'Free share without the largest node; CrdbClusterCapacity.'),
  l0_sublevels: amount(20, 'L0 sublevels of a store; CrdbStoreOverloaded.'),
  write_stalls: amount(1, 'Write stalls a minute (warning); CrdbStoreOverloaded.'),
  write_stalls_critical: amount(60, 'Write stalls a minute (critical); CrdbStoreOverloaded.'),
  disk_latency: shortSeconds(0.1, '99th percentile of a sync, seconds; CrdbStoreDiskSlow.'),
  disk_slow: amount(5, 'Slow operations in 10 minutes; CrdbStoreDiskSlow.'),
  underreplicated: share(0.1, 'Share of all ranges (critical); CrdbRangesUnderreplicated.'),
  quorum_risk: share(
    0.1,
    'Share of all ranges; a larger one is taken for intended; CrdbQuorumAtRisk.',
  ),
  scan_minutes: minutes(
    15,
    'Minutes that range scans are compared over, three of their intervals at least; CrdbScanDisagrees.',
  ),
  hot_range_cpu: amount(0.75, 'CPU seconds per second; CrdbHotRange.'),
  hot_range_queries: amount(2_500, 'Queries per second, without CPU; CrdbHotRange.'),
  backup_hours: hours(26, 'Hours since the last backup; CrdbBackupTooOld.'),
  protected_age: seconds(3_600, 'Seconds for which a paused job keeps data; CrdbJobPaused.'),
  replication_lag: seconds(600, 'Seconds behind the source cluster; CrdbReplicationLag.'),
  changefeed_lag: seconds(600, 'Seconds behind (warning); CrdbChangefeedLagging.'),
  changefeed_lag_critical: seconds(14_400, 'Seconds behind (critical); CrdbChangefeedLagging.'),
};

export type ThresholdName = keyof typeof THRESHOLDS;
/** The limit of each, in its unit: `cpu` 0.9, `backup_hours` 26. */
export type Thresholds = Readonly<Record<ThresholdName, number>>;

export function isThresholdName(name: string): name is ThresholdName {
  return Object.hasOwn(THRESHOLDS, name);
}

export const THRESHOLD_NAMES: readonly ThresholdName[] =
  Object.keys(THRESHOLDS).filter(isThresholdName);

/** Something for each threshold, by its name. */
export function mapThresholds<T>(
  make: (threshold: Threshold) => T,
): Readonly<Record<ThresholdName, T>> {
  const entries = THRESHOLD_NAMES.map((name) => [name, make(THRESHOLDS[name])]);
  return Object.fromEntries(entries);
}

export const DEFAULT_THRESHOLDS: Thresholds = mapThresholds(({ initial }) => initial);

/** The critical limits with those that warn; the defaults tell which side is worse: -1 where less is. */
export const LIMIT_PAIRS = THRESHOLD_NAMES.flatMap((critical) => {
  const warning = critical.replace('_critical', '');
  if (warning === critical || !isThresholdName(warning)) return [];
  const sign = Math.sign(DEFAULT_THRESHOLDS[critical] - DEFAULT_THRESHOLDS[warning]);
  return [{ critical, warning, sign }];
});

/** The critical limits that are not beyond those that warn, and why: `disk_critical` 0.3 with `disk` 0.2. */
export function findWrongOrders(limits: Readonly<Record<string, number | undefined>>) {
  return LIMIT_PAIRS.flatMap(({ critical, warning, sign }) => {
    const { [warning]: limit, [critical]: worse } = limits;
    if (limit === undefined || worse === undefined || sign * (worse - limit) > 0) return [];
    const order = sign < 0 ? 'less' : 'more';
    return [{ critical, message: `${worse} must be ${order} than ${warning} (${limit})` }];
  });
}

/** Why a value cannot be this threshold, as `90 is not a share above 0, up to 1: write 0.9 for 90 %`. */
export function findThresholdFault(name: ThresholdName, value: unknown): string | undefined {
  const { what, min, max, isWhole } = THRESHOLDS[name];
  const isValid =
    typeof value === 'number' &&
    value >= min &&
    value <= max &&
    (!isWhole || Number.isInteger(value));
  return isValid ? undefined : `${JSON.stringify(value)} is not ${what}`;
}

/** Limits of the findings of all clusters, and the links of findings. */
export interface FindingSettings {
  readonly thresholds: Thresholds;
  /** Addresses without a slash at the end; both may be empty. */
  readonly links: { readonly runbook_url: string; readonly dashboard_url: string };
}

/** Where an exporter with this external URL, which may be empty, serves its runbooks; empty where that is not known. */
export function servedRunbooks(externalUrl: string): string {
  return externalUrl === '' ? '' : `${externalUrl}/runbooks`;
}

/** The links, in which the runbooks are those that the exporter serves where no others are configured. */
export function completeLinks({
  links,
  web,
}: {
  readonly links: FindingSettings['links'];
  readonly web: { readonly external_url: string };
}): FindingSettings['links'] {
  return { ...links, runbook_url: links.runbook_url || servedRunbooks(web.external_url) };
}
