import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { structureOf, writeCommandsPage } from '../../tools/docs/commands-page.ts';
import { describeSimulator, PAGE_SIMULATOR } from '../../tools/docs/commands-simulator.ts';
import { PROCESS_TIMEOUT_MS, runHere, writeTemporary } from './run.ts';

const PAGE = path.join(import.meta.dirname, '../../docs/commands.md');

test(
  'docs/commands.md shows the commands as `npm run docs:commands` would now',
  { timeout: PROCESS_TIMEOUT_MS },
  async () => {
    await using simulator = await startSimulator(PAGE_SIMULATOR);
    simulator.world.setAssistantDuration(10);
    const file = await writeTemporary('exporter.yml', describeSimulator(simulator));
    const fresh = await writeCommandsPage(async (args) => {
      const { out, err } = await runHere([...args.slice(0, -1), `--config.file=${file}`]);
      return err + out;
    });
    const page = readFileSync(PAGE, 'utf8');
    expect(structureOf(fresh)).toEqual(structureOf(page));
    expect(structureOf(page).length).toBeGreaterThan(30);
  },
);
