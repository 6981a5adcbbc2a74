import { expect, test } from 'vitest';
import { RELEASES, type Simulator, startSimulator } from '../../simulator/index.ts';
import { ask, clusterClient, logIn, type NodesBody } from './client.ts';

const CALM = { scenario: 'calm', metricKeys: 'useful', nodes: 3, ranges: 40 } as const;

async function nodesOf(simulator: Simulator) {
  const client = await clusterClient(simulator);
  return (await client<NodesBody>('/nodes/')).json().nodes ?? [];
}

/** The status of each connection that a node lists. */
async function statusesOf(simulator: Simulator, id: number) {
  const token = await logIn(simulator);
  const { connections } = (
    await ask<{
      readonly connections: Readonly<
        Record<string, { readonly peers: Readonly<Record<string, { readonly status: number }>> }>
      >;
    }>(`${simulator.clusterUrl}/_status/connectivity`, { headers: { Cookie: `session=${token}` } })
  ).json();
  return Object.values(connections[id]?.peers ?? {}).map(({ status }) => status);
}

async function varsOf(url = ''): Promise<string> {
  return (await ask(`${url}/_status/vars`)).text;
}

test.each(RELEASES)(
  'a cluster of %s has the build, the keys and the leases of it',
  async (release) => {
    await using simulator = await startSimulator({ ...CALM, release });
    const nodes = await nodesOf(simulator);
    const isAfter = (other: (typeof RELEASES)[number]): boolean =>
      RELEASES.indexOf(release) >= RELEASES.indexOf(other);
    for (const { build_tag, metrics, ServerVersion } of nodes) {
      expect(build_tag).toMatch(new RegExp(`^v${release}\\.`));
      expect(`${ServerVersion.major_val}.${ServerVersion.minor_val}`).toBe(release);
      expect('jobs.inspect.issues_found' in metrics).toBe(isAfter('25.4'));
      expect('physical_replication.running' in metrics).toBe(!isAfter('26.3'));
      expect(metrics['rpc.connection.healthy']).toBe(isAfter('26.3') ? 0 : 6);
      expect(metrics['rpc.connection.unhealthy']).toBe(0);
    }
    expect(await statusesOf(simulator, 1)).toEqual(isAfter('26.3') ? [2, 2] : [1, 1]);
    const kinds = [...simulator.world.state.ranges.values()].map(
      ({ leases }) => leases.at(-1)?.kind,
    );
    expect(new Set(kinds)).toEqual(new Set(['leader', 'expiration']));
  },
);

test('nodes restart as another release one by one, and talk by DRPC once both have it', async () => {
  await using simulator = await startSimulator({ ...CALM, release: '25.4' });
  simulator.world.upgradeNode(1, '26.3');
  expect(await statusesOf(simulator, 1)).toEqual([1, 1]);
  simulator.world.upgradeNode(2, '26.3');
  expect(await statusesOf(simulator, 1)).toEqual([2, 1]);
  expect(await statusesOf(simulator, 3)).toEqual([1, 1]);
  const [first, , third] = await nodesOf(simulator);
  expect([first?.build_tag, third?.build_tag]).toEqual(['v26.3.0-alpha.1', 'v25.4.3']);
  expect([first, third].map((node) => node?.metrics['rpc.connection.healthy'])).toEqual([2, 6]);
  // The others withdrew their support of the stores of both.
  const withdrawn = Object.values(third?.store_metrics ?? {}).map(
    (store) => store['storeliveness.support_withdraw.successes'],
  );
  expect(withdrawn[0]).toBeGreaterThanOrEqual(2);
});

test('the figures of the whole cluster are in the metrics of one node, unless only essential ones are shown', async () => {
  await using simulator = await startSimulator({ ...CALM, release: '26.3', gateways: 2 });
  const [first, second] = await Promise.all(simulator.clusterUrls.map((url) => varsOf(url)));
  expect(first).toContain('changefeed_checkpoint_lag{');
  expect(first).toContain('sql_query_count{');
  expect(second).not.toContain('changefeed_checkpoint_lag{');
  simulator.setQuirk('visibility', 'essential');
  const essential = await varsOf(simulator.clusterUrls[0]);
  expect(essential).toContain('sys_uptime{node_id="1"}');
  expect(essential).not.toMatch(/sql_query_count|changefeed_checkpoint_lag/);
});
