import { type PollWarning, RequestError } from '#cockroach';
import { MAX_DURATION_SECONDS } from '#config';

/** The warning of a collector whose interval is longer than the configured one. */
export const STRETCHED: PollWarning = {
  about: 'responses',
  error: new RequestError('other', 'responses are slow: max_duty stretches the interval'),
};

/**
 * The interval in seconds at which responses take no more than their share of the time. Example: with `max_duty: 0.1`
 * responses of 9 s stretch an interval of 60 s to 90 s. Waiting for a request that gets no response puts no load on the cluster
 * and does not count.
 */
export function stretchInterval(
  { interval, max_duty }: { readonly interval: number; readonly max_duty: number },
  responseSeconds = 0,
): number {
  return Math.max(interval, Math.min(responseSeconds / max_duty, MAX_DURATION_SECONDS));
}
