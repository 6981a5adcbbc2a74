import * as v from 'valibot';
import { invalid, key, rejectIf, section, unquoteHint } from './values.ts';

// The thresholds that alerts and findings share. Each is declared once: the key `thresholds` of the configuration,
// `rules --set`, the rules in the chart and the findings read it here.

/** The rule for a number, by kind; the bounds in the words of a JSON schema. */
interface NumberKind {
  readonly what: string;
  readonly bounds: {
    readonly exclusiveMinimum?: number;
    readonly minimum?: number;
    readonly maximum?: number;
    readonly multipleOf?: number;
  };
}

/** The kinds of thresholds. A value in another unit, as milliseconds for seconds, is mostly outside of the bounds. */
const KINDS: Readonly<Record<ThresholdKind, NumberKind>> = {
  number: { what: 'a positive number', bounds: { exclusiveMinimum: 0 } },
  share: {
    what: 'a share above 0, up to 1: write 0.9 for 90 %',
    bounds: { exclusiveMinimum: 0, maximum: 1 },
  },
  'short seconds': numberOf('seconds', 0.001, 60),
  seconds: numberOf('seconds', 10, 31 * 86_400),
  minutes: { what: 'a whole number of minutes', bounds: { minimum: 1, multipleOf: 1 } },
  hours: numberOf('hours', 1, 31 * 24),
  days: numberOf('days', 1, 3660),
  bytes: numberOf('bytes', 2 ** 20, 2 ** 50),
};

function numberOf(unit: string, minimum: number, maximum: number): NumberKind {
  const what = `a number of ${unit} from ${minimum} to ${maximum}`;
  return { what, bounds: { minimum, maximum } };
}

/** How a threshold is checked. */
type ThresholdKind =
  | 'number'
  | 'share'
  | 'short seconds'
  | 'seconds'
  | 'minutes'
  | 'hours'
  | 'days'
  | 'bytes';

/** The kind, default and meaning of each threshold. */
export const THRESHOLDS = {
  transaction_age: ['seconds', 900, 'seconds of a transaction; CrdbTransactionTooOld'],
  idle_transaction_age: ['seconds', 300, 'seconds without a statement; CrdbTransactionTooOld'],
  batch_transaction_age: [
    'seconds',
    14_400,
    'seconds of batch applications; CrdbTransactionTooOld',
  ],
  statements_per_cpu: ['number', 4, 'statements per CPU; CrdbStatementConcurrencyHigh'],
  statements: ['number', 32, 'statements at a node, at least; CrdbStatementConcurrencyHigh'],
  idle_transactions: ['share', 0.3, 'share of all sessions; CrdbIdleTransactions'],
  lock_waiters: ['number', 20, 'requests that wait for locks; CrdbIdleTransactions'],
  sql_failures: ['share', 0.1, 'share of the statements (warning); CrdbSqlFailing'],
  sql_failures_critical: ['share', 0.5, 'share of the statements (critical); CrdbSqlFailing'],
  stopped_queries: ['number', 10, 'statements that execute while none starts; CrdbSqlStopped'],
  session_memory: ['share', 0.2, 'share of the memory of a node; CrdbSessionMemoryHigh'],
  session_storm: ['number', 200, 'sessions, at least; CrdbSessionStorm'],
  session_storm_growth: ['number', 3, 'times as many as usual; CrdbSessionStorm'],
  latency: ['short seconds', 1, '99th percentile in seconds; CrdbLatencyHigh'],
  latency_growth: ['number', 2, 'times as long as usual; CrdbLatencyHigh'],
  nodes_down: ['share', 0.1, 'share of the nodes; CrdbMultipleNodesDown'],
  finalize_days: ['days', 7, 'days with the upgrade not finalized; CrdbUpgradeNotFinalized'],
  restarts: ['number', 3, 'restarts of a node in 6 hours; CrdbNodeFlapping'],
  daily_restarts: ['number', 4, 'restarts of a node in a day; CrdbNodeFlapping'],
  liveness_changes: ['number', 6, 'changes in 30 minutes; CrdbNodeLivenessFlapping'],
  heartbeat: ['short seconds', 1, '99th percentile, seconds (warning); CrdbHeartbeatSlow'],
  heartbeat_critical: ['short seconds', 3, '99th percentile (critical); CrdbHeartbeatSlow'],
  record_age: ['seconds', 120, 'seconds since the last record of a node; CrdbNodeRecordStale'],
  clock_offset: ['short seconds', 0.3, 'seconds between the clocks of nodes; CrdbClockOffsetHigh'],
  cpu: ['share', 0.9, 'share of all cores; CrdbNodeCpuHigh'],
  memory: ['share', 0.9, 'share of the memory (warning); CrdbNodeMemoryHigh'],
  memory_critical: ['share', 0.97, 'share of the memory (critical); CrdbNodeMemoryHigh'],
  memory_growing: ['share', 0.8, 'share of the memory, at least; CrdbNodeMemoryGrows'],
  file_descriptors: ['share', 0.8, 'share of the limit; CrdbFileDescriptorsHigh'],
  lease_imbalance: ['number', 3, 'times the mean of the others in the region; CrdbNodeHotspot'],
  load_imbalance: ['number', 3, 'times the mean of the others in the region; CrdbNodeHotspot'],
  hotspot_cpu: ['share', 0.2, 'share of CPU above the median of the region; CrdbNodeHotspot'],
  license_days: ['days', 21, 'days left (warning); CrdbLicenseExpiring'],
  license_critical_days: ['days', 3, 'days left (critical); CrdbLicenseExpiring'],
  certificate_days: ['days', 21, 'days left (warning); CrdbCertificateExpiring'],
  certificate_critical_days: ['days', 3, 'days left (critical); CrdbCertificateExpiring'],
  ca_days: ['days', 90, 'days left of a CA (warning); CrdbCertificateExpiring'],
  ca_critical_days: ['days', 21, 'days left of a CA (critical); CrdbCertificateExpiring'],
  short_certificate: [
    'share',
    0.25,
    'share left of a life of at most 30 days (warning); CrdbCertificateExpiring',
  ],
  short_certificate_critical: [
    'share',
    0.1,
    'share left of such a life (critical); CrdbCertificateExpiring',
  ],
  disk: ['share', 0.2, 'free share of a store (warning); CrdbStoreDiskLow'],
  disk_critical: ['share', 0.1, 'free share of a store (critical); CrdbStoreDiskLow'],
  disk_floor: ['bytes', 5_368_709_120, 'free bytes of a store (critical); CrdbStoreDiskLow'],
  disk_filling: ['share', 0.4, 'free share of a store above which no trend is an alert'],
  capacity: ['share', 0.1, 'free share without the largest node; CrdbClusterCapacity'],
  l0_sublevels: ['number', 20, 'L0 sublevels of a store; CrdbStoreOverloaded'],
  write_stalls: ['number', 1, 'write stalls a minute; CrdbStoreOverloaded'],
  disk_latency: ['short seconds', 0.1, '99th percentile of a sync, seconds; CrdbStoreDiskSlow'],
  disk_slow: ['number', 5, 'slow operations in 10 minutes; CrdbStoreDiskSlow'],
  underreplicated: ['share', 0.1, 'share of all ranges (critical); CrdbRangesUnderreplicated'],
  quorum_risk: ['share', 0.1, 'share of all ranges, above it it is intended; CrdbQuorumAtRisk'],
  scan_minutes: [
    'minutes',
    15,
    'minutes that range scans are compared over, three of their intervals at least; CrdbScanDisagrees',
  ],
  hot_range_cpu: ['number', 0.75, 'CPU seconds per second; CrdbHotRange'],
  hot_range_queries: ['number', 2_500, 'queries per second, without CPU; CrdbHotRange'],
  backup_hours: ['hours', 26, 'hours since the last backup; CrdbBackupTooOld'],
  protected_age: [
    'seconds',
    3_600,
    'seconds for which a paused job keeps data; CrdbChangefeedPaused, CrdbJobPaused',
  ],
  replication_lag: ['seconds', 600, 'seconds behind the source cluster; CrdbReplicationLag'],
  changefeed_lag: ['seconds', 600, 'seconds behind (warning); CrdbChangefeedLagging'],
  changefeed_lag_critical: ['seconds', 14_400, 'seconds behind (critical); CrdbChangefeedLagging'],
} as const satisfies Readonly<Record<string, readonly [ThresholdKind, number, string]>>;

export type ThresholdName = keyof typeof THRESHOLDS;
/** The limit of each, in the unit of its kind: `cpu` 0.9, `backup_hours` 26. */
export type Thresholds = Readonly<Record<ThresholdName, number>>;

const THRESHOLD_NAMES: readonly ThresholdName[] = Object.keys(THRESHOLDS).filter(isThresholdName);

export function isThresholdName(name: string): name is ThresholdName {
  return Object.hasOwn(THRESHOLDS, name);
}

/** Something for each threshold. */
export function mapThresholds<T>(read: (name: ThresholdName) => T): Record<ThresholdName, T> {
  const all: Partial<Record<ThresholdName, T>> = {};
  for (const name of THRESHOLD_NAMES) all[name] = read(name);
  const isWhole = (record: typeof all): record is Record<ThresholdName, T> =>
    THRESHOLD_NAMES.every((name) => name in record);
  if (!isWhole(all)) throw new Error('a threshold has no value');
  return all;
}

export const DEFAULT_THRESHOLDS: Thresholds = mapThresholds((name) => THRESHOLDS[name][1]);

/** Why a number cannot be a threshold of this kind, as `not a number of days from 1 to 3660`. */
export function findThresholdFault(kind: ThresholdKind, value: number): string | undefined {
  const { what, bounds } = KINDS[kind];
  const { exclusiveMinimum = -Infinity, minimum = -Infinity, maximum = Infinity } = bounds;
  const isWithin = value > exclusiveMinimum && value >= minimum && value <= maximum;
  const isMultiple = bounds.multipleOf === undefined || value % bounds.multipleOf === 0;
  return isWithin && isMultiple ? undefined : `not ${what}`;
}

/**
 * The critical limits that are not beyond those that warn, with the reason: `disk_critical` 0.3 with `disk` 0.2. Of two
 * defaults the order tells which side is critical.
 */
export function findWrongOrders(
  limits: Readonly<Partial<Record<ThresholdName, number | undefined>>>,
): readonly {
  readonly critical: ThresholdName;
  readonly warning: ThresholdName;
  readonly message: string;
}[] {
  return THRESHOLD_NAMES.flatMap((critical) => {
    const warning = critical.replace('_critical', '');
    if (warning === critical || !isThresholdName(warning)) return [];
    const { [warning]: limit, [critical]: worse } = limits;
    if (limit === undefined || worse === undefined) return [];
    const isLess = THRESHOLDS[critical][1] < THRESHOLDS[warning][1];
    if (isLess ? worse < limit : worse > limit) return [];
    const order = isLess ? 'less' : 'more';
    const message = `${critical} (${worse}) must be ${order} than ${warning} (${limit})`;
    return [{ critical, warning, message }];
  });
}

/** The bounds of a kind in the words of a JSON schema. */
export function boundsOf(kind: ThresholdKind): NumberKind['bounds'] {
  return KINDS[kind].bounds;
}

function threshold(kind: ThresholdKind) {
  return v.pipe(
    v.number(
      invalid(
        (input) => `is ${findThresholdFault(kind, NaN)}${unquoteHint(input, Number.isFinite)}`,
      ),
    ),
    rejectIf((value) => {
      const fault = findThresholdFault(kind, value);
      return fault && `${value} is ${fault}`;
    }),
    // Editors know the bounds and not the check.
    v.metadata({ valueType: 'number', ...boundsOf(kind) }),
  );
}

/** `thresholds` of the configuration file. */
export const THRESHOLD_SECTION = section(
  mapThresholds((name) => {
    const [kind, usual, about] = THRESHOLDS[name];
    return key(v.optional(threshold(kind), usual), { help: toSentence(about) });
  }),
);

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
