import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export const ROOT = path.join(import.meta.dirname, '..', '..');

/** The package as a user gets it: packed, then installed where nothing else is, without a network. */
export interface InstalledPackage extends Disposable {
  /** Paths of all files in the tarball. */
  readonly files: readonly string[];
  readonly packedBytes: number;
  /** The `node_modules` folder it was installed to. */
  readonly modules: string;
  /** What `npx` would run. */
  readonly command: string;
  /** Runs npm beside the installed package; the answer is its standard output. */
  npm(...args: string[]): string;
}

interface PackReport {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

/** Needs the packages that `npm ci` left in npm's cache. */
export function installPackage(): InstalledPackage {
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-package-'));
  const remove = (): void => rmSync(folder, { recursive: true });
  try {
    const packed = npm(ROOT, ['pack', '--json', '--pack-destination', folder]);
    const [report]: readonly PackReport[] = JSON.parse(packed);
    if (report === undefined) throw new Error('npm pack reports no tarball');
    const home = path.join(folder, 'home');
    mkdirSync(home);
    npm(home, ['init', '--yes']);
    npm(home, ['install', '--offline', path.join(folder, report.filename)]);
    const modules = path.join(home, 'node_modules');
    return {
      files: report.files.map((file) => file.path),
      packedBytes: report.size,
      modules,
      command: path.join(modules, '.bin', 'crdb-exporter'),
      npm: (...args) => npm(home, args),
      [Symbol.dispose]: remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}

function npm(cwd: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('npm', [...args, '--loglevel=error'], {
    cwd,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed:\n${stderr}${stdout}`);
  return stdout;
}

/** A program that runs until it is told to stop. */
export interface Running extends AsyncDisposable {
  readonly child: ChildProcess;
  /** Resolves to the first match in what it writes; rejects when it ends before. */
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
