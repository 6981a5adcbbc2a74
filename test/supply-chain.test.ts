import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';

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
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface BillOfMaterials {
  readonly bomFormat: string;
  readonly components: readonly { readonly name: string; readonly version: string }[];
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
  return JSON.parse(askNpm('audit', '--omit=dev', '--json'));
}

describe('the dependencies', () => {
  test('are pinned to exact versions', () => {
    const { dependencies, devDependencies, optionalDependencies } = manifest;
    const all = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
    expect(all.filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))).toEqual([]);
  });

  test('are locked with checksums', () => {
    const unlocked = installed.filter(
      ([, { link, integrity = '' }]) => link !== true && !integrity.startsWith('sha512-'),
    );
    expect(unlocked.map(([place]) => place)).toEqual([]);
    expect(installed.length).toBeGreaterThan(50);
  });

  test('of the production tree run no script when they are installed', () => {
    const scripted = installed.filter(([, one]) => one.dev !== true && one.hasInstallScript);
    expect(scripted.map(([place]) => place)).toEqual([]);
  });
});

describe('npm', () => {
  test('writes a bill of materials that names every package of the production tree', () => {
    const bill: BillOfMaterials = JSON.parse(askNpm('run', '--silent', 'sbom'));
    expect(bill.bomFormat).toBe('CycloneDX');
    const named = new Set(bill.components.map(({ name, version }) => `${name}@${version}`));
    const direct = Object.entries(manifest.dependencies).map((pair) => pair.join('@'));
    expect(direct.filter((one) => !named.has(one))).toEqual([]);
    expect([...named].filter((one) => /^vitest@|typescript/.test(one))).toEqual([]);
  });

  const { metadata } = audit();
  test.skipIf(metadata === undefined)('knows of no vulnerability in the production tree', () => {
    expect(metadata?.vulnerabilities).toMatchObject({ total: 0 });
  });
});
