import * as v from 'valibot';
import { findUrlFault, invalid, key, rejectIf, section, showUrl, unquoteHint } from './values.ts';

// Alerts and findings share thresholds and links. Each is declared once, here: the configuration file, `rules --set`, the
// rules in the chart and the findings read it.

/**
 * Declares the thresholds of one kind by their defaults and meanings. A value in another unit, as milliseconds for seconds,
 * is mostly out of bounds.
 */
function ofKind(what: string, min: number, max = Number.MAX_SAFE_INTEGER, isWhole = false) {
  const isNot = invalid((input) => `is not ${what}${unquoteHint(input, Number.isFinite)}`);
  const bounded = v.pipe(v.number(isNot), v.minValue(min, isNot), v.maxValue(max, isNot));
  const schema: v.GenericSchema<number> = isWhole ? v.pipe(bounded, v.integer(isNot)) : bounded;
  const limit = v.pipe(schema, v.metadata({ valueType: 'number' }));
  return (usual: number, help: string) => key(v.optional(limit, usual), { help });
}

const number = ofKind('a positive number', 0.001);
const share = ofKind('a share above 0, up to 1: write 0.9 for 90 %', 0.001, 1);
const shortSeconds = ofKind('a number of seconds from 0.001 to 60', 0.001, 60);
const seconds = ofKind('a number of seconds from 10 to 2678400', 10, 31 * 86_400);
const minutes = ofKind('a whole number of minutes', 1, 31 * 24 * 60, true);
const hours = ofKind('a number of hours from 1 to 744', 1, 31 * 24);
const days = ofKind('a number of days from 1 to 3660', 1, 3660);
const bytes = ofKind('a number of bytes from 1048576 on', 2 ** 20);

const THRESHOLDS = {
  transaction_age: seconds(900, 'Seconds of a transaction; CrdbTransactionTooOld.'),
  idle_transaction_age: seconds(300, 'Seconds without a statement; CrdbTransactionTooOld.'),
  batch_transaction_age: seconds(14_400, 'Seconds of batch applications; CrdbTransactionTooOld.'),
  idle_transactions: share(0.3, 'Share of all sessions; CrdbIdleTransactions.'),
  lock_waiters: number(20, 'Requests that wait for locks; CrdbIdleTransactions.'),
  sql_failures: share(0.1, 'Share of the statements (warning); CrdbSqlFailing.'),
  sql_failures_critical: share(0.5, 'Share of the statements (critical); CrdbSqlFailing.'),
  stopped_queries: number(10, 'Statements that execute while none starts; CrdbSqlStopped.'),
  session_memory: share(0.2, 'Share of the memory of a node; CrdbSessionMemoryHigh.'),
  session_storm: number(200, 'Sessions, at least; CrdbSessionStorm.'),
  session_storm_growth: number(3, 'Times as many as usual; CrdbSessionStorm.'),
  session_leak: number(100, 'Sessions of an application, at least; CrdbSessionLeak.'),
  session_leak_growth: number(3, 'Times the fewest of 12 hours; CrdbSessionLeak.'),
  latency: shortSeconds(1, '99th percentile in seconds; CrdbLatencyHigh.'),
  latency_growth: number(2, 'Times as long as usual; CrdbLatencyHigh.'),
  nodes_down: share(0.1, 'Share of the nodes; CrdbMultipleNodesDown.'),
  finalize_days: days(7, 'Days with the upgrade not finalized; CrdbUpgradeNotFinalized.'),
  restarts: number(3, 'Restarts of a node in 6 hours; CrdbNodeFlapping.'),
  daily_restarts: number(4, 'Restarts of a node in a day; CrdbNodeFlapping.'),
  liveness_changes: number(6, 'Changes in 30 minutes (warning); CrdbNodeLivenessFlapping.'),
  liveness_changes_critical: number(12, 'The same (critical); CrdbNodeLivenessFlapping.'),
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
  lease_imbalance: number(3, 'Times the mean of the others in the region; CrdbNodeHotspot.'),
  load_imbalance: number(3, 'Times the mean of the others in the region; CrdbNodeHotspot.'),
  hotspot_cpu: share(0.2, 'Share of CPU above the median of the region; CrdbNodeHotspot.'),
  hotspot_cpu_only: share(0.3, 'The same, whatever its leases, for 2 hours; CrdbNodeHotspot.'),
  license_days: days(21, 'Days left (warning); CrdbLicenseExpiring.'),
  license_critical_days: days(3, 'Days left (critical); CrdbLicenseExpiring.'),
  certificate_days: days(21, 'Days left (warning); CrdbCertificateExpiring.'),
  certificate_critical_days: days(3, 'Days left (critical); CrdbCertificateExpiring.'),
  ca_days: days(90, 'Days left of a CA (warning); CrdbCertificateExpiring.'),
  ca_critical_days: days(21, 'Days left of a CA (critical); CrdbCertificateExpiring.'),
  short_certificate: share(
    0.25,
    'Share left of a life of at most 30 days (warning); CrdbCertificateExpiring.',
  ),
  short_certificate_critical: share(
    0.1,
    'Share left of such a life (critical); CrdbCertificateExpiring.',
  ),
  disk: share(0.2, 'Free share of a store (warning); CrdbStoreDiskLow.'),
  disk_critical: share(0.1, 'Free share of a store (critical); CrdbStoreDiskLow.'),
  disk_floor: bytes(5_368_709_120, 'Free bytes of a store (critical); CrdbStoreDiskLow.'),
  disk_filling: share(0.4, 'Free share without alert on trends (warning); CrdbStoreDiskFillsSoon.'),
  disk_filling_critical: share(0.25, 'The same (critical); CrdbStoreDiskFillsSoon.'),
  capacity: share(0.1, 'Free share without the largest node; CrdbClusterCapacity.'),
  l0_sublevels: number(20, 'L0 sublevels of a store; CrdbStoreOverloaded.'),
  write_stalls: number(1, 'Write stalls a minute (warning); CrdbStoreOverloaded.'),
  write_stalls_critical: number(60, 'Write stalls a minute (critical); CrdbStoreOverloaded.'),
  disk_latency: shortSeconds(0.1, '99th percentile of a sync, seconds; CrdbStoreDiskSlow.'),
  disk_slow: number(5, 'Slow operations in 10 minutes; CrdbStoreDiskSlow.'),
  underreplicated: share(0.1, 'Share of all ranges (critical); CrdbRangesUnderreplicated.'),
  quorum_risk: share(
    0.1,
    'Share of all ranges; a larger one is taken for intended; CrdbQuorumAtRisk.',
  ),
  scan_minutes: minutes(
    15,
    'Minutes that range scans are compared over, three of their intervals at least; CrdbScanDisagrees.',
  ),
  hot_range_cpu: number(0.75, 'CPU seconds per second; CrdbHotRange.'),
  hot_range_queries: number(2_500, 'Queries per second, without CPU; CrdbHotRange.'),
  backup_hours: hours(26, 'Hours since the last backup; CrdbBackupTooOld.'),
  protected_age: seconds(3_600, 'Seconds for which a paused job keeps data; CrdbJobPaused.'),
  replication_lag: seconds(600, 'Seconds behind the source cluster; CrdbReplicationLag.'),
  changefeed_lag: seconds(600, 'Seconds behind (warning); CrdbChangefeedLagging.'),
  changefeed_lag_critical: seconds(14_400, 'Seconds behind (critical); CrdbChangefeedLagging.'),
};

export type ThresholdName = keyof typeof THRESHOLDS;
/** The limit of each, in its unit: `cpu` 0.9, `backup_hours` 26. */
export type Thresholds = Readonly<Record<ThresholdName, number>>;

/** `thresholds` of the configuration file. */
export const THRESHOLD_SECTION = section(THRESHOLDS);
export const DEFAULT_THRESHOLDS: Thresholds = v.parse(THRESHOLD_SECTION, {});

export function isThresholdName(name: string): name is ThresholdName {
  return Object.hasOwn(THRESHOLDS, name);
}

export const THRESHOLD_NAMES: readonly ThresholdName[] =
  Object.keys(THRESHOLDS).filter(isThresholdName);

/**
 * The critical limits that are not beyond those that warn, and why: `disk_critical` 0.3 with `disk` 0.2. The defaults tell
 * which side is worse.
 */
export function findWrongOrders(limits: Readonly<Record<string, number | undefined>>) {
  return THRESHOLD_NAMES.flatMap((critical) => {
    const warning = critical.replace('_critical', '');
    const { [warning]: limit, [critical]: worse } = limits;
    if (!isThresholdName(warning) || limit === undefined || worse === undefined) return [];
    const sign = Math.sign(DEFAULT_THRESHOLDS[critical] - DEFAULT_THRESHOLDS[warning]);
    if (warning === critical || sign * (worse - limit) > 0) return [];
    const order = sign < 0 ? 'less' : 'more';
    return [{ critical, message: `${worse} must be ${order} than ${warning} (${limit})` }];
  });
}

/** The meaning of a threshold, as a sentence. */
export function describeThreshold(name: ThresholdName): string {
  return v.getDescription(THRESHOLDS[name]) ?? '';
}

/** Why a value cannot be this threshold, as `90 is not a share above 0, up to 1: write 0.9 for 90 %`. */
export function findThresholdFault(name: ThresholdName, value: unknown): string | undefined {
  return v.safeParse(THRESHOLDS[name], value, { abortPipeEarly: true }).issues?.[0].message;
}

/** Where docs/runbooks is published, unless a link says otherwise. */
export const RUNBOOK_URL = 'https://github.com/crdb-exporter/crdb-exporter/blob/main/docs/runbooks';

/** An address without a slash at its end; an empty text stands for `usual`. */
export function link(usual: string) {
  return v.pipe(
    v.string(invalid('is not an address: put it in quotes')),
    rejectIf((text) => {
      const fault = text === '' ? undefined : findUrlFault(text);
      return fault && `${showUrl(text)} ${fault}`;
    }),
    v.transform((text) => (text === '' ? usual : text.replace(/\/$/, ''))),
    v.metadata({ valueType: 'url' }),
  );
}

/** `links` of the configuration file. */
export const LINK_SECTION = section({
  runbook_url: key(v.optional(link(RUNBOOK_URL), ''), {
    help: 'Where docs/runbooks is published, for alerts and findings; empty: at the repository of the exporter.',
  }),
  dashboard_url: key(v.optional(link(''), ''), {
    help: 'Address of Grafana with the dashboards, for alerts and findings.',
  }),
});

/** Limits of the findings of all clusters, and the links of findings. */
export interface FindingSettings {
  readonly thresholds: Thresholds;
  /** Addresses without a slash at the end; the one of the dashboards may be empty. */
  readonly links: { readonly runbook_url: string; readonly dashboard_url: string };
}

/** The settings without a configuration. */
export const DEFAULT_FINDING_SETTINGS: FindingSettings = {
  thresholds: DEFAULT_THRESHOLDS,
  links: v.parse(LINK_SECTION, {}),
};
