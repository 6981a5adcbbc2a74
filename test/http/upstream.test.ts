import { describe, expect, test } from 'vitest';
import { BoundedMap } from '../../src/http/bounded-map.ts';
import { EndpointHealth } from '../../src/http/endpoint-health.ts';
import { Upstream } from '../../src/http/upstream.ts';

const clock = { now: 0 };
const OPTIONS = {
  breakerOpenMs: 1_000,
  deadlines: { headersMs: 1_000, headersAfterSilenceMs: 100 },
  maxDuty: 0.1,
  monotonicMs: () => clock.now,
};

function create(isOnly = true): Upstream {
  clock.now = 0;
  return new Upstream('http://a', isOnly, OPTIONS);
}

describe('a URL', () => {
  test.each([
    ['http://a/path', 'a:80'],
    ['https://a', 'a:443'],
    ['http://a:443', 'a:443'],
    ['https://a:8080/', 'a:8080'],
    ['https://[::1]', '[::1]:443'],
  ])('%s is named %s', (url, name) => {
    expect(new Upstream(url, true, OPTIONS).name).toBe(name);
  });

  test.each([
    ['the only one', true, 3],
    ['one of several', false, 1],
  ])('that is %s (%s) is left alone after failure number %i', (_what, isOnly, failures) => {
    const { breaker } = create(isOnly);
    for (let failure = 1; failure < failures; failure += 1) breaker.failed(0);
    expect(breaker.state).toBe('closed');
    breaker.failed(0);
    expect(breaker.state).toBe('open');
  });

  test('has one health for each endpoint', () => {
    const url = create();
    expect(url.endpoint('nodes')).toBe(url.endpoint('nodes'));
    expect(url.endpoint('nodes')).not.toBe(url.endpoint('users'));
  });

  test('is opened by the silence of two different names since its last answer', () => {
    const url = create();
    clock.now = 20;
    url.recordAnswer();
    for (const sentAtMs of [30, 40]) url.recordSilence('nodes', sentAtMs);
    expect(url.breaker.state).toBe('closed');
    url.recordSilence('users', 50);
    expect(url.breaker.trialAtMs).toBe(1_050);
    url.recordAnswer();
    expect(url.breaker.state).toBe('closed');
    url.recordSilence('sessions', 50);
    expect(url.breaker.state).toBe('closed');
  });

  test('ends its trials with an answer', () => {
    const url = create();
    for (const endpoint of ['nodes', 'users'] as const) url.breaker.startTrial(endpoint);
    clock.now = 7;
    url.recordAnswer();
    expect(url.breaker.trialEnded('nodes')).toBeUndefined();
    expect(url.breaker.trialEnded('users')).toBeUndefined();
    expect(url.answeredAtMs).toBe(7);
  });
});

describe('the health of an endpoint', () => {
  test('has the full deadline at first, and in every tenth request without an answer', () => {
    const health = new EndpointHealth(OPTIONS);
    const deadlines = Array.from({ length: 30 }, (_, at) => {
      const deadline = health.headersMs(false, 1_000);
      health.recordSilence(at);
      return deadline;
    });
    const nine = Array.from({ length: 9 }, () => 100);
    expect(deadlines).toEqual([1_000, ...nine.slice(1), 1_000, ...nine, 1_000, ...nine, 1_000]);
    expect(health.headersMs(true, 1_000)).toBe(100);
    health.recordSilence(30);
    health.recordHeaders(0);
    expect([health.headersMs(false, 1_000), health.headersMs(true, 1_000)]).toEqual([1_000, 100]);
    for (let request = 0; request < 9; request += 1) health.recordSilence(request);
    expect(health.headersMs(true, 1_000)).toBe(1_000);
  });

  test.each([
    [0, 100],
    [50, 100],
    [51, 102],
    [499, 998],
    [501, 1_000],
  ])('has after an answer in %i ms a short deadline of %i ms', (tookMs, expected) => {
    const health = new EndpointHealth(OPTIONS);
    health.recordHeaders(tookMs);
    expect(health.shortHeadersMs(1_000)).toBe(expected);
  });

  test('has no longer short deadline than configured before its first answer', () => {
    const health = new EndpointHealth({
      ...OPTIONS,
      deadlines: { headersMs: 1_000, headersAfterSilenceMs: 0 },
    });
    expect(health.shortHeadersMs(1_000)).toBe(0);
  });

  test('of a node is the full deadline until its first answer, then in every third request', () => {
    const health = new EndpointHealth(OPTIONS, true);
    const deadlines = (): readonly number[] =>
      Array.from({ length: 6 }, (_, at) => {
        const deadline = health.headersMs(false, 2_000);
        health.recordSilence(at);
        return deadline;
      });
    expect(deadlines()).toEqual([2_000, 2_000, 2_000, 2_000, 2_000, 2_000]);
    health.recordHeaders(300);
    expect(deadlines()).toEqual([2_000, 600, 2_000, 600, 600, 2_000]);
  });

  test('knows since when there has been no answer', () => {
    const health = new EndpointHealth(OPTIONS);
    expect([health.recordSilence(10), health.recordSilence(20)]).toEqual([
      { sinceMs: 10, requests: 1 },
      { sinceMs: 10, requests: 2 },
    ]);
    health.recordHeaders(1);
    expect(health.recordSilence(30)).toEqual({ sinceMs: 30, requests: 1 });
  });

  test('forgets its failures at a URL that answers', () => {
    const first = new URL('http://a');
    const second = new URL('http://b');
    const health = new EndpointHealth(OPTIONS);
    health.failureOrder.set(first, 1).set(second, 2);
    for (let failure = 0; failure < 2; failure += 1) health.breaker.failed(0);
    expect(health.breaker.state).toBe('closed');
    health.breaker.failed(0);
    expect(health.breaker.state).toBe('open');
    health.breaker.startTrial('nodes');
    health.succeeded(first);
    expect([...health.failureOrder]).toEqual([[second, 2]]);
    expect(health.breaker.state).toBe('closed');
    expect(health.breaker.trialEnded('nodes')).toBeUndefined();
  });
});

test('a bounded map drops its oldest entry when it has more than 10,000', () => {
  const map = new BoundedMap<number, number>();
  for (let key = 0; key < 10_000; key += 1) map.set(key, -key);
  map.set(9_999, 5);
  expect([map.size, map.get(0), map.get(9_999)]).toEqual([10_000, -0, 5]);
  map.set(10_000, 7);
  expect([map.get(0), map.get(1), map.get(10_000)]).toEqual([undefined, -1, 7]);
});
