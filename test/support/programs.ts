import { spawnSync } from 'node:child_process';

/** Whether a program is on the PATH; tests that need it are skipped by name where it is not. */
export function hasProgram(name: string): boolean {
  return spawnSync('which', [name]).status === 0;
}

/** Whether a Python module can be imported. */
export function hasPythonModule(name: string): boolean {
  return spawnSync('python3', ['-c', `import ${name}`]).status === 0;
}
