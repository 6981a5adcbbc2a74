import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

export const ROOT = path.join(import.meta.dirname, '..', '..');

/** Of a demo, which other demos at the same time do not take. */
export const ANY_PORTS = [
  '--web.listen-address=127.0.0.1:0',
  '--listen=127.0.0.1:0',
  '--cloud-listen=127.0.0.1:0',
  '--scenario=calm',
] as const;

/** A program that runs until it is stopped. */
export interface Running extends AsyncDisposable {
  readonly child: ChildProcess;
  /** Resolves to the first match in its output; rejects when it exits before. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends SIGTERM; resolves to the exit code. */
  stop(): Promise<number | null>;
}

export function runProgram(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Running {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  let text = '';
  const more = new EventTarget();
  const add = (chunk: unknown): void => {
    text += String(chunk);
    more.dispatchEvent(new Event('more'));
  };
  child.stdout.on('data', add);
  child.stderr.on('data', add);
  const ended = once(child, 'close');
  async function stop(): Promise<number | null> {
    child.kill('SIGTERM');
    await ended;
    return child.exitCode;
  }
  return {
    child,
    async said(pattern) {
      for (;;) {
        const found = pattern.exec(text);
        if (found !== null) return found;
        if (child.exitCode !== null)
          throw new Error(`${command} ended without ${pattern}:\n${text}`);
        await Promise.race([once(more, 'more'), ended]);
      }
    },
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}
