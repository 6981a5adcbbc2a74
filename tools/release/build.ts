// `npm pack` runs this first: builds dist/, because Node.js strips no types below node_modules.
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readBuild } from '../../src/build.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const DIST = path.join(ROOT, 'dist');

const { revision } = readBuild();
// Otherwise files of an older build would be published.
rmSync(DIST, { recursive: true, force: true });
compile();
copyAssets();
writeFileSync(path.join(DIST, 'revision'), `${revision}\n`);

function compile(): void {
  const tsc = path.join(ROOT, 'node_modules', '.bin', 'tsc');
  const { status, error } = spawnSync(tsc, ['--project', 'tsconfig.build.json'], {
    cwd: ROOT,
    stdio: ['ignore', 2, 2],
  });
  if (error !== undefined) throw new Error('the compiler cannot be started', { cause: error });
  if (status !== 0) throw new Error(`the compiler failed with status ${status}`);
}

/** Copies files that the program reads at run time; none may have the name of a module. */
function copyAssets(): void {
  cpSync(path.join(ROOT, 'src'), path.join(DIST, 'src'), {
    recursive: true,
    force: false,
    errorOnExist: true,
    filter: (file) => !/\.(?:ts|md)$/.test(file),
  });
}
