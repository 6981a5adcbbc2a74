import { getEventListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { watchDeadlines } from '../../../src/cockroach/http/attempt.ts';
import { abortable, delay } from '../../../src/cockroach/http/client.ts';
import { ask, connect } from '../../support/http-client.ts';
import { serve } from '../../support/http-server.ts';

const DEADLINES = { headersMs: 1_500, idleMs: 500, minBytesPerSecond: 100, rateGraceMs: 1_000 };

test('a request fails as its poll does, but not once it is over', () => {
  const [before, after] = [new AbortController(), new AbortController()];
  const running = watchDeadlines(before.signal, DEADLINES, 'nodes');
  const over = watchDeadlines(after.signal, DEADLINES, 'nodes');
  const reason = new Error('the poll is over');
  before.abort(reason);
  expect(running.signal.reason).toBe(reason);
  running.stop();
  over.stop();
  after.abort();
  expect(over.signal.aborted).toBe(false);
  expect(getEventListeners(after.signal, 'abort')).toEqual([]);
});

test('a body may start more slowly than it must arrive on the average', async () => {
  const { signal } = new AbortController();
  const deadlines = { ...DEADLINES, minBytesPerSecond: 1e9, rateGraceMs: 60_000 };
  const body = watchDeadlines(signal, deadlines, 'nodes');
  body.headersArrived();
  await delay(5, signal, 'short');
  body.chunkArrived(1);
  body.stop();
  expect(body.signal.aborted).toBe(false);
});

/** Keeps this thread from everything, timers included, as when the process is stopped. */
function stopFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe('what arrived while the process was stopped', () => {
  const deadlines = { ...DEADLINES, headersMs: 100, idleMs: 100 };

  test('is too late when the headers were due long ago', () => {
    using watch = watched();
    stopFor(1_200);
    expect(() => watch.headersArrived()).toThrow('nodes: no headers within 0.1 s');
  });

  test('is too late when the next chunk was due long ago', () => {
    using watch = watched();
    watch.headersArrived();
    watch.chunkArrived(9);
    stopFor(1_200);
    expect(() => watch.chunkArrived(9)).toThrow('nodes: no data for 0.1 s');
  });

  test('says nothing of the node that was asked', async () => {
    const held = Promise.withResolvers<ServerResponse>();
    await using server = await serve((request, response) => {
      if (request.url?.includes('/held/') === true) held.resolve(response);
      else response.end('{"fine":true}');
    });
    // Enough for the requests that are not late, also on a busy machine.
    await using client = connect([server.url], {
      deadlines: { ...DEADLINES, headersMs: 2_000, idleMs: 2_000 },
    });
    const ofNode = { endpoint: 'node_ranges', node: 3 } as const;
    const late = Promise.allSettled([ask(client, { ...ofNode, path: '/held/' })]);
    const response = await held.promise;
    await ask(client);
    response.end('{"fine":true}');
    stopFor(3_200);
    const message: unknown = expect.stringContaining('no headers within 2 s');
    expect(await late).toMatchObject([{ status: 'rejected', reason: { message } }]);
    expect(await ask(client, { ...ofNode, path: '/fine/' })).toBe('{"fine":true}');
  });

  test('is in time when a busy process reads it a little later', () => {
    using watch = watched();
    stopFor(200);
    watch.headersArrived();
    stopFor(200);
    watch.chunkArrived(9);
    expect(watch.signal.aborted).toBe(false);
  });

  function watched() {
    const watch = watchDeadlines(new AbortController().signal, deadlines, 'nodes');
    return { ...watch, [Symbol.dispose]: () => watch.stop() };
  }
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
