import { expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/index.ts';
import { refusing } from '../../support/http-server.ts';
import { runHere } from '../run.ts';

function simulate(clusterName: string): Promise<Simulator> {
  return startSimulator({
    clusterName,
    nodes: 3,
    ranges: 10,
    metricKeys: 'useful',
    faultyNodes: false,
    insecure: true,
  });
}

test.each(['nodes', 'sessions', 'ranges', 'users', 'tables', 'range 1'])(
  '`%s` fails when a URL leads to another cluster, and says which',
  async (command) => {
    await using east = await simulate('east');
    await using west = await simulate('west');
    const urls = [east.clusterUrl, west.clusterUrl].map((url) => `--cluster.url=${url}`);
    const { code, out, err } = await runHere([...command.split(' '), ...urls]);
    expect([code, out]).toEqual([1, '']);
    const [first, other] = [east, west].map(({ clusterUrl }) => new URL(clusterUrl).host);
    expect(err).toContain(`the URLs lead to different clusters: ${first} (node 1 at `);
    expect(err).toContain(` of the cluster east) and ${other} (node 1 at `);
    expect(err).toContain('remove the wrong one from cluster_api.urls');
  },
);

test('a URL that is down is no other cluster', async () => {
  await using east = await simulate('east');
  const urls = [await refusing(), east.clusterUrl].map((url) => `--cluster.url=${url}`);
  const { code, err } = await runHere(['nodes', ...urls]);
  expect([code, err]).toEqual([0, '']);
});
