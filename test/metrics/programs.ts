import { spawnSync } from 'node:child_process';

/** Whether a command is there and ends well. */
export function works(command: string, args: readonly string[] = ['--version']): boolean {
  return spawnSync(command, args).status === 0;
}

/** Whether tests that need this command must be skipped; never in CI, where it has to be installed. */
export function isMissing(command: string): boolean {
  return process.env['CI'] !== 'true' && !works(command);
}

/** Runs a command with `input` and returns its standard output. Throws an Error with what it said when it fails. */
export function run(command: string, args: readonly string[], input: string | Buffer): Buffer {
  const { status, stdout, stderr, error } = spawnSync(command, args, { input, maxBuffer: 2 ** 28 });
  if (status !== 0) {
    throw new Error(`${command} ended with ${status}: ${stderr?.toString() ?? error?.message}`);
  }
  return stdout;
}
