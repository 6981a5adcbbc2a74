// `npm run dashboards -- [--set KEY=VALUE …] [--format FORMAT] [--output FOLDER]`: writes every dashboard, by default its JSON beside
// its source. The settings are those of `crdb-exporter rules`.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { SettingError } from '../src/alerts/rule-settings.ts';
import { buildBoards } from './boards.ts';
import { writeFile } from './formats.ts';

const { values } = parseArgs({
  options: {
    set: { type: 'string', multiple: true, default: [] },
    format: { type: 'string', default: 'json' },
    output: { type: 'string', default: import.meta.dirname },
  },
});
try {
  const files = buildBoards(values.set).map((board) => writeFile(board, values.format));
  mkdirSync(values.output, { recursive: true });
  for (const { name, text } of files) writeFileSync(path.join(values.output, name), text);
} catch (error) {
  if (!(error instanceof SettingError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
