import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { LINUX, TIME, type Unpacked } from './archives.ts';
import { run } from './programs.ts';

/** What nfpm makes. */
export const PACKAGERS = ['deb', 'rpm'] as const;
export type Packager = (typeof PACKAGERS)[number];

const HOME = '/usr/lib/crdb-exporter';
const ETC = '/etc/crdb-exporter';
/** Node.js needs this version of the C library, and a C++ library of GCC 5 or newer. */
const DEPENDS: Readonly<Record<Packager, readonly string[]>> = {
  deb: ['libc6 (>= 2.28)', 'libstdc++6 (>= 5)'],
  rpm: ['glibc >= 2.28', 'libstdc++ >= 5', 'shadow-utils'],
};

/** A file, folder or link of a package for nfpm. Folders of the system belong to nobody. */
interface Entry {
  readonly dst: string;
  readonly src?: string;
  readonly type?: 'config|noreplace' | 'dir' | 'symlink' | 'tree';
  readonly file_info?: { readonly mode: number; readonly group: string };
}

const forGroup = (mode: number): Required<Entry>['file_info'] => ({ mode, group: 'crdb-exporter' });

function contentsOf(folder: string): readonly Entry[] {
  const units = path.join(folder, 'config', 'systemd');
  return [
    { type: 'tree', dst: HOME, src: folder },
    { type: 'symlink', dst: '/usr/bin/crdb-exporter', src: `${HOME}/bin/crdb-exporter` },
    ...['crdb-exporter.service', 'crdb-exporter.socket'].map((name) => ({
      dst: `/usr/lib/systemd/system/${name}`,
      src: path.join(units, name),
    })),
    { type: 'dir', dst: ETC, file_info: forGroup(0o750) },
    { type: 'dir', dst: `${ETC}/secrets`, file_info: forGroup(0o750) },
    {
      type: 'config|noreplace',
      dst: `${ETC}/exporter.yml`,
      src: path.join(LINUX, 'exporter.yml'),
      file_info: forGroup(0o640),
    },
    {
      type: 'config|noreplace',
      dst: '/etc/default/crdb-exporter',
      src: path.join(LINUX, 'default'),
    },
    { dst: '/usr/share/doc/crdb-exporter/copyright', src: path.join(folder, 'LICENSE') },
  ];
}

/** Makes a .deb or .rpm of the unpacked archive with nfpm, in this folder. */
export function packForSystem(
  { version, processor, folder }: Unpacked,
  packager: Packager,
  { to, isQuick }: { readonly to: string; readonly isQuick: boolean },
): void {
  const config = {
    name: 'crdb-exporter',
    version,
    arch: processor,
    platform: 'linux',
    maintainer: 'The authors of crdb-exporter <root@localhost>',
    description: 'Prometheus exporter for CockroachDB',
    license: 'Apache-2.0',
    section: 'net',
    mtime: TIME,
    depends: DEPENDS[packager],
    // The user is created before the files are unpacked.
    deb: { predepends: ['passwd'], compression: isQuick ? 'none' : 'gzip' },
    contents: contentsOf(folder),
    scripts: Object.fromEntries(
      ['preinstall', 'postinstall', 'preremove', 'postremove'].map((name) => [
        name,
        path.join(LINUX, `${name}.sh`),
      ]),
    ),
  };
  // JSON is YAML.
  const file = `${folder}.${packager}.json`;
  writeFileSync(file, JSON.stringify(config));
  run('nfpm', ['package', '--config', file, '--packager', packager, '--target', to]);
}
