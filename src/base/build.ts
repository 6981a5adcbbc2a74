import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import path from 'node:path';

/** The running program; labels of crdb_exporter_build_info. */
export interface Build {
  readonly version: string;
  /** Twelve digits of the commit, or `unknown`. */
  readonly revision: string;
  readonly nodeVersion: string;
  /** `linux/x64` */
  readonly platform: string;
}

/** The folder of the checkout, of the package or of the image; compiled code lies one folder deeper, in dist. */
export const ROOT = path.dirname(findPackageJSON('..', import.meta.url) ?? '');

/** Version and revision of the running program: from package.json, and from the checkout or the build. */
export function readBuild(): Build {
  const manifest = readFileSync(path.join(ROOT, 'package.json'), 'utf8');
  const { version }: { readonly version: string } = JSON.parse(manifest);
  return {
    version,
    revision: readRevision(path.join(ROOT, '.git')) ?? readBuiltRevision() ?? 'unknown',
    nodeVersion: process.version,
    platform: `${process.platform}/${process.arch}`,
  };
}

/** The commit of HEAD, without running git. */
function readRevision(gitFolder: string): string | undefined {
  const head = readLine(path.join(gitFolder, 'HEAD'));
  const ref = /^ref: (refs\/[\w./-]+)$/.exec(head)?.[1];
  const revision = ref === undefined ? head : readLine(path.join(gitFolder, ref));
  return /^[0-9a-f]{40}$/.test(revision) ? revision.slice(0, 12) : undefined;
}

/** Written by tools/release/build.ts. */
function readBuiltRevision(): string | undefined {
  return /^\w+$/.exec(readLine(path.join(ROOT, 'dist', 'revision')))?.[0];
}

function readLine(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    // An installed package has no checkout around it.
    return '';
  }
}
