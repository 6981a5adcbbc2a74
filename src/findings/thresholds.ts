/** Limits of problems: the defaults of the settings of the rules with the same names, and in the same units. */
export const THRESHOLDS = {
  idle_transaction_age: 300,
  transaction_age: 900,
  batch_transaction_age: 14_400,
  statements_per_cpu: 4,
  statements: 32,
  session_memory: 0.2,
  nodes_down: 0.1,
  finalize_days: 7,
  clock_offset: 0.3,
  cpu: 0.9,
  memory: 0.9,
  file_descriptors: 0.8,
  license_days: 21,
  license_critical_days: 3,
  disk: 0.2,
  disk_critical: 0.1,
  disk_floor: 5_368_709_120,
  capacity: 0.1,
  l0_sublevels: 20,
  underreplicated: 0.1,
  quorum_risk: 0.1,
  hot_range_cpu: 0.75,
  hot_range_queries: 2_500,
  backup_hours: 26,
  protected_age: 3_600,
  replication_lag: 600,
  changefeed_lag: 600,
} as const;

/** Applications whose transactions may take long, as the setting batch_applications of the rules. */
export const BATCH_APPLICATIONS = /backup|restore|dump|import|export|migrat|etl|batch|report/i;

/** Alerts that the page does not evaluate, and why. */
export const NOT_CHECKED: Readonly<Record<string, string>> = {
  CrdbBackupFailing: 'needs the last hours',
  CrdbCertificateExpiring: 'needs the last 30 days',
  CrdbChangefeedFailing: 'needs the last hours',
  CrdbConfigReloadFailed: 'is of the exporter, not of a cluster',
  CrdbDiskFillsFast: 'needs the last half hour',
  CrdbExporterDown: 'only Prometheus sees it',
  CrdbLatencyHigh: 'needs the last day',
  CrdbMonitoringBlind: 'only Prometheus sees it',
  CrdbNodeFlapping: 'needs the last hours',
  CrdbNodeHotspot: 'compares the nodes of a region',
  CrdbSessionStorm: 'needs the last hours',
  CrdbShardsMissing: 'needs all shards',
  CrdbStoreDiskFillsSoon: 'needs the last hours',
  CrdbStoreDiskStalled: 'needs the last minutes',
  CrdbWatchdog: 'always fires',
};
