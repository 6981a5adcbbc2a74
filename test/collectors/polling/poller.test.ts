import { once } from 'node:events';
import { expect, test } from 'vitest';
import { BreakerOpenError } from '../../../src/cockroach/http/client.ts';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import { addWarning } from '../../../src/cockroach/http/poll-stats.ts';
import { STRETCHED } from '../../../src/collectors/polling/duty.ts';
import { keyOf, preparePoller, START_MS } from './prepare-poller.ts';

test('a poll is described by what it read and how long the answers took', async () => {
  const { poller, poll, counts, logged, ended } = preparePoller(
    (context, clock) => {
      Object.assign(context, { items: 3, pages: 2, bytes: 100 });
      context.responding.push({ startMs: 10, endMs: 130 }, { startMs: 200, endMs: 250 });
      clock.nowMs += 400;
    },
    { max_duty: 0.001 },
  );
  expect([poller.outcome, poller.intervalSeconds]).toEqual([{ state: 'waiting' }, 60]);
  expect([poller.result, poller.snapshot, poller.isPolling]).toEqual([undefined, undefined, false]);
  const polling = poll();
  expect([poller.isPolling, poller.nextPollMs]).toEqual([true, undefined]);
  await polling;
  const atMs = START_MS + 1_400;
  const seconds = { durationSeconds: 0.4, responseSeconds: 0.17 };
  expect(poller.outcome).toEqual({
    state: 'ok',
    failure: undefined,
    last: { atMs, ...seconds, items: 3, pages: 2, bytes: 100, limits: new Set() },
    lastSuccessMs: atMs,
    warnings: new Map([['responses, other', STRETCHED]]),
  });
  expect(poller.intervalSeconds).toBe(170);
  expect([poller.isPolling, poller.snapshot?.series, ended.polls]).toEqual([false, 2, 1]);
  expect(await counts()).toEqual({ [keyOf('polls_total')]: 1 });
  expect(logged()).toEqual(['info collector succeeded']);
});

test('a failed poll keeps the data and says why', async () => {
  let failure: Error | undefined;
  const { poller, clock, poll, counts } = preparePoller(() => {
    if (failure !== undefined) throw failure;
  });
  await poll();
  const { snapshot, outcome } = poller;
  failure = new Error('odd');
  clock.nowMs += 60_000;
  await poll();
  expect(poller.snapshot).toBe(snapshot);
  expect(poller.outcome).toMatchObject({
    state: 'failing',
    failure: { error: new RequestError('other', 'odd'), remedy: 'fix odd' },
    last: { atMs: START_MS + 61_000, durationSeconds: 0 },
    lastSuccessMs: outcome.lastSuccessMs,
  });
  expect(await counts()).toEqual({
    [keyOf('polls_total')]: 2,
    [keyOf('poll_failures_total', { reason: 'other' })]: 1,
  });
});

test('a result may be published although its poll failed', async () => {
  const failure = new RequestError('http', 'half of it');
  const { poller, poll } = preparePoller(() => ({ failure }));
  await poll();
  expect(poller.result).toEqual({ failure });
  expect(poller.outcome).toMatchObject({
    failure: { error: failure, remedy: 'fix half of it' },
  });
});

test.each([
  [1, 1],
  [1_000, 1],
  [1_001, 2],
])('a poll whose URLs are blocked for %d ms is skipped for %d s', async (blocked, seconds) => {
  let polls = 0;
  const { poller, clock, http, poll, counts, ended } = preparePoller(() => (polls += 1));
  await poll();
  const { last, lastSuccessMs } = poller.outcome;
  http.blocked = blocked;
  clock.nowMs += 60_000;
  await poll();
  const message = `all URLs fail; poll skipped, next attempt in ${seconds} s`;
  expect(poller.outcome).toEqual({
    state: 'failing',
    failure: {
      error: new RequestError('breaker_open', message),
      rule: 'odd',
      remedy: `fix ${message}`,
    },
    last,
    lastSuccessMs,
    warnings: new Map(),
  });
  expect(await counts()).toEqual({
    [keyOf('polls_total')]: 1,
    [keyOf('polls_skipped_total', { reason: 'breaker_open' })]: 1,
  });
  // Due as soon as the URLs are tried again, and not before.
  http.blocked = 0;
  clock.nowMs += blocked - 1;
  await poll();
  expect([polls, ended.polls]).toEqual([1, 2]);
  clock.nowMs += 1;
  await poll();
  expect([polls, ended.polls]).toEqual([2, 3]);
});

test('a poll that is stopped by an open breaker is repeated when that lets a request through', async () => {
  let polls = 0;
  const { poller, clock, poll } = preparePoller(() => {
    polls += 1;
    throw new BreakerOpenError({ endpoint: 'nodes' }, 5_000);
  });
  await poll();
  expect(poller.outcome.failure?.error.reason).toBe('breaker_open');
  clock.nowMs += 4_999;
  await poll();
  expect(polls).toBe(1);
  clock.nowMs += 1;
  await poll();
  expect(polls).toBe(2);
});

test('a poll on demand begins an interval after the last one, less the jitter', async () => {
  let polls = 0;
  const { clock, poll } = preparePoller(() => (polls += 1));
  await poll();
  clock.nowMs += 56_999;
  await poll();
  expect(polls).toBe(1);
  clock.nowMs += 1;
  await Promise.all([poll(), poll()]);
  expect(polls).toBe(2);
});

test('data is shown until it is too old', async () => {
  const { poller, clock, poll } = preparePoller(() => ({ tableIds: ['7'] }), { max_age: 90 });
  await poll();
  clock.nowMs += 90_000;
  expect([poller.result, poller.snapshot?.series]).toEqual([{ tableIds: ['7'] }, 2]);
  clock.nowMs += 1;
  expect([poller.result, poller.snapshot]).toEqual([undefined, undefined]);
});

test('data is older by the time that the host is suspended, also during its poll', async () => {
  let sleepMs = 0;
  const { poller, clock, poll } = preparePoller(
    (_context, host) => {
      host.nowMs += 500;
      host.sleptMs += sleepMs;
    },
    { max_age: 90 },
  );
  await poll();
  expect(poller.resultAgeSeconds).toBe(0);
  clock.sleptMs += 3_600_000;
  expect([poller.resultAgeSeconds, poller.result]).toEqual([3_600, undefined]);
  sleepMs = 80_000;
  await poll();
  expect([poller.resultAgeSeconds, poller.snapshot?.series]).toEqual([80, 2]);
  expect(poller.outcome.last?.durationSeconds).toBe(0.5);
  clock.nowMs += 10_001;
  expect(poller.snapshot).toBeUndefined();
});

test.each([
  [59_999, 0],
  [60_000, 1],
  [179_999, 2],
])('a poll of %d ms skips %d others', async (tookMs, skipped) => {
  const { poll, counts } = preparePoller((_context, clock) => (clock.nowMs += tookMs));
  await poll();
  expect((await counts())[keyOf('polls_skipped_total', { reason: 'overrun' })] ?? 0).toBe(skipped);
});

test('each poll loses what exceeds the series of its collector, and counts it', async () => {
  const { poller, clock, poll, counts } = preparePoller(() => undefined, { max_series: 1 });
  await poll();
  clock.nowMs += 60_000;
  await poll();
  expect([poller.outcome.state, poller.outcome.last?.limits, poller.snapshot?.series]).toEqual([
    'ok',
    new Set(['series']),
    0,
  ]);
  const dropped = JSON.stringify({ family: 'crdb_orders', reason: 'budget' });
  expect(await counts()).toEqual({
    [keyOf('polls_total')]: 2,
    [`crdb_exporter_series_dropped_total ${dropped}`]: 4,
  });
});

test('a poll that the end of the process stops is not counted and reports nothing', async () => {
  const stop = new AbortController();
  const { poller, counts, logged, ended } = preparePoller(async ({ signal }) => {
    stop.abort();
    await waitFor(signal);
    throw new Error('stopped');
  });
  await poller.pollNow(stop.signal, 10_000);
  expect(poller.outcome.state).toBe('waiting');
  expect([await counts(), logged(), ended.polls]).toEqual([{}, [], 0]);
});

test('a poll that waits for the one before is skipped when the process ends', async () => {
  const stop = new AbortController();
  const gate = Promise.withResolvers<void>();
  const before = preparePoller(() => gate.promise);
  const old = before.poll();
  let polls = 0;
  const next = preparePoller(() => (polls += 1), {}, { previous: before.poller });
  const waiting = next.poller.pollNow(stop.signal, 10_000);
  stop.abort();
  gate.resolve();
  await Promise.all([old, waiting]);
  expect([polls, next.ended.polls, next.poller.outcome.state]).toEqual([0, 0, 'waiting']);
  expect(await next.counts()).toEqual({
    [keyOf('polls_skipped_total', { reason: 'shutdown' })]: 1,
  });
});

test('a warning lasts until a poll without it succeeds', async () => {
  let texts: readonly string[] = ['a', 'b'];
  let isBroken = false;
  let isCut = false;
  const { poller, clock, poll } = preparePoller((context) => {
    for (const about of texts)
      addWarning(context, { about, error: new RequestError('other', 'odd') });
    if (isCut) context.limits.add('duration');
    if (isBroken) throw new Error('broken');
  });
  const next = async (): Promise<readonly string[]> => {
    clock.nowMs += 60_000;
    await poll();
    const warnings = [...(poller.outcome.warnings?.values() ?? [])];
    return warnings.map(({ about }) => about).toSorted();
  };
  expect(await next()).toEqual(['a', 'b']);
  texts = ['b', 'c'];
  isBroken = true;
  expect(await next()).toEqual(['a', 'b', 'c']);
  isBroken = false;
  expect(await next()).toEqual(['b', 'c']);
  // What a poll did not reach may be as before.
  texts = ['d'];
  isCut = true;
  expect(await next()).toEqual(['b', 'c', 'd']);
  isCut = false;
  expect(await next()).toEqual(['d']);
});

test('a new poller shows what the previous one showed, and polls when that has ended', async () => {
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = preparePoller(() => ({ tableIds: ['7'] }));
  await first.poll();
  const slow = preparePoller(
    () => gate.promise.then(() => order.push('old')),
    {},
    { previous: first.poller },
  );
  expect(slow.poller.result).toEqual({ tableIds: ['7'] });
  expect(slow.poller.outcome).toEqual(first.poller.outcome);
  const old = slow.poll();
  const second = preparePoller(
    () => order.push('new'),
    { interval: 90 },
    { previous: slow.poller },
  );
  expect(second.poller.intervalSeconds).toBe(90);
  const fresh = second.poll();
  await new Promise(setImmediate);
  expect(order).toEqual([]);
  gate.resolve();
  await Promise.all([old, fresh]);
  expect(order).toEqual(['old', 'new']);
});

test('the state of a collector lasts while its options stay the same, and is a new one after `forget`', async () => {
  const states: { polls: number }[] = [];
  const collect = (_poll: unknown, _clock: unknown, state: unknown) =>
    states.push(Object.assign(Object(state), { polls: 5 }));
  const first = preparePoller(collect, {}, { options: { page: 1 } });
  const second = preparePoller(collect, {}, { options: { page: 1 }, previous: first.poller });
  const third = preparePoller(collect, {}, { options: { page: 2 }, previous: second.poller });
  for (const { poll } of [first, second, third]) await poll();
  expect(states.map((state) => states.indexOf(state))).toEqual([0, 0, 2]);
  second.poller.forget();
  second.clock.nowMs += 60_000;
  await second.poll();
  expect(states.indexOf(states.at(-1) ?? { polls: 0 })).toBe(3);
});

test.each([
  [1, 57_000],
  [1e-9, 9.5 * 86_400_000],
])('polls of its own with a duty of %d come %d ms after each other', async (max_duty, delayMs) => {
  const stop = new AbortController();
  const { poller, ended } = preparePoller(
    ({ responding }) => responding.push({ startMs: 0, endMs: 1_000 }),
    { max_duty },
  );
  const running = poller.run(stop.signal);
  const nextPollMs = START_MS + 1_000 + delayMs;
  await expect.poll(() => [ended.polls, poller.nextPollMs]).toEqual([1, nextPollMs]);
  stop.abort();
  await running;
  expect(poller.nextPollMs).toBeUndefined();
});

async function waitFor(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

test.each([3_600_000, -3_600_000])(
  'what was polled is not older or younger when the wall clock is set by %i ms',
  async (stepMs) => {
    const { poller, clock, poll } = preparePoller((_context, { nowMs }) => {
      if (nowMs > 60_000) throw new Error('no answer');
    });
    await poll();
    const { lastSuccessMs } = poller.outcome;
    clock.wallStepMs = stepMs;
    expect(poller.outcome.lastSuccessMs).toBe((lastSuccessMs ?? 0) + stepMs);
    clock.nowMs += 60_000;
    await poll();
    const { state, last, lastSuccessMs: succeededMs } = poller.outcome;
    expect(state).toBe('failing');
    expect((last?.atMs ?? 0) - (succeededMs ?? 0)).toBe(60_000);
  },
);
