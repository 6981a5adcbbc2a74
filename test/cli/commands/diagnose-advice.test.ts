import { expect, test } from 'vitest';
import { startSimulator } from '../../../src/simulator/index.ts';
import { configFlag, runHere } from '../run.ts';

test('what diagnose finds leads to the runbook, or names the alert where no address is configured', async () => {
  await using simulator = await startSimulator({ nodes: 4, ranges: 30, faultyNodes: false });
  simulator.world.killNode(4);
  const diagnose = async (more: string) =>
    (await runHere(['diagnose', await configFlag(simulator, { more })])).out;
  expect(await diagnose('')).toMatch(/node 4 is dead\n.*\n {8}see CrdbNodeDead\n/);
  const links = 'links: { runbook_url: https://wiki.example }\n';
  expect(await diagnose(links)).toContain('see https://wiki.example/CrdbNodeDead.md\n');
});

test('the silence of a node is no cost of the scan', async () => {
  await using simulator = await startSimulator({ nodes: 3, ranges: 30 });
  simulator.world.freezeNode(3, 'ranges');
  const more = 'collectors: { ranges: { interval: 1s, node_timeout: 1s } }\n';
  const { out } = await runHere(['diagnose', '--scan', await configFlag(simulator, { more })]);
  expect(out).toMatch(/! GET \/nodes\/\{node_id\}\/ranges\/ .* 1 node was not read;/);
  expect(out).toMatch(/- range scan +its cost is not known/);
});

test('a closed connection is no reason to look for another port where the API has worked', async () => {
  await using simulator = await startSimulator({ nodes: 1, ranges: 30 });
  simulator.fault({ kind: 'reset', endpoint: 'sessions' });
  const { out } = await runHere(['diagnose', await configFlag(simulator)]);
  expect(out).toMatch(/✗ GET \/sessions\/ .*\n +→ the server closed the connection: check that/);
});
