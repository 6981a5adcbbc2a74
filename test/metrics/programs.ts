import { spawnSync } from 'node:child_process';

/** Whether tests that need this command must be skipped; never in CI, where all programs are installed. */
export function isMissing(command: string, args: readonly string[] = ['--version']): boolean {
  return process.env['CI'] !== 'true' && spawnSync(command, args).status !== 0;
}

/** Runs a command with `input` and returns its standard output. Throws an Error with what it said when it fails. */
export function run(command: string, args: readonly string[], input: string | Buffer): Buffer {
  const { status, stdout, stderr, error } = spawnSync(command, args, { input, maxBuffer: 2 ** 28 });
  if (status !== 0) {
    throw new Error(`${command} ended with ${status}: ${stderr?.toString() ?? error?.message}`);
  }
  return stdout;
}
