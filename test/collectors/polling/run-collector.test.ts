import { expect, test } from 'vitest';
import { SYSTEM_CLOCK } from '../../../src/base/clock.ts';
import type { CollectorPoll, CollectorResult } from '../../../src/collectors/collector.ts';
import { KeptState, runCollector } from '../../../src/collectors/polling/run-collector.ts';
import { object } from '../../../src/json/index.ts';
import { createTestClient } from '../../support/cluster.ts';
import { orders } from '../../support/collectors.ts';
import { serve } from '../../support/http-server.ts';

/** A server that lists one node of the cluster of this name, or does not respond. */
function serveNodes(cluster: { name: string }) {
  return serve((_request, response) => {
    const { name } = cluster;
    if (name === '') return;
    const node = { node_id: 1, cluster_name: name, started_at: name.length };
    response.end(JSON.stringify({ nodes: [{ ...node, address: { address_field: name } }] }));
  });
}

type Poll = CollectorPoll<object, { polls: number }>;

/** A collector that counts its polls in its state and lists the nodes. */
const counting = {
  ...orders,
  createState: () => ({ polls: 0 }),
  async collect(api: ReturnType<typeof createTestClient>['api'], poll: Poll) {
    const before = poll.state;
    before.polls += 1;
    await api.nodes(poll, { limit: 10, shape: object({}), onNode: () => undefined });
    poll.state.polls += 10;
    return { isNew: poll.state !== before };
  },
};

function given<State>(state: KeptState<State>, timeout = 20, stop = new AbortController().signal) {
  const settings = {
    enabled: true,
    interval: 60,
    timeout,
    max_duty: 0.3,
    max_series: 1_000,
    colour: 'red',
  };
  const config = { collectors: { orders: settings }, cluster_api: undefined };
  return { config, clock: SYSTEM_CLOCK, stop, state };
}

test('a poll has the options, the share of the time and the deadline of its collector', async () => {
  await using server = await serveNodes({ name: 'east' });
  await using client = createTestClient({ urls: [server.url] });
  const polls: CollectorPoll<unknown, unknown>[] = [];
  const collector = {
    ...orders,
    options: { colour: { kind: 'enum', values: ['red'], default: 'red', help: '' } } as const,
    async collect(_api: unknown, poll: CollectorPoll<unknown, unknown>): Promise<CollectorResult> {
      polls.push(poll);
      return {};
    },
  };
  const state = new KeptState<unknown>(collector);
  await runCollector(collector, client.api, given(state)).result;
  const chosen = { options: { colour: 'blue' }, firstUrl: 1, descriptors: 'all' } as const;
  await runCollector(collector, client.api, { ...given(state), chosen }).result;
  expect(polls[0]).toMatchObject({ options: { colour: 'red' }, maxDuty: 0.3, urls: 1 });
  expect(polls[0]?.leftMs()).toBeLessThan(Infinity);
  expect(polls[1]).toMatchObject(chosen);
  expect(polls[1]?.leftMs()).toBe(Infinity);
});

test('a poll ends at the timeout of its collector, which is a limit, or when it is stopped, which is none', async () => {
  await using server = await serveNodes({ name: '' });
  await using client = createTestClient({ urls: [server.url] });
  const late = runCollector(counting, client.api, given(new KeptState(counting), 0.05));
  await expect(late.result).rejects.toMatchObject({ reason: 'timeout', endpoint: 'nodes' });
  expect([...late.stats.limits]).toEqual(['duration']);
  const stop = new AbortController();
  const stopped = runCollector(
    counting,
    client.api,
    given(new KeptState(counting), 20, stop.signal),
  );
  stop.abort();
  await expect(stopped.result).rejects.toThrow('nodes');
  expect([...stopped.stats.limits]).toEqual([]);
});

test('a poll that notices another cluster goes on with an empty state; one that may have read both fails', async () => {
  const cluster = { name: 'east' };
  await using server = await serveNodes(cluster);
  await using client = createTestClient({ urls: [server.url] });
  const held = Promise.withResolvers<void>();
  const slow: typeof counting = {
    ...counting,
    async collect(api, poll) {
      const result = await counting.collect(api, poll);
      await held.promise;
      poll.state.polls += 100;
      return result;
    },
  };
  const [state, other] = [new KeptState(counting), new KeptState(counting)];
  client.api.listings.onReplaced(() => {
    for (const each of [state, other]) each.clear();
  });
  const poll = () => runCollector(counting, client.api, given(state)).result;
  expect(await poll()).toEqual({ isNew: false });
  const mixed = runCollector(slow, client.api, given(other)).result;
  await expect.poll(() => other.current).toEqual({ polls: 11 });
  cluster.name = 'west';
  expect(await poll()).toEqual({ isNew: true });
  expect([state.current, other.current]).toEqual([{ polls: 10 }, { polls: 0 }]);
  held.resolve();
  await expect(mixed).rejects.toThrow('the cluster was replaced during the poll');
  expect(other.current).toEqual({ polls: 0 });
  expect(await poll()).toEqual({ isNew: false });
});
