import type { AlertName } from '#alerts';

/** The alerts without a finding: they need a history, several exporters or Prometheus itself, which alone evaluates them. */
export const NOT_EVALUATED: readonly AlertName[] = [
  'CrdbWatchdog',
  'CrdbExporterDown',
  'CrdbExporterUnstable',
  'CrdbMonitoringBlind',
  'CrdbExportersDisagree',
  'CrdbClusterNameShared',
  'CrdbShardsMissing',
  'CrdbNodeLivenessFlapping',
  'CrdbNodeFlapping',
  'CrdbNodeMemoryGrows',
  'CrdbStoreMissing',
  'CrdbStoreDiskFillsSoon',
  'CrdbSessionStorm',
  'CrdbSessionLeak',
  'CrdbSqlStopped',
  'CrdbNodeSqlFailing',
  'CrdbNodeSqlStopped',
  'CrdbBackupFailing',
  'CrdbBackupUnknown',
  'CrdbChangefeedFailing',
  'CrdbChangefeedRetrying',
  'CrdbJobFailing',
];
