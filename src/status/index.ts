// What a scrape cannot say: findings, the page, /api/status, runbooks.
export { renewalLimits } from './findings/certificates.ts';
export { PARTITION } from './findings/check-network.ts';
export { sumOfStores } from './findings/node-metrics.ts';
export { nodeProblems, describeNodes } from './findings/node-problems.ts';
export { runbookUrl } from './findings/problem.ts';
export {
  adviseOutage,
  adviseProblem,
  isSystemRange,
  PROBLEM_ISSUES,
  STUCK,
  systemRangeName,
  UNAVAILABLE,
} from './findings/range-problems.ts';
export { findLastTable, keySpaceOf } from './findings/range-status.ts';
export {
  type Connections,
  describeUnheard,
  findUnreachable,
  findUnreachableSince,
  leastFavourable,
} from './findings/reachability.ts';
export {
  decideSafeToStop,
  describeWithoutProblems,
  formatHeld,
  youngestRecord,
} from './findings/safe-to-stop.ts';
export {
  checkScan,
  compareScan,
  formatComparison,
  formatScanCheck,
} from './findings/scan-check.ts';
export { findHiddenSessions, grantOfSessions } from './findings/session-problems.ts';
export type { CommandForm } from './findings/status.ts';
export { createStatus } from './status-routes.ts';
