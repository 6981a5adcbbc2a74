// What every room may use: closed sets of words, numbers, texts, time, the log.
export { type Build, readBuild, ROOT } from './build.ts';
export { type Clock, SYSTEM_CLOCK, WallClockSteps } from './clock.ts';
export {
  type OptionSpec,
  type OptionSpecs,
  type OptionValues,
  type Query,
  queryMetric,
  type Rewrite,
} from './collector-options.ts';
export {
  capitalize,
  cleanText,
  formatAge,
  formatAgo,
  formatBytes,
  formatCount,
  formatCounted,
  formatDuration,
  formatJson,
  formatLine,
  formatList,
  formatNodes,
  formatNumber,
  formatPercent,
  formatRanges,
  formatTable,
  formatTables,
  formatTime,
  messageOf,
  moveTime,
  plural,
  quoteArgument,
  toTime,
  toTimestamp,
} from './format.ts';
export { beginDeadline } from './deadline.ts';
export { createLog, type Log } from './log.ts';
export { findNearest } from './nearest-word.ts';
export { largest, median, ratio, smallest, sum, sumOrNone } from './numbers.ts';
export { sourceStack } from './source-stack.ts';
export { inSlices } from './time-slice.ts';
export { findUrlFault } from './url-fault.ts';
export {
  type Api,
  APIS,
  BREAKER_STATES,
  type BreakerState,
  CLUSTER_ENDPOINTS,
  type Endpoint,
  FAILURE_REASONS,
  type FailureReason,
  type Limit,
  LIMITS,
  LIVENESS_BY_CODE,
  LIVENESS_STATUSES,
  type LivenessStatus,
  PROBLEMS,
  type RangeProblem,
  REPORTED_PROBLEMS,
  type ReportedProblem,
  type RetryReason,
  SEVERITIES,
  type Severity,
  TLS_REFUSALS,
  type TlsRefusal,
} from './vocabulary.ts';
