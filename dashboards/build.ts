// `npm run dashboards`: writes the JSON of every dashboard beside its source.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { buildBoards, writeBoard } from './boards.ts';

for (const board of buildBoards()) {
  writeFileSync(path.join(import.meta.dirname, `${board.uid}.json`), writeBoard(board));
}
