import { expect, test } from 'vitest';
import { openScene, type Scene } from '../../browser/scenes.ts';
import { readCluster } from '../read-status.ts';

/** A cluster with a dead node that was polled, and whose API then refuses all requests. */
async function openRefused(): Promise<Scene> {
  const scene = await openScene({
    intervalSeconds: 2,
    clusters: { demo: { nodes: 5, frozen: true, faultyNodes: false } },
  });
  const simulator = scene.simulators.get('demo');
  simulator?.world.killNode(5);
  const keys = async () => (await readCluster(scene)).findings.map(({ key }) => key);
  await expect.poll(keys).toContain('nodes dead');
  simulator?.fault({ kind: 'status', status: 503 });
  const state = async () => (await readCluster(scene)).state;
  await expect.poll(state).toBe('unknown');
  return scene;
}

test('nothing of a cluster that cannot be seen looks current', async () => {
  await using scene = await openRefused();
  const { findings, safeToStop } = await readCluster(scene);
  const [first, ...others] = findings;
  expect(first).toMatchObject({ alert: 'CrdbClusterApiDown', level: 'critical' });
  expect(first?.text).toMatch(
    /^The exporter cannot see the cluster: .* Last seen [\d mins]+ ago: 4 of 5 nodes live, node 5 down\.$/,
  );
  expect(first?.next).toMatch(/^First run a SQL query: the database may still work\. /);
  expect(safeToStop).toMatchObject({ answer: 'unknown', nodes: [] });
  const dead = others.find(({ key }) => key === 'nodes dead');
  expect(dead?.text).toMatch(/^Last seen [\d mins]+ ago: Node 5 is dead\.$/);
  expect(dead).toMatchObject({
    level: 'info',
    next: 'The polls of nodes are failing, and this may have changed.',
  });
});

test('the page has no green while polls fail', async () => {
  await using scene = await openRefused();
  const { text } = await scene.exporter.get('/');
  const main = text.slice(text.indexOf('class="headline'), text.indexOf('id="collectors"'));
  expect(main).toMatch(/live,\s+<time/);
  expect(main).not.toMatch(/class="(?:icon )?(?:live|healthy)"/);
  expect(main).not.toContain('decommission');
  expect(main).not.toContain('may stop now without');
});

test('a URL that has worked needs no hint at its port', async () => {
  await using scene = await openScene({ intervalSeconds: 0.3 });
  await scene.simulators.get('demo')?.close();
  const next = async () =>
    (await readCluster(scene)).findings.find(({ alert }) => alert === 'CrdbClusterApiDown')?.next;
  await expect.poll(next).toContain('check that the node is up');
  expect(await next()).not.toContain('the port');
});
