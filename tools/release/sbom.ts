// `npm run sbom`: the bill of materials of what runs in production, CycloneDX, on standard output.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '../..');

type Manifest = Readonly<Record<string, unknown>>;

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly link?: boolean }>>;
}

const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-sbom-'));
try {
  // `npm sbom --omit=dev` in the project itself leaves out what a tool for development needs as well.
  write('package.json', withoutDevelopment(read<Manifest>('package.json')));
  write('package-lock.json', ofProduction(read<Lock>('package-lock.json')));
  const args = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx'];
  const { status, error } = spawnSync('npm', args, { cwd: folder, stdio: 'inherit' });
  if (error !== undefined) throw new Error('npm cannot be started', { cause: error });
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}

function withoutDevelopment(manifest: Manifest): Manifest {
  const { devDependencies: _dev, workspaces: _workspaces, scripts: _scripts, ...rest } = manifest;
  return rest;
}

function ofProduction({ packages, ...rest }: Lock): unknown {
  const { '': root = {}, ...others } = packages;
  const kept = Object.entries(others).filter(
    // Links lead to workspaces: they are not published.
    ([place, { dev, link }]) => place.startsWith('node_modules/') && dev !== true && link !== true,
  );
  return {
    ...rest,
    packages: Object.fromEntries([['', withoutDevelopment({ ...root })], ...kept]),
  };
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- says what the file holds
function read<T>(name: string): T {
  const value: T = JSON.parse(readFileSync(path.join(ROOT, name), 'utf8'));
  return value;
}

function write(name: string, value: unknown): void {
  writeFileSync(path.join(folder, name), JSON.stringify(value));
}
