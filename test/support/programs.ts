import { spawnSync } from 'node:child_process';

/** Whether a program is on the PATH; tests that need it are skipped by name where it is not. */
export function hasProgram(name: string): boolean {
  return findProgram(name) !== undefined;
}

/** Where a program of the PATH is. */
export function findProgram(name: string): string | undefined {
  const { status, stdout } = spawnSync('which', [name], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/** Whether a Python module can be imported. */
export function hasPythonModule(name: string): boolean {
  return spawnSync('python3', ['-c', `import ${name}`]).status === 0;
}
