import { spawnSync } from 'node:child_process';
import { globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { readScrape } from '../support/exporter.ts';
import { eventually } from '../support/prometheus.ts';
import {
  installPackage,
  type InstalledPackage,
  productionTree,
  ROOT,
  runProgram,
} from './installed.ts';

const ALWAYS_PACKED = ['LICENSE', 'README.md', 'package.json'];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly engines?: Readonly<Record<string, string>>;
  readonly files?: readonly string[];
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
}

function listFiles(folder: string): readonly string[] {
  return readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)));
}

/** The files of an entry of `files` in package.json. */
function expand(entry: string): readonly string[] {
  if (entry.includes('*')) return globSync(entry, { cwd: ROOT });
  return statSync(path.join(ROOT, entry)).isDirectory() ? listFiles(entry) : [entry];
}

/** The published files of a source file: a module with its declarations, or the file itself. */
function builtFrom(source: string): readonly string[] {
  const target = path.join('dist', source);
  if (/\.(?:d\.ts|md)$/.test(source)) return [];
  if (!source.endsWith('.ts')) return [target];
  return [target.replace(/\.ts$/, '.js'), target.replace(/\.ts$/, '.d.ts')];
}

function versionsOf(packages: InstalledPackage['installed']): Readonly<Record<string, unknown>> {
  const places = Object.entries(packages);
  return Object.fromEntries(places.map(([place, { version }]) => [place, version]));
}

let installed: InstalledPackage;

beforeAll(() => {
  installed = installPackage();
  // The returned function runs after all tests, unless the installation failed.
  return () => installed[Symbol.dispose]();
}, 600_000);

describe('the tarball', () => {
  test('contains only the files of package.json and dist/ built from src/, simulator/ and dashboards/', () => {
    const { files = [] } = readManifest(ROOT);
    const boards = listFiles('dashboards').filter((file) => file.endsWith('.ts'));
    const sources = [...listFiles('src'), ...listFiles('simulator'), ...boards].filter(
      (file) => !/^(?:src\/json\/scanner|dashboards\/preview)\//.test(file),
    );
    const built = sources.flatMap(builtFrom);
    expect(built).toContain('dist/src/json/scanner.wasm');
    const expected = [
      ...ALWAYS_PACKED,
      ...files.flatMap((name) =>
        name === 'dist' ? [...built, 'dist/revision'] : expand(name.replace(/^\//, '')),
      ),
    ];
    expect(installed.files.toSorted()).toEqual(expected.toSorted());
  });

  test('is small and does not contain Node.js', () => {
    expect(installed.packedBytes).toBeLessThan(2 * 1024 * 1024);
  });

  test('has no install scripts and no platform-specific packages', () => {
    const { scripts = {}, optionalDependencies } = readManifest(
      path.join(installed.modules, 'crdb-exporter'),
    );
    const atInstall = ['preinstall', 'install', 'postinstall', 'prepare', 'preprepare'];
    expect(Object.keys(scripts).filter((name) => atInstall.includes(name))).toEqual([]);
    expect(optionalDependencies).toBeUndefined();
  });
});

describe('the installed package', () => {
  test('has exactly the production packages of package-lock.json, without scripts or binaries', () => {
    const { 'node_modules/crdb-exporter': own, ...others } = installed.installed;
    expect(own?.version).toBe(readManifest(ROOT).version);
    expect(versionsOf(others)).toEqual(versionsOf(productionTree()));
    expect(Object.keys(others)).toContain('node_modules/express');
    const ofPlatform = Object.entries(others).filter(
      ([, { hasInstallScript, os }]) => hasInstallScript === true || os !== undefined,
    );
    expect(ofPlatform).toEqual([]);
  });

  test('declares every package that it and its dependencies need', () => {
    // Exits with 1 for a package that is missing, of a wrong version or not needed.
    const tree: { readonly problems?: unknown; readonly dependencies: object } = JSON.parse(
      installed.npm('ls', '--all', '--json'),
    );
    expect(tree.problems).toBeUndefined();
    expect(Object.keys(tree.dependencies)).toEqual(['crdb-exporter']);
  });

  test('explains at its start that Node.js lacks WebAssembly', () => {
    const main = path.join(installed.modules, 'crdb-exporter', 'dist', 'src', 'main.js');
    const { status, stderr } = spawnSync(process.execPath, ['--jitless', main, 'check'], {
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toMatch(/cannot run WebAssembly with SIMD.*start it without --jitless/);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  test('prints its version and revision', () => {
    const { stdout, status } = spawnSync(installed.command, ['--version'], { encoding: 'utf8' });
    const { version } = readManifest(ROOT);
    const revision = readFileSync(path.join(ROOT, 'dist/revision'), 'utf8').trim();
    expect(stdout).toContain(`crdb-exporter ${version} (revision ${revision}, Node.js v`);
    expect(status).toBe(0);
  });

  test('writes the rules', () => {
    const { stdout } = spawnSync(installed.command, ['rules'], { encoding: 'utf8' });
    expect(stdout).toBe(readFileSync(path.join(ROOT, 'config/prometheus/rules.yml'), 'utf8'));
  });

  test('runs the demo, serves a scrape and exits with 0 on SIGTERM', async () => {
    await using demo = runProgram(installed.command, ['demo', '--scenario', 'calm']);
    const [url] = await demo.said(/http:\/\/\S+\/metrics/);
    const scrape = await eventually(async () => {
      const seen = readScrape(await (await fetch(url)).text());
      const isThere = seen.all('crdb_ranges').length > 0 && seen.all('crdb_nodes').length > 0;
      return isThere ? seen : undefined;
    });
    expect(scrape.value('crdb_up', { api: 'cluster' })).toBe(1);
    expect(await demo.stop()).toBe(0);
  });
});
