import { describe, expect, test } from 'vitest';
import { fetchPath } from '../fetch-path.ts';
import { startPolledOrchard } from '../orchard.ts';

describe('the status page', () => {
  test.each(['/', '/?cluster=orchard', '/api/status'])(
    '%s is rendered once per state, and again a second later',
    async (target) => {
      let nowMs = 1_700_000_000_000;
      // Every reading of the clock differs, so that only shared bytes are equal.
      const clock = { wallMs: () => (nowMs += 0.001), monotonicMs: () => performance.now() };
      const { url } = await startPolledOrchard({ app: { clock } });
      nowMs += 5_000.5;
      const first = await fetchPath(url, target);
      nowMs += 5;
      expect((await fetchPath(url, target)).text).toBe(first.text);
      nowMs += 1_000;
      expect((await fetchPath(url, target)).text).not.toBe(first.text);
    },
  );

  test('is not confused with /api/status or with another cluster', async () => {
    const { url } = await startPolledOrchard();
    const page = await fetchPath(url, '/');
    const status = await fetchPath(url, '/api/status');
    expect(page.headers['content-type']).toContain('text/html');
    expect(status.headers['content-type']).toContain('application/json');
    expect((await fetchPath(url, '/?cluster=nobody')).status).toBe(404);
  });
});
