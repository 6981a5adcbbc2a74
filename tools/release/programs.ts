import { spawn, spawnSync } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';

export const ROOT = path.join(import.meta.dirname, '../..');

/** Runs a program in the checkout and returns its standard output. An error contains its output. */
export function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (error !== undefined) throw new Error(`${program} cannot be started`, { cause: error });
  if (status === 0) return stdout;
  throw new Error(`${program} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
}

/** Whether a program is installed and succeeds with these arguments. */
export function works(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args).status === 0;
}

/** Like `run`, for programs that take minutes: prints the output while it arrives, and returns its lines. */
export async function runStreaming(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ readonly status: number | null; readonly lines: readonly string[] }> {
  const child = spawn(program, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('close', resolve);
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    process.stdout.write(`${line}\n`);
    lines.push(line);
  }
  return { status: await ended, lines };
}
