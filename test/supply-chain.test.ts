import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { bundleProgram } from '../tools/release/bundle.ts';
import { findForeignLicences } from '../tools/release/licences.ts';

const ROOT = path.join(import.meta.dirname, '..');

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
}

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface Manifest {
  readonly devDependencies: Readonly<Record<string, string>>;
}

interface Audit {
  readonly metadata?: { readonly vulnerabilities: Readonly<Record<string, number>> };
}

const manifest: Manifest = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
const lock: Lock = JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8'));
const installed = Object.entries(lock.packages).filter(([place]) =>
  place.startsWith('node_modules/'),
);

/** What npm writes on standard output. */
function askNpm(...args: readonly string[]): string {
  return spawnSync('npm', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 }).stdout;
}

function audit(): Audit {
  return JSON.parse(askNpm('audit', '--json'));
}

describe('the dependencies', () => {
  test('are pinned to exact versions', () => {
    const all = Object.entries(manifest.devDependencies);
    expect(all.length).toBeGreaterThan(20);
    expect(all.filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))).toEqual([]);
  });

  test('are locked with checksums', () => {
    const unlocked = installed.filter(
      ([, { link, integrity = '' }]) => link !== true && !integrity.startsWith('sha512-'),
    );
    expect(unlocked.map(([place]) => place)).toEqual([]);
    expect(installed.length).toBeGreaterThan(50);
  });

  test('that are part of the program have compatible licences, and run no script when they are installed', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-bundle-'));
    const packages = await bundleProgram(folder);
    rmSync(folder, { recursive: true });
    expect(packages.length).toBeGreaterThan(20);
    const scripted = packages.filter(({ name }) =>
      installed.some(
        ([place, one]) => place.endsWith(`node_modules/${name}`) && one.hasInstallScript,
      ),
    );
    expect(scripted).toEqual([]);
    expect(findForeignLicences(packages)).toEqual([]);
  });
});

describe('npm', () => {
  const { metadata } = audit();
  test.skipIf(metadata === undefined)('knows of no vulnerability', () => {
    expect(metadata?.vulnerabilities).toMatchObject({ total: 0 });
  });
});
