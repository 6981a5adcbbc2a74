import type { Thresholds } from '#alerts';
import { formatDuration, formatNodes } from '#base';
import type { Throttling } from '#cockroach';
import { ok, type Verdict } from './diagnose-checklist.ts';

const DAY = 86_400;
/** A week without telemetry throttles; clusters send it every day. */
const TELEMETRY_SECONDS = 4 * DAY;
const ALERT = 'CrdbLicenseExpiring';
const FINE = ok('transactions are not throttled');

/** What the server says of throttling. A cluster of one node needs no license. */
export function judgeThrottling(
  { throttled, hasGracePeriod, hasTelemetryDeadline, ...found }: Throttling,
  nodeCount: number,
  nowSeconds: number,
  { license_days }: Thresholds,
): Verdict {
  if (throttled === undefined) return { verdict: 'skipped', detail: 'the response does not say' };
  const ids = (found.nodeIdsWithTelemetryProblems ?? []).map(Number).filter((id) => id > 0);
  const from = ids.length === 0 ? '' : `, of ${formatNodes(ids)}`;
  const telemetry = `let the nodes reach register.cockroachdb.com for telemetry${from}, which licenses without a fee need`;
  const license = 'set a license: SET CLUSTER SETTING enterprise.license';
  if (throttled) {
    const detail = 'transactions are throttled: each node refuses them while 5 are open';
    const advice = hasTelemetryDeadline ? `${license}; or ${telemetry}` : license;
    return { verdict: 'warning', detail, advice, alert: ALERT };
  }
  if (nodeCount < 2) return FINE;
  const graceLeft = hasGracePeriod ? Number(found.gracePeriodEndSeconds) - nowSeconds : Infinity;
  const telemetryLeft = hasTelemetryDeadline
    ? Number(found.telemetryDeadlineSeconds) - nowSeconds
    : Infinity;
  if (telemetryLeft < TELEMETRY_SECONDS && telemetryLeft <= graceLeft) {
    const detail = `telemetry is missing; transactions are throttled in ${formatDuration(Math.max(0, telemetryLeft))}`;
    return { verdict: 'warning', detail, advice: telemetry, alert: ALERT };
  }
  if (graceLeft < license_days * DAY) {
    const detail = `transactions are throttled in ${formatDuration(Math.max(0, graceLeft))}, when the grace period of the license ends`;
    return { verdict: 'warning', detail, advice: license, alert: ALERT };
  }
  return FINE;
}
