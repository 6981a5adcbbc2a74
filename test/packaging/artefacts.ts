import { spawnSync } from 'node:child_process';
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildArtefacts } from '../../tools/release/artefacts.ts';
import { ROOT } from './installed.ts';

/** What a release publishes, for the processor of this machine. */
export interface Artefacts extends Disposable {
  readonly folder: string;
  /** The path of the artefact whose name ends so; undefined where it could not be built. */
  find(ending: string): string | undefined;
  /** An empty folder beside them. */
  makeFolder(name: string): string;
}

/** Builds them with little compression. */
export async function buildTestArtefacts(): Promise<Artefacts> {
  const home = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-packed-'));
  const makeFolder = (name: string): string => {
    mkdirSync(path.join(home, name));
    return path.join(home, name);
  };
  const remove = (): void => rmSync(home, { recursive: true });
  const folder = makeFolder('artefacts');
  const processor = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const names = await buildArtefacts(folder, {
    processors: [processor],
    packagers: ['deb'],
    isQuick: true,
  }).catch((error: unknown) => {
    remove();
    throw error;
  });
  return {
    folder,
    find(ending) {
      const name = names.find((one) => one.endsWith(ending));
      return name === undefined ? undefined : path.join(folder, name);
    },
    makeFolder,
    [Symbol.dispose]: remove,
  };
}

/** Installs the npm package into an empty project in this folder, without a network; returns its `node_modules`. */
export function installPackage(file: string, folder: string): string {
  writeFileSync(path.join(folder, 'package.json'), '{ "name": "home", "version": "1.0.0" }');
  const { status, stdout, stderr } = spawnSync(
    'npm',
    ['install', '--offline', '--loglevel=error', file],
    {
      cwd: folder,
      env: { ...process.env, npm_config_cache: path.join(folder, 'cache') },
      encoding: 'utf8',
    },
  );
  if (status !== 0) throw new Error(`npm install failed:\n${stderr}${stdout}`);
  return path.join(folder, 'node_modules');
}

/** The names of the files in a tarball. */
export function listTarball(file: string): readonly string[] {
  const { stdout } = spawnSync('tar', ['--list', '--gzip', `--file=${file}`], { encoding: 'utf8' });
  return stdout.split('\n').filter((name) => name !== '' && !name.endsWith('/'));
}

/** Unpacks /usr/share of a .deb into this folder; returns where it is. */
export function unpackShared(deb: string, folder: string): string {
  const unpack = 'dpkg-deb --fsys-tarfile "$0" | tar -x -C "$1" ./usr/share';
  const { status, stderr } = spawnSync('sh', ['-c', unpack, deb, folder], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${deb} cannot be unpacked:\n${stderr}`);
  return path.join(folder, 'usr/share');
}

/** Writes the same .deb in the next version, by way of this folder. */
export function writeNextVersion(first: string, second: string, folder: string): void {
  spawnSync('dpkg-deb', ['--raw-extract', first, folder]);
  const control = path.join(folder, 'DEBIAN', 'control');
  const text = readFileSync(control, 'utf8');
  writeFileSync(control, text.replace(/^(Version: .*)$/m, '$1.1'));
  spawnSync('dpkg-deb', ['-Znone', '--build', folder, second]);
}

/** The files of an entry of `files` in package.json. */
export function expand(entry: string): readonly string[] {
  const inRoot = entry.replace(/^\//, '');
  if (inRoot.includes('*')) return globSync(inRoot, { cwd: ROOT });
  if (!statSync(path.join(ROOT, inRoot)).isDirectory()) return [inRoot];
  return readdirSync(path.join(ROOT, inRoot), { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => path.relative(ROOT, path.join(one.parentPath, one.name)));
}

/** What a program prints with `NAME --help` for one name after the other, in one process. */
export function printEachHelp(main: string, names: readonly string[]): string {
  const args = ['--eval', EACH_HELP, main, ...names];
  return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout;
}

const EACH_HELP = `
  const [main, ...names] = process.argv.slice(1);
  process.on('beforeExit', () => {
    const name = names.shift();
    if (name === undefined || process.exitCode > 0) return;
    delete require.cache[main];
    process.argv = [process.execPath, main, name, '--help'];
    require(main);
  });`;
