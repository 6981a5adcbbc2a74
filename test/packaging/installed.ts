import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export const ROOT = path.join(import.meta.dirname, '..', '..');

/** The package as for a user: packed, then installed by npm into an empty project. */
export interface InstalledPackage extends Disposable {
  /** Paths of all files in the tarball. */
  readonly files: readonly string[];
  readonly packedBytes: number;
  /** The `node_modules` folder it was installed to. */
  readonly modules: string;
  /** The installed packages by path (`node_modules/express`), as in the lock file. */
  readonly installed: LockedPackages;
  /** The program of `npx`. */
  readonly command: string;
  /** Runs npm in the project and returns its standard output. */
  npm(...args: string[]): string;
}

interface PackReport {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

interface LockedPackage {
  readonly version?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optional?: boolean;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly os?: readonly string[];
}

type LockedPackages = Readonly<Record<string, LockedPackage>>;

/** The production packages of package-lock.json, by path. */
export function productionTree(): LockedPackages {
  const places = Object.entries(readLock(path.join(ROOT, 'package-lock.json')));
  const needed = places.filter(
    ([place, { dev, devOptional, optional, link }]) =>
      place.startsWith('node_modules/') && !dev && !devOptional && !optional && !link,
  );
  return Object.fromEntries(needed);
}

function readLock(file: string): LockedPackages {
  const lock: { readonly packages: LockedPackages } = JSON.parse(readFileSync(file, 'utf8'));
  return lock.packages;
}

/**
 * Needs neither a network nor a cache of npm: the production packages are copied from `node_modules` of the project, and
 * npm installs the tarball beside them. It fails when the tarball declares a missing package, and removes undeclared ones.
 */
export function installPackage(): InstalledPackage {
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-package-'));
  const remove = (): void => rmSync(folder, { recursive: true });
  const env = { ...process.env, npm_config_cache: path.join(folder, 'cache') };
  try {
    const packed = npm(['pack', '--json', '--pack-destination', folder], { cwd: ROOT, env });
    const [report]: readonly PackReport[] = JSON.parse(packed);
    if (report === undefined) throw new Error('npm pack reports no tarball');
    const home = path.join(folder, 'home');
    createProject(home);
    // Links the programs of the copied packages: npm downloads a package whose link is missing.
    npm(['rebuild', '--ignore-scripts'], { cwd: home, env });
    npm(['install', path.join(folder, report.filename)], { cwd: home, env });
    const modules = path.join(home, 'node_modules');
    return {
      files: report.files.map((file) => file.path),
      packedBytes: report.size,
      modules,
      installed: readLock(path.join(modules, '.package-lock.json')),
      command: path.join(modules, '.bin', 'crdb-exporter'),
      npm: (...args) => npm(args, { cwd: home, env }),
      [Symbol.dispose]: remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** A project without dependencies, with a copy of the production packages. */
function createProject(folder: string): void {
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'package.json'), '{ "name": "home", "version": "1.0.0" }');
  for (const place of Object.keys(productionTree())) {
    cpSync(path.join(ROOT, place), path.join(folder, place), { recursive: true });
  }
}

function npm(
  args: readonly string[],
  place: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): string {
  const { status, stdout, stderr } = spawnSync('npm', [...args, '--offline', '--loglevel=error'], {
    ...place,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed:\n${stderr}${stdout}`);
  return stdout;
}

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
