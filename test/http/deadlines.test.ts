import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { abortable, delay, watchDeadlines } from '../../src/http/deadlines.ts';

const DEADLINES = { headersMs: 1_500, idleMs: 500, minBytesPerSecond: 100, rateGraceMs: 1_000 };

/** Watches a request with the fake clock; `failure` is why its signal aborted. */
function watch(deadlines: Partial<typeof DEADLINES> = {}) {
  const parent = new AbortController();
  const watched = watchDeadlines(parent.signal, { ...DEADLINES, ...deadlines }, 'nodes');
  return {
    signal: watched.signal,
    headersArrived: (): void => watched.headersArrived(),
    stop: (): void => watched.stop(),
    parent,
    failure: (): unknown => watched.signal.reason,
    /** A chunk of so many bytes after so much time. */
    receive: (bytes: number, afterMs: number): void => {
      vi.advanceTimersByTime(afterMs);
      watched.chunkArrived(bytes);
    },
  };
}

function late(message: string): unknown {
  return expect.objectContaining({ name: 'RequestError', reason: 'timeout', message });
}

describe('a request', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  test('fails at its deadline for headers', () => {
    const { failure } = watch();
    vi.advanceTimersByTime(1_499);
    expect(failure()).toBeUndefined();
    vi.advanceTimersByTime(1);
    expect(failure()).toEqual(late('nodes: no headers within 1.5 s'));
  });

  test('fails when the next chunk is not there in time, counted from the last one', () => {
    const { failure, headersArrived, receive } = watch();
    vi.advanceTimersByTime(1_499);
    headersArrived();
    receive(1_000, 499);
    receive(1_000, 499);
    vi.advanceTimersByTime(499);
    expect(failure()).toBeUndefined();
    vi.advanceTimersByTime(1);
    expect(failure()).toEqual(late('nodes: no data for 0.5 s'));
  });

  test.each([
    [false, [[999, 1]]],
    [true, [[1_000, 99]]],
    [false, [[1_000, 100]]],
    [
      true,
      [
        [500, 60],
        [600, 49],
      ],
    ],
    [
      false,
      [
        [500, 60],
        [600, 50],
      ],
    ],
  ])(
    'is below the minimum rate: %s, for chunks after so many ms, of so many bytes: %j',
    (isSlow, chunks) => {
      const { failure, headersArrived, receive } = watch({ idleMs: 5_000 });
      // The wait for headers does not count.
      vi.advanceTimersByTime(1_400);
      headersArrived();
      for (const [afterMs = 0, bytes = 0] of chunks) receive(bytes, afterMs);
      const slow = late('nodes: slower than 100 bytes per second');
      expect(failure()).toEqual(isSlow ? slow : undefined);
    },
  );

  test('fails as its poll does, but not once it is over', () => {
    const over = watch();
    over.stop();
    vi.advanceTimersByTime(10_000);
    over.parent.abort();
    expect(over.signal.aborted).toBe(false);
    expect(getEventListeners(over.parent.signal, 'abort')).toEqual([]);
    const { parent, failure } = watch();
    const reason = new Error('the poll is over');
    parent.abort(reason);
    expect(failure()).toBe(reason);
  });
});

describe('a wait', () => {
  test('ends with its poll, while the work goes on', async () => {
    const stop = new AbortController();
    const work = Promise.withResolvers<string>();
    const waits = [0, 1].map(() => abortable(work.promise, stop.signal, 'nodes'));
    stop.abort(new DOMException('time is up', 'TimeoutError'));
    waits.push(abortable(work.promise, stop.signal, 'nodes'));
    for (const wait of waits) await expect(wait).rejects.toThrow('nodes: poll timeout exceeded');
    work.resolve('done');
    expect(await work.promise).toBe('done');
  });

  test('takes as long as it should', async () => {
    const stop = new AbortController();
    const long = delay(60_000, stop.signal, 'long').catch(() => 'stopped');
    await delay(20, stop.signal, 'short');
    stop.abort();
    expect(await long).toBe('stopped');
  });

  test('leaves no listener behind', async () => {
    const { signal } = new AbortController();
    expect(await abortable(Promise.resolve('done'), signal, 'nodes')).toBe('done');
    await expect(abortable(Promise.reject(new Error('no')), signal, 'x')).rejects.toThrow('no');
    await delay(1, signal, 'nodes');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    await expect(delay(60_000, AbortSignal.abort('stop'), 'pause')).rejects.toThrow('pause: ');
  });
});
