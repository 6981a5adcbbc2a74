import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readBuild } from '../../src/base/build.ts';
import { bundleProgram } from '../../tools/release/bundle.ts';

const ROOT = path.join(import.meta.dirname, '../..');
/** What the program reads at run time. */
const READ = ['config', 'docs', 'src/json', 'src/status'];

/**
 * Compiles the program into this folder as it is packed, with the launcher: a start takes 0.1 s of CPU, and from the sources
 * 0.3. The other files are those of the checkout.
 */
export async function compileProgram(folder: string): Promise<void> {
  mkdirSync(path.join(folder, 'src'), { recursive: true });
  for (const name of ['bin', 'package.json']) {
    cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  }
  for (const name of READ) symlinkSync(path.join(ROOT, name), path.join(folder, name));
  await bundleProgram(path.join(folder, 'dist'));
  writeFileSync(path.join(folder, 'dist', 'revision'), `${readBuild().revision}\n`);
}
