import { once } from 'node:events';
import { expect, test } from 'vitest';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import { preparePoller } from './prepare-poller.ts';

test('the work of a collector begins after a poll and has ended when the next one begins', async () => {
  const events: string[] = [];
  const { clock, poll, poller } = preparePoller(
    () => events.push('poll'),
    {},
    {
      async work({ signal }) {
        events.push('work');
        await once(signal, 'abort');
        events.push('end of work');
      },
    },
  );
  await poll();
  expect(events).toEqual(['poll', 'work']);
  clock.nowMs += 60_000;
  await poll();
  expect(events).toEqual(['poll', 'work', 'end of work', 'poll', 'work']);
  await poller.settled();
  expect(events.at(-1)).toBe('end of work');
});

test('the work goes on after a poll that failed, and its own failure is logged and nothing else', async () => {
  let works = 0;
  const { clock, poll, poller, logged } = preparePoller(
    () => {
      throw new RequestError('http', 'odd');
    },
    {},
    {
      async work() {
        works += 1;
        throw new Error('broken');
      },
    },
  );
  await poll();
  clock.nowMs += 60_000;
  await poll();
  expect(works).toBe(2);
  expect(logged()).toContain('error the work between two polls failed');
  expect(poller.outcome.failure?.error.message).toBe('odd');
});
