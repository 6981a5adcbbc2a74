import { expect, test } from 'vitest';
import { ClusterIdentity } from '../../../src/cockroach/identity.ts';
import { keyOf, preparePoller } from './prepare-poller.ts';

const FAILED = {
  [keyOf('polls_total')]: 2,
  [keyOf('poll_failures_total', { reason: 'other' })]: 1,
};

test('a result that cannot be written as samples fails its poll and leaves what was published', async () => {
  let isOdd = false;
  const { poller, clock, poll, counts, ended } = preparePoller(
    () => ({}),
    {},
    {
      written() {
        if (isOdd) throw new RangeError('Invalid time value');
      },
    },
  );
  await poll();
  const { snapshot, result } = poller;
  isOdd = true;
  clock.nowMs += 60_000;
  await poll();
  expect(poller.outcome).toMatchObject({
    state: 'failing',
    failure: {
      error: { reason: 'other', message: 'the result cannot be exported: Invalid time value' },
      remedy: expect.stringContaining('report it'),
    },
    last: { durationSeconds: 0 },
  });
  expect([poller.snapshot, poller.result]).toEqual([snapshot, result]);
  expect(await counts()).toEqual(FAILED);
  expect(ended.polls).toBe(2);
});

test('a result that the status cannot show is withdrawn, and its poll has failed', async () => {
  const { poller, clock, poll, counts, ended } = preparePoller(
    () => ({}),
    {},
    {
      reported(polls) {
        if (polls === 2) throw new RangeError('Maximum call stack size exceeded');
      },
    },
  );
  await poll();
  const { snapshot } = poller;
  const { lastSuccessMs } = poller.outcome;
  clock.nowMs += 60_000;
  await poll();
  const message = 'the result cannot be shown: Maximum call stack size exceeded';
  expect(poller.outcome).toMatchObject({
    state: 'failing',
    failure: { error: { message } },
    lastSuccessMs,
  });
  expect(poller.snapshot).toBe(snapshot);
  expect(await counts()).toEqual(FAILED);
  // The failure is reported, too.
  expect(ended.polls).toBe(3);
});

test('a result that the status cannot show leaves nothing of a cluster that was replaced meanwhile', async () => {
  const { poller, clock, poll } = preparePoller(
    () => {
      if (poller.snapshot !== undefined) poller.forget();
    },
    {},
    {
      reported(polls) {
        if (polls === 2) throw new RangeError('Maximum call stack size exceeded');
      },
    },
  );
  await poll();
  expect(poller.snapshot).toBeDefined();
  clock.nowMs += 60_000;
  await poll();
  expect(poller.outcome.state).toBe('failing');
  expect([poller.snapshot, poller.lastResult]).toEqual([undefined, undefined]);
});

test('a result is not shown when another cluster answers while it is rendered', async () => {
  let names = ['east'];
  const { poller, clock, poll, listings } = preparePoller(
    () => ({}),
    {},
    {
      written() {
        for (const cluster_name of names.splice(0)) {
          const identity = new ClusterIdentity();
          identity.add({
            node_id: 1,
            address: { address_field: 'crdb-1:26257' },
            started_at: 1,
            cluster_name,
          });
          listings.listed({ pollId: Symbol(cluster_name) }, identity);
        }
      },
    },
  );
  listings.onReplaced(() => poller.forget());
  await poll();
  expect(poller.snapshot).toBeDefined();
  const node = 'node 1 at crdb-1:26257 of the cluster';
  for (const [other, message] of [
    ['west', 'the cluster was replaced during the poll'],
    ['east', `two clusters answer by turns: ${node} west and ${node} east`],
  ] as const) {
    names = [other];
    clock.nowMs += 60_000;
    await poll();
    expect(poller.outcome.failure?.error.message).toBe(message);
    expect([poller.snapshot, poller.lastResult]).toEqual([undefined, undefined]);
  }
});

test('a poll whose end cannot be reported is logged, and the next one runs', async () => {
  let isBroken = true;
  const { poller, clock, poll, logged } = preparePoller(
    () => ({}),
    {},
    {
      reported() {
        if (isBroken) throw new Error('odd');
      },
    },
  );
  await poll();
  expect([poller.outcome.state, poller.snapshot]).toEqual(['failing', undefined]);
  expect(logged().at(-1)).toMatch(/^error the end of a poll was not recorded/);
  isBroken = false;
  clock.nowMs += 60_000;
  await poll();
  expect(poller.outcome.state).toBe('ok');
});
