import { expect, test } from 'vitest';
import { rangeProblems } from '../../src/findings/range-problems.ts';
import { openScene, SCENES } from '../browser/scenes.ts';
import { readStatus } from '../web/status/read-status.ts';
import { RANGES } from '../web/status/results.ts';

test('commands name the cluster where several are configured', async () => {
  await using scene = await openScene(SCENES['two clusters']);
  const commandsOf = async () =>
    (await readStatus(scene)).clusters.flatMap(({ name, findings }) =>
      findings.flatMap(({ next }) =>
        [...next.matchAll(/`(crdb-exporter [^`]+)`/g)].map(([, words = '']) => [name, words]),
      ),
    );
  await expect.poll(async () => (await commandsOf()).length).toBeGreaterThan(0);
  for (const [name = '', words] of await commandsOf()) expect(words).toContain(`--cluster ${name}`);
});

test('the first ranges of a cluster are named, not those of tables', () => {
  const range = { problem: 'unavailable', nodeId: 1, storeId: 1, index: '', firstSeenAt: '' };
  const oldest = [
    { ...range, rangeId: 2, table: '' },
    { ...range, rangeId: 3, table: 'movr.public.users' },
    { ...range, rangeId: 9, table: '' },
  ];
  const [problem] = rangeProblems({ ...RANGES, problems: { unavailable: 3 }, oldest }, false);
  expect(problem?.text).toContain(
    'r2 (system: node liveness) on node 1, r3 of movr.public.users on node 1 and r9 on node 1.',
  );
});
