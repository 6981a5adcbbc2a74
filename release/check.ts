// `npm run release:check`: whether this commit can be released, with what is wrong in one list at the end.
// What needs a program that is absent is named as not checked.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findForeignLicences } from './licences.ts';
import { findNoteProblems } from './notes.ts';

const ROOT = path.join(import.meta.dirname, '..');
const IMAGE_BUILDERS = ['docker', 'podman', 'buildah'];

/** Problems that stand in the way of a release; undefined when it could not be checked. */
type Check = () => readonly string[] | undefined;

const { version }: { readonly version: string } = JSON.parse(read('package.json'));

const CHECKS: Readonly<Record<string, Check>> = {
  'the working tree is clean': () => lines(output('git', ['status', '--porcelain'])),
  [`changes and upgrading notes of ${version}`]: () =>
    findNoteProblems(version, {
      changelog: read('CHANGELOG.md'),
      upgrading: read('UPGRADING.md'),
    }),
  'package.json says where the source is, as provenance needs': findMissingRepository,
  'licences of the production tree': () =>
    findForeignLicences(JSON.parse(read('package-lock.json'))),
  'bill of materials': () => succeeds('npm', ['run', '--silent', 'sbom']),
  'all tests, those of package, chart, units and documents included': () =>
    succeeds('npm', ['test'], { ...process.env, CI: 'true' }),
  'the package can be packed': packs,
  'the image can be built': buildsImage,
};

let isGood = true;
for (const [name, check] of Object.entries(CHECKS)) {
  const problems = check();
  const verdict = problems === undefined ? 'not checked' : problems.length > 0 ? 'FAILED' : 'good';
  say(`${verdict}: ${name}`);
  for (const problem of problems ?? []) say(`  ${problem}`);
  isGood &&= (problems ?? []).length === 0;
}
say(isGood ? `${version} can be released` : `${version} cannot be released yet`);
process.exitCode = isGood ? 0 : 1;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function findMissingRepository(): readonly string[] {
  const { repository }: { readonly repository?: unknown } = JSON.parse(read('package.json'));
  return repository === undefined ? ['package.json has no "repository"'] : [];
}

function packs(): readonly string[] {
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-release-'));
  try {
    return succeeds('npm', ['pack', '--silent', '--pack-destination', folder]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function buildsImage(): readonly string[] | undefined {
  const builder = IMAGE_BUILDERS.find((name) => spawnSync('which', [name]).status === 0);
  if (builder === undefined) return undefined;
  const revision = output('git', ['rev-parse', '--short=12', 'HEAD']).trim();
  const named = ['--build-arg', `VERSION=${version}`, '--build-arg', `REVISION=${revision}`];
  return succeeds(builder, ['build', ...named, '--tag', `crdb-exporter:${version}`, ROOT]);
}

/** What the program says is shown as it comes: the tests take minutes. */
function succeeds(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): readonly string[] {
  const { status } = spawnSync(program, args, { cwd: ROOT, env, stdio: ['ignore', 2, 2] });
  return status === 0 ? [] : [`${program} ${args.join(' ')} ended with ${status}, see above`];
}

function output(program: string, args: readonly string[]): string {
  return spawnSync(program, args, { cwd: ROOT, encoding: 'utf8' }).stdout;
}

function lines(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}

function read(name: string): string {
  return readFileSync(path.join(ROOT, name), 'utf8');
}
