import { copyFileSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { dropWhatLeadsOut } from './links.ts';
import { fetchNode, type Processor } from './node-runtime.ts';
import { ROOT, run } from './programs.ts';

/** Sources of the archives that the npm package does not contain. */
export const LINUX = path.join(ROOT, 'config', 'linux');
/** The time of every file, that of npm, so that the same files make the same bytes. */
export const TIME = '1985-10-26T08:15:00Z';

/** What an archive is made of. */
export interface Unpacked {
  readonly version: string;
  readonly processor: Processor;
  /** The folder with the package and Node.js, named after both. */
  readonly folder: string;
}

/**
 * Unpacks the npm package into this folder, and adds Node.js and the command that starts it. This is what the tarball, the .deb,
 * the .rpm and the image contain. Undefined where Node.js for this processor cannot be downloaded.
 */
export function unpackWithNode(
  { file, version }: { readonly file: string; readonly version: string },
  processor: Processor,
  work: string,
): Unpacked | undefined {
  const download = path.join(work, `node-${processor}`);
  mkdirSync(download);
  const node = fetchNode(processor, download);
  if (node === undefined) return undefined;
  const folder = path.join(work, `crdb-exporter-${version}.linux-${processor}`);
  run('tar', ['-xzf', file, '-C', work]);
  renameSync(path.join(work, 'package'), folder);
  copyFileSync(path.join(node, 'bin', 'node'), path.join(folder, 'bin', 'node'));
  copyFileSync(path.join(node, 'LICENSE'), path.join(folder, 'bin', 'LICENSE.node'));
  copyFileSync(path.join(LINUX, 'crdb-exporter'), path.join(folder, 'bin', 'crdb-exporter'));
  return { version, processor, folder };
}

/** Packs the npm package again without what leads out of it. */
export function repackComplete(file: string, work: string, level: number): void {
  run('tar', ['-xzf', file, '-C', work]);
  const folder = path.join(work, 'package');
  dropWhatLeadsOut(folder);
  pack(folder, file, level);
  rmSync(folder, { recursive: true });
}

/** Packs it with gzip of this level, 0 to 9; returns the file. */
export function packTarball({ folder }: Unpacked, to: string, level: number): string {
  const file = path.join(to, `${path.basename(folder)}.tar.gz`);
  pack(folder, file, level);
  return file;
}

/** The program gzip knows no level 0, and takes 2 s for Node.js with its level 1. */
const STORE = `'${process.execPath}' --eval 'process.stdin.pipe(zlib.createGzip({level:0})).pipe(process.stdout)'`;

function pack(folder: string, file: string, level: number): void {
  run('tar', [
    '--create',
    '--sort=name',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    `--mtime=${TIME}`,
    `--use-compress-program=${level === 0 ? STORE : `gzip --no-name -${level}`}`,
    `--file=${file}`,
    `--directory=${path.dirname(folder)}`,
    path.basename(folder),
  ]);
}
