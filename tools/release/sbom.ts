// `npm run sbom`: prints the CycloneDX bill of materials of the production dependencies.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '../..');

type Manifest = Readonly<Record<string, unknown>>;

interface Package {
  readonly dev?: boolean;
  /** A development tool that a production package can also use; not installed in production. */
  readonly devOptional?: boolean;
  readonly link?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Lock {
  readonly packages: Readonly<Record<string, Package>>;
}

const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-sbom-'));
try {
  // `npm sbom --omit=dev` in the project also omits packages that development tools share.
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
  const tools = Object.values(others).filter(({ devOptional }) => devOptional === true);
  // Platform-specific builds, which the lock file does not mark.
  const builds = new Set(
    tools.flatMap(({ optionalDependencies = {} }) =>
      Object.keys(optionalDependencies).map((name) => `node_modules/${name}`),
    ),
  );
  const kept = Object.entries(others).filter(
    // Links are workspaces, which are not published.
    ([place, { dev, devOptional, link }]) =>
      place.startsWith('node_modules/') &&
      !builds.has(place) &&
      dev !== true &&
      devOptional !== true &&
      link !== true,
  );
  return {
    ...rest,
    packages: Object.fromEntries([['', withoutDevelopment({ ...root })], ...kept]),
  };
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type of the file
function read<T>(name: string): T {
  const value: T = JSON.parse(readFileSync(path.join(ROOT, name), 'utf8'));
  return value;
}

function write(name: string, value: unknown): void {
  writeFileSync(path.join(folder, name), JSON.stringify(value));
}
