import { readFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '..', '..');

export interface Build {
  readonly version: string;
  /** Source revision; `unknown` when neither a checkout nor a build tells it. */
  readonly revision: string;
  readonly nodeVersion: string;
  readonly platform: string;
}

/** What is running: the version stands in package.json alone, the revision in the checkout or, once built, beside the code. */
export function readBuild(): Build {
  const manifest: unknown = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  return {
    version: readVersion(manifest),
    revision: readRevision(path.join(ROOT, '.git')) ?? readBuiltRevision() ?? 'unknown',
    nodeVersion: process.version,
    platform: `${process.platform}/${process.arch}`,
  };
}

function readVersion(manifest: unknown): string {
  const hasVersion = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return hasVersion ? String(manifest.version) : 'unknown';
}

/** The commit that HEAD names, without running git. */
function readRevision(gitFolder: string): string | undefined {
  const head = readLine(path.join(gitFolder, 'HEAD'));
  const ref = /^ref: (refs\/[\w./-]+)$/.exec(head)?.[1];
  const revision = ref === undefined ? head : readLine(path.join(gitFolder, ref));
  return /^[0-9a-f]{40}$/.test(revision) ? revision.slice(0, 12) : undefined;
}

/** What the build noted down. */
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
