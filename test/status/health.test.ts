import { describe, expect, test } from 'vitest';
import { openScene, SCENES } from '../browser/scenes.ts';
import { withCollectors } from '../support/exporter.ts';
import { readCluster } from './read-status.ts';

describe('the state', () => {
  test('is unknown, with the remedy, while the exporter cannot log in', async () => {
    await using scene = await openScene(SCENES.rejected);
    const { state, findings } = await readCluster(scene);
    expect(state).toBe('unknown');
    expect(findings).toMatchObject([
      { about: 'exporter', alert: 'CrdbAccessRejected', level: 'warning' },
    ]);
    expect(findings[0]?.next).toContain('User and password were refused');
  });
});

test('ranges that were read before a node went down are marked as older', async () => {
  await using scene = await openScene({
    intervalSeconds: 600,
    adapt: (config) =>
      withCollectors(config, (each) =>
        each['page_limit'] === 200 ? { ...each, interval: 0.3 } : each,
      ),
  });
  scene.simulators.get('demo')?.world.killNode(9, 'dead');
  const stale = async () => (await readCluster(scene)).ranges?.downSinceScan;
  await expect.poll(stale).toEqual([9]);
  const { text } = await scene.exporter.get('/');
  expect(text).toContain('Node 9 is dead');
  expect(text).toContain('Read before node 9 went down');
  expect(text).toContain('Not known: node 9 went down after the last range scan');
  expect((await readCluster(scene)).ranges?.dependent).toBeUndefined();
});

test('ranges that were read without a node are no sign of health', async () => {
  await using scene = await openScene({ intervalSeconds: 0.3 });
  const state = async () => (await readCluster(scene)).state;
  await expect.poll(state).toBe('healthy');
  const simulator = scene.simulators.get('demo');
  simulator?.fault({ kind: 'status', status: 500, node: 9 });
  await expect.poll(state).toBe('unknown');
  const { text } = await scene.exporter.get('/');
  expect(text).toContain(
    'No replica that was read reports a problem. This exporter did not read every node that is up.',
  );
  expect(text).toMatch(/Read from 8 of 9 nodes\.\s+The figures are lower bounds\./);
  simulator?.clearFaults();
  // A line for each change.
  await expect.poll(() => scene.exporter.log()).toMatch(/recovered after .*HTTP 500/);
});

test('a scan that could not read most nodes says nothing of tables and load', async () => {
  await using scene = await openScene({ intervalSeconds: 0.3 });
  const partial = async () =>
    (await readCluster(scene)).collectors.find(({ name }) => name === 'ranges')?.isPartial;
  await expect.poll(async () => (await readCluster(scene)).ranges?.nodes.scanned).toBe(9);
  const fault = { kind: 'status', status: 500, endpoint: 'node_ranges' } as const;
  scene.simulators.get('demo')?.fault(fault);
  await expect.poll(partial).toBe(true);
  // The fault began within a scan.
  const told = async () =>
    (await readCluster(scene)).findings.filter(({ text }) => /9 of 9 nodes were not/.test(text));
  await expect.poll(told).toHaveLength(2);
  const [failing, unread] = await told();
  expect(failing?.text).toMatch(/^Collector ranges is failing, no counts of ranges are shown: /);
  expect(unread?.text).toMatch(/^The ranges of 9 of 9 nodes .*: no counts are shown\.$/);
  expect(unread?.next).not.toContain('hang');
  const { text } = await scene.exporter.get('/');
  const unknown = /Not known: most of the nodes that were up could not be read\./g;
  expect(text.match(unknown)).toHaveLength(3);
  expect(text).not.toMatch(/No (?:table|range) /);
});
