// `npm run release:check`: whether this commit can be released. Every step is tried, whatever the others say, so that it
// is a rehearsal, too; what stands in the way, and what could not be looked at here, is told once more at the end.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Finding, notChecked, problem } from './findings.ts';
import { CHART, EXAMPLES, lintChart, renderChart } from './helm.ts';
import { checkImage } from './image.ts';
import { findForeignLicences } from './licences.ts';
import { findNoteProblems } from './notes.ts';
import { ROOT, run, runAloud, works } from './programs.ts';

type Step = () => readonly Finding[] | Promise<readonly Finding[]>;

const { version, repository }: { readonly version: string; readonly repository?: unknown } =
  JSON.parse(read('package.json'));

// What only a maintainer can fill in comes first, what takes minutes last.
const STEPS: Readonly<Record<string, Step>> = {
  'package.json names the repository': findMissingRepository,
  [`notes on ${version}`]: () =>
    findNoteProblems(version, {
      changelog: read('CHANGELOG.md'),
      upgrading: read('UPGRADING.md'),
    }).map(problem),
  'the working tree is clean': () =>
    changedFiles().map((file) => problem(`${file}: commit it or remove it`)),
  'licences of the production tree': () =>
    findForeignLicences(JSON.parse(read('package-lock.json'))).map(problem),
  'bill of materials': checkBill,
  'what is generated is fresh': findStaleFiles,
  chart: () =>
    works('helm', 'version') ? inFolder(checkChart) : [notChecked('the chart: needs helm')],
  'all tests': runTests,
  package: () => inFolder((folder) => void run('npm', ['pack', '--pack-destination', folder])),
  image: () => checkImage(version),
};

const findings: Finding[] = [];
for (const [name, step] of Object.entries(STEPS)) {
  say(`- ${name}`);
  const found = await tryStep(step);
  if (found.length === 0) say('  good');
  for (const { kind, text } of found) say(`  ${kind}: ${text}`);
  findings.push(...found);
}
const problems = findings.filter(({ kind }) => kind === 'problem');
say('');
for (const { kind, text } of findings) say(`${kind}: ${text}`);
say(problems.length === 0 ? `${version} can be released` : `${version} cannot be released yet`);
process.exitCode = problems.length === 0 ? 0 : 1;

async function tryStep(step: Step): Promise<readonly Finding[]> {
  try {
    return await step();
  } catch (error) {
    return [problem(error instanceof Error ? error.message : String(error))];
  }
}

function findMissingRepository(): readonly Finding[] {
  if (repository !== undefined) return [];
  const remedy = 'npm pkg set repository.type=git repository.url=git+https://HOST/PATH.git';
  return [
    problem(`package.json: no "repository", which publishing with provenance needs: ${remedy}`),
  ];
}

function checkBill(): readonly Finding[] {
  const bill: { readonly bomFormat: string; readonly components: readonly unknown[] } = JSON.parse(
    run('npm', ['run', '--silent', 'sbom']),
  );
  say(`  ${bill.bomFormat}, ${bill.components.length} components`);
  return [];
}

/** Makes all of it anew; what differs then is the remedy. */
function findStaleFiles(): readonly Finding[] {
  const before = changedFiles();
  for (const script of ['docs', 'dashboards', ...(works('helm', 'version') ? ['chart'] : [])]) {
    run('npm', ['run', script]);
  }
  return changedFiles()
    .filter((file) => !before.includes(file))
    .map((file) => problem(`${file}: was stale and has been made anew: commit it`));
}

/** As a user would get it: in one file, without what its links lead to. */
function checkChart(folder: string): void {
  run('helm', ['package', CHART, '--destination', folder]);
  const packed = path.join(folder, `crdb-exporter-${version}.tgz`);
  for (const { values } of EXAMPLES) {
    lintChart(packed, values);
    renderChart(packed, values);
  }
}

async function runTests(): Promise<readonly Finding[]> {
  const { status, lines } = await runAloud('npm', ['test'], { CI: 'true' });
  const skipped = lines.filter((line) => line.startsWith('skipped: '));
  return [
    ...(status === 0 ? [] : [problem(`npm test ended with ${status}, see above`)]),
    ...skipped.map((line) => notChecked(line.replace('skipped: ', 'the test '))),
  ];
}

function inFolder(work: (folder: string) => void): readonly Finding[] {
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-release-'));
  try {
    work(folder);
    return [];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function changedFiles(): readonly string[] {
  const lines = run('git', ['status', '--porcelain']).split('\n');
  return lines.filter((line) => line !== '').map((line) => line.slice(3));
}

function read(name: string): string {
  return readFileSync(path.join(ROOT, name), 'utf8');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
