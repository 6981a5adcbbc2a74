import type { RateLimit } from '../config/web-config.ts';

/** A token bucket: `burst` tokens at first, one more for each interval, one spent for each request. */
export function createRateLimiter(monotonicMs: () => number): (limit: RateLimit) => boolean {
  let bucket: { limit: RateLimit; tokens: number; atMs: number } | undefined;
  return (limit) => {
    const { intervalSeconds, burst } = limit;
    const nowMs = monotonicMs();
    const isSame =
      bucket?.limit.burst === burst && bucket.limit.intervalSeconds === intervalSeconds;
    const before = isSame && bucket ? bucket : { tokens: burst, atMs: nowMs };
    const earned = (nowMs - before.atMs) / 1000 / intervalSeconds;
    const tokens = Math.min(burst, before.tokens + earned);
    bucket = { limit, tokens: tokens >= 1 ? tokens - 1 : tokens, atMs: nowMs };
    return tokens >= 1;
  };
}
