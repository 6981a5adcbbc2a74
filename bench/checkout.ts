import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '..');

/** The files of another commit, with the packages of this one. */
export interface Checkout extends Disposable {
  /** The path of a program of its folder bench, for `startProcess`. */
  program(name: string): string;
}

/** Checks out a commit into a temporary folder, which goes at the end. Throws when git does not know the commit. */
export function checkOut(commit: string): Checkout {
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-commit-'));
  const git = (...words: readonly string[]): unknown =>
    execFileSync('git', ['worktree', ...words], {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  git('add', '--detach', folder, commit);
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  return {
    program: (name) => path.join(folder, 'bench', name),
    [Symbol.dispose]() {
      rmSync(path.join(folder, 'node_modules'));
      git('remove', '--force', folder);
    },
  };
}
