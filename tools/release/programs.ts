import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import path from 'node:path';

export const ROOT = path.join(import.meta.dirname, '../..');

/** Runs a program in the checkout; the answer is its standard output. An error holds what it said. */
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

/** Whether a program is there and, run like this, is content. */
export function works(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args).status === 0;
}

/** As `run`, for what takes minutes: what it says is shown as it comes. The answer is the lines that it said. */
export async function runAloud(
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
