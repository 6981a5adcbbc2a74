import { jsonAnswer, type Reply, unknownPath } from '../http/answer.ts';
import { encodeJson } from '../wire/encoding.ts';
import { callerOfCookie, isRefusal, type ClusterRequest, type ClusterServer } from './request.ts';

const DAY_SECONDS = 86_400;

/**
 * GET /_status/throttling, as jsonpb writes it: int64 as text. A cluster without a license has 7 days from its start, an expired
 * trial license 7 days from its end; servers before 24.3 do not have the page.
 */
export function describeThrottling(server: ClusterServer, request: ClusterRequest): Reply {
  const { license, startMs, options } = server.world.state;
  if (license === 'unreported') return unknownPath();
  const caller = callerOfCookie(server, request);
  if (typeof caller === 'string' || isRefusal(caller)) return caller;
  const startSeconds = Math.floor(startMs / 1000);
  const now = Math.floor(options.now() / 1000);
  const graceEnd = startSeconds + 7 * DAY_SECONDS;
  const isGranted = license === 'none' || license === 'expired';
  const isThrottled = isGranted && now >= graceEnd;
  return jsonAnswer(
    200,
    encodeJson({
      throttled: isThrottled,
      throttleExplanation: isThrottled ? 'license required' : '',
      hasGracePeriod: isGranted,
      gracePeriodEndSeconds: String(isGranted ? graceEnd : 0),
      hasTelemetryDeadline: false,
      telemetryDeadlineSeconds: '0',
      lastTelemetryReceivedSeconds: '0',
      nodeIdsWithTelemetryProblems: [],
    }),
  );
}
