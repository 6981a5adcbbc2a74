import { spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';

/** Whether a program is on the PATH; tests that need it are skipped by name where it is not. */
export function hasProgram(name: string): boolean {
  return findProgram(name) !== undefined;
}

/**
 * Whether a jsonnet is on the PATH that reads the mixin: the block scalars of the rules need go-jsonnet 0.20 or the one in C++
 * 0.21 (Debian 12 has 0.18). Both print their version: `Jsonnet commandline interpreter (Go implementation) v0.22.0`.
 */
export function hasJsonnet(): boolean {
  const { status, stdout } = spawnSync('jsonnet', ['--version'], { encoding: 'utf8' });
  const [, major, minor] = /v(\d+)\.(\d+)/.exec(stdout ?? '') ?? [];
  const least = stdout?.includes('(Go implementation)') ? 20 : 21;
  return status === 0 && Number(major) * 1000 + Number(minor) >= least;
}

/** Where a program of the PATH is. */
export function findProgram(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter).filter((one) => one !== '');
  return folders.map((folder) => path.join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** A Node of the PATH that is too old for the program. */
export function findOldNode(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  return folders
    .map((folder) => path.join(folder, 'node'))
    .find((node) => {
      const { status, stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
      return status === 0 && Number.parseInt(stdout.slice(1), 10) < 24;
    });
}

/** Whether a Python module can be imported. */
export function hasPythonModule(name: string): boolean {
  return spawnSync('python3', ['-c', `import ${name}`]).status === 0;
}
