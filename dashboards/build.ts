// `npm run dashboards -- [--set KEY=VALUE …] [--output FOLDER]`: writes the JSON of every dashboard, by default beside its source.
// The settings are those of `crdb-exporter rules`.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { SettingError } from '../src/alerts/rule-settings.ts';
import { buildBoards, writeBoard } from './boards.ts';

const { values } = parseArgs({
  options: {
    set: { type: 'string', multiple: true, default: [] },
    output: { type: 'string', default: import.meta.dirname },
  },
});
try {
  const boards = buildBoards(values.set);
  mkdirSync(values.output, { recursive: true });
  for (const board of boards) {
    writeFileSync(path.join(values.output, `${board.uid}.json`), writeBoard(board));
  }
} catch (error) {
  if (!(error instanceof SettingError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
