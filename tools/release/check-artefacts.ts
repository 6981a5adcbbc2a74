import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildArtefacts } from './artefacts.ts';
import { type Finding, notChecked, problem } from './findings.ts';
import { PROCESSORS, type Processor, RPM_PROCESSORS } from './node-runtime.ts';
import { ROOT, run, works } from './programs.ts';
import { PACKAGERS } from './system-packages.ts';

/** The numbers of processors in ELF files. */
const ELF_MACHINES: Readonly<Record<Processor, number>> = { amd64: 62, arm64: 183 };

/** Builds all artefacts, and looks into those that this machine cannot run. */
export async function checkArtefacts(): Promise<readonly Finding[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-release-'));
  try {
    const names = await buildArtefacts(folder, {
      processors: PROCESSORS,
      packagers: PACKAGERS,
      isQuick: false,
    });
    for (const name of names) {
      const megabytes = (statSync(path.join(folder, name)).size / 1e6).toFixed(1);
      process.stdout.write(`  ${name}: ${megabytes} MB\n`);
    }
    return [
      ...PROCESSORS.flatMap((processor) => inspect(folder, names, processor)),
      notChecked('the artefacts for arm64 on arm64'),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function inspect(folder: string, names: readonly string[], processor: Processor): Finding[] {
  const find = (ending: string): string | undefined => {
    const name = names.find((one) => one.endsWith(ending));
    return name === undefined ? undefined : path.join(folder, name);
  };
  const tarball = find(`linux-${processor}.tar.gz`);
  const deb = find(`_${processor}.deb`);
  const rpm = find(`.${RPM_PROCESSORS[processor]}.rpm`);
  return [
    ...(tarball === undefined
      ? [problem(`there is no tarball for ${processor}`)]
      : inspectTarball(tarball, processor, folder)),
    ...(deb === undefined
      ? [notChecked(`the .deb for ${processor}: needs nfpm`)]
      : inspectDeb(deb, processor)),
    ...(rpm === undefined
      ? [notChecked(`the .rpm for ${processor}: needs nfpm`)]
      : inspectRpm(rpm, processor)),
  ];
}

function inspectTarball(file: string, processor: Processor, folder: string): Finding[] {
  const name = path.basename(file, '.tar.gz');
  run('tar', ['-xzf', file, '-C', folder]);
  const machine = readFileSync(path.join(folder, name, 'bin', 'node')).readUInt16LE(18);
  const program = path.join(folder, name, 'dist', 'main.cjs');
  return [
    ...(machine === ELF_MACHINES[processor]
      ? []
      : [problem(`${name}: Node.js is for the processor ${machine}`)]),
    ...(run(process.execPath, [program, '--version']).startsWith('crdb-exporter ')
      ? []
      : [problem(`${name}: it does not print its version`)]),
  ];
}

function inspectDeb(file: string, processor: Processor): Finding[] {
  if (!works('dpkg-deb', '--version'))
    return [notChecked(`${path.basename(file)}: needs dpkg-deb`)];
  const architecture = run('dpkg-deb', ['--field', file, 'Architecture']).trim();
  const configuration = run('dpkg-deb', ['--info', file, 'conffiles']).trim().split('\n');
  return [
    ...(architecture === processor ? [] : [problem(`${file}: it is for ${architecture}`)]),
    ...(configuration.length === 2 ? [] : [problem(`${file}: ${configuration.length} conffiles`)]),
    ...(works('lintian', '--version')
      ? listErrors(file, 'lintian', ['--fail-on', 'error', file])
      : [notChecked(`${path.basename(file)}: needs lintian`)]),
  ];
}

function inspectRpm(file: string, processor: Processor): Finding[] {
  if (!works('rpm', '--version')) {
    return [notChecked(`${path.basename(file)}, which was built: needs rpm`)];
  }
  const query = (...words: readonly string[]): string =>
    run('rpm', ['--query', '--package', '--nosignature', ...words, file]).trim();
  const architecture = query('--queryformat', '%{ARCH}');
  const configuration = query('--configfiles').split('\n');
  return [
    ...(architecture === RPM_PROCESSORS[processor]
      ? []
      : [problem(`${file}: it is for ${architecture}`)]),
    ...(configuration.length === 2
      ? []
      : [problem(`${file}: ${configuration.length} configuration files`)]),
    ...lintRpm(file),
    notChecked(`${path.basename(file)}: it was inspected, not installed`),
  ];
}

/**
 * Runs rpmlint in a copy of the system that is thrown away: it unpacks with cpio, and nfpm's names are absolute, so its files would
 * replace those of this machine.
 */
function lintRpm(file: string): readonly Finding[] {
  if (process.getuid?.() !== 0 || !works('rpmlint', '--version'))
    return [notChecked(`${path.basename(file)}: needs rpmlint, and root for a copy of the system`)];
  const folder = path.dirname(file);
  copyFileSync(path.join(import.meta.dirname, 'rpmlint.toml'), path.join(folder, 'rpmlint.toml'));
  const copy = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-rpmlint-'));
  try {
    const throwaway = path.join(ROOT, 'test/packaging/throwaway.sh');
    const inside = `/packages/${path.basename(file)}`;
    const rpmlint = ['/usr/bin/rpmlint', '--config', '/packages/rpmlint.toml', inside];
    const flags = ['--mount', '--pid', '--fork'];
    return listErrors(file, 'unshare', [...flags, throwaway, copy, folder, ...rpmlint]);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

/** Errors of a linter of packages; those that stay have a reason in the package or in rpmlint.toml. */
function listErrors(file: string, program: string, args: readonly string[]): readonly Finding[] {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status === 0) return [];
  const lines = `${stdout}${stderr}`.split('\n').filter((line) => /(?:^|: )E: /.test(line));
  return (lines.length === 0 ? [`${program} ended with ${status}`] : lines).map((line) =>
    problem(`${path.basename(file)}: ${line}`),
  );
}
