import type { Answer } from '../http/answer.ts';
import { cloudError } from './answers.ts';

const REQUESTS_PER_SECOND = 10;

/** Counts the requests of the last second; the eleventh gets the refusal. */
export function createRateLimit(now: () => number): () => Answer | undefined {
  let recent: number[] = [];
  return () => {
    recent = recent.filter((ms) => ms > now() - 1000);
    if (recent.length >= REQUESTS_PER_SECOND) {
      const refusal = cloudError('throttled', 'rate limit exceeded');
      return { ...refusal, headers: { ...refusal.headers, 'Retry-After': '1' } };
    }
    recent.push(now());
    return undefined;
  };
}
