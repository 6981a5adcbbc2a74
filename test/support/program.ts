import path from 'node:path';

/** The checkout, or where `npm test` has compiled the program (`compileProgram`). */
const FOLDER = process.env['TEST_PROGRAM'] ?? path.join(import.meta.dirname, '../..');

/** What Node.js runs for the program: `node PROGRAM nodes`. */
export const PROGRAM = path.join(
  FOLDER,
  process.env['TEST_PROGRAM'] === undefined ? 'src/main.ts' : 'dist/main.cjs',
);
/** The command of the package, which starts the same. */
export const LAUNCHER = path.join(FOLDER, 'bin/crdb-exporter.cjs');
