import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { LINUX, TIME, type Unpacked } from './archives.ts';
import { writeManPage } from './man-page.ts';
import { run } from './programs.ts';

/** What nfpm makes. */
export const PACKAGERS = ['deb', 'rpm'] as const;
export type Packager = (typeof PACKAGERS)[number];

/** Nobody has published it yet. */
const MAINTAINER = 'The authors of crdb-exporter <crdb-exporter@localhost>';
const HOME = '/usr/lib/crdb-exporter';
const ETC = '/etc/crdb-exporter';
const DOC = '/usr/share/doc/crdb-exporter';
const MAN_PAGE = '/usr/share/man/man1/crdb-exporter.1.gz';
/** Node.js needs this version of the C library, and the C++ library of GCC 7 or newer (CXXABI_1.3.11). */
const DEPENDS: Readonly<Record<Packager, readonly string[]>> = {
  deb: ['libc6 (>= 2.28)', 'libstdc++6 (>= 7)'],
  rpm: ['glibc >= 2.28', 'libstdc++ >= 7', 'shadow-utils'],
};

/** A file, folder or link of a package for nfpm. Folders of the system belong to nobody. */
interface Entry {
  readonly dst: string;
  readonly src?: string;
  readonly type?: 'config|noreplace' | 'dir' | 'doc' | 'symlink' | 'tree';
  readonly file_info?: { readonly mode: number; readonly group: string };
}

const forGroup = (mode: number): Required<Entry>['file_info'] => ({ mode, group: 'crdb-exporter' });

const DESCRIPTION = `Prometheus exporter for CockroachDB
It reads the HTTP API of a cluster: nodes, stores, ranges, SQL sessions and
tables. It has a status page, recording rules, alerts with runbooks,
dashboards and commands. Node.js is inside.`;

const COPYRIGHT = `Copyright: the authors of crdb-exporter. It is under the Apache License 2.0, whose text is in
${HOME}/LICENSE and, on Debian, in /usr/share/common-licenses/Apache-2.0.

Most bytes of this package are those of others: ${HOME}/bin/node is Node.js, whose licence (MIT) and those of its
parts are in ${HOME}/bin/LICENSE.node, and ${HOME}/dist has parts of packages whose licences are in
${HOME}/dist/THIRD-PARTY-LICENSES.
`;

/** What lintian calls an error and stays, with the reason. */
const OVERRIDES = `# Nobody has published the package yet, so nobody answers.
crdb-exporter: bogus-mail-host *
crdb-exporter: bogus-mail-host-in-debian-changelog *
# The program of the npm package; /usr/bin/crdb-exporter starts the Node.js inside.
crdb-exporter: missing-dep-for-interpreter *
# The binary of Node.js, as its authors publish it: with its symbols and its own zlib.
crdb-exporter: embedded-library *
crdb-exporter: unstripped-binary-or-object *
`;

/** Where shells look for the completion of a command, by shell. Debian alone has a folder of its own for zsh. */
export function completionFiles(packager: Packager): Readonly<Record<string, string>> {
  const zsh = packager === 'deb' ? 'vendor-completions' : 'site-functions';
  return {
    bash: '/usr/share/bash-completion/completions/crdb-exporter',
    zsh: `/usr/share/zsh/${zsh}/_crdb-exporter`,
    fish: '/usr/share/fish/vendor_completions.d/crdb-exporter.fish',
  };
}

/** What the page of the manual says of files. */
const FILES = {
  [`${ETC}/exporter.yml`]: 'The configuration of the service.',
  [`${ETC}/secrets`]: 'The secrets that it names: for root and the group of the service.',
  '/etc/default/crdb-exporter': 'Further flags of the service.',
  [`${HOME}/docs`]: 'The documentation, with the runbooks of all alerts.',
  [`${HOME}/config`]: 'Examples, recording and alerting rules.',
  [`${HOME}/dashboards`]: 'Dashboards for Grafana.',
};

/** Writes the files of a package that the unpacked archive does not have, and returns their entries. */
function writeMore({ folder, version }: Unpacked, packager: Packager): readonly Entry[] {
  const more = `${folder}.${packager}.more`;
  mkdirSync(more);
  const write = (dst: string, content: string | Uint8Array): Entry => {
    // Several are called crdb-exporter.
    const src = path.join(more, dst.replaceAll('/', '_'));
    writeFileSync(src, content);
    return { dst, src };
  };
  const document = (entry: Entry): Entry =>
    packager === 'rpm' ? { ...entry, type: 'doc' } : entry;
  const main = path.join(folder, 'dist', 'main.cjs');
  const help = {
    program: run(process.execPath, [main, '--help']),
    serve: run(process.execPath, [main, 'serve', '--help']),
  };
  return [
    document(write(`${DOC}/copyright`, COPYRIGHT)),
    ...Object.entries(completionFiles(packager)).map(([shell, dst]) =>
      write(dst, run(process.execPath, [main, 'completion', shell])),
    ),
    document(write(MAN_PAGE, compress(writeManPage(version, help, FILES)))),
    ...(packager === 'deb'
      ? [
          write(`${DOC}/changelog.gz`, compress(writeChangelog(version))),
          write('/usr/share/lintian/overrides/crdb-exporter', OVERRIDES),
        ]
      : []),
  ];
}

function compress(text: string): Uint8Array {
  return gzipSync(text, { level: 9 });
}

/** The form that Debian asks for. */
function writeChangelog(version: string): string {
  const date = new Date(TIME).toUTCString().replace('GMT', '+0000');
  return `crdb-exporter (${version}) unstable; urgency=medium

  * See ${HOME}/CHANGELOG.md.

 -- ${MAINTAINER}  ${date}
`;
}

function contentsOf(folder: string): readonly Entry[] {
  const units = path.join(folder, 'config', 'systemd');
  return [
    { type: 'tree', dst: HOME, src: folder },
    {
      type: 'symlink',
      dst: '/usr/bin/crdb-exporter',
      src: '../lib/crdb-exporter/bin/crdb-exporter',
    },
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
  ];
}

/** Makes a .deb or .rpm of the unpacked archive with nfpm, in this folder. */
export function packForSystem(
  unpacked: Unpacked,
  packager: Packager,
  { to, isQuick }: { readonly to: string; readonly isQuick: boolean },
): void {
  const { version, processor, folder } = unpacked;
  const config = {
    name: 'crdb-exporter',
    version,
    arch: processor,
    platform: 'linux',
    maintainer: MAINTAINER,
    description: DESCRIPTION,
    // Those of the program, of Node.js and of the packages in the program.
    license: 'Apache-2.0 AND MIT AND ISC AND BSD-2-Clause AND BSD-3-Clause',
    section: 'net',
    mtime: TIME,
    depends: DEPENDS[packager],
    // The user is created before the files are unpacked.
    deb: { predepends: ['passwd'], compression: isQuick ? 'none' : 'gzip' },
    // Else it is the name of the machine that builds, and the file another one on each.
    rpm: { buildhost: 'localhost', packager: MAINTAINER, group: 'Applications/System' },
    contents: [...contentsOf(folder), ...writeMore(unpacked, packager)],
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
