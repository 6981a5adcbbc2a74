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
