// `npm run release:check`: checks whether this commit can be released. Runs every step, even after failures, and lists at
// the end what was checked, what blocks the release and what could not be checked.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkArtefacts } from './check-artefacts.ts';
import { type Finding, notChecked, problem } from './findings.ts';
import { CHART, EXAMPLES, lintChart, renderChart } from './helm.ts';
import { checkImage } from './image.ts';
import { lintRulesAndDashboards } from './linters.ts';
import { findNoteProblems } from './notes.ts';
import { ROOT, run, runStreaming, works } from './programs.ts';

type Step = () => readonly Finding[] | Promise<readonly Finding[]>;

const { version, repository }: { readonly version: string; readonly repository?: unknown } =
  JSON.parse(read('package.json'));

// Manual work comes first, slow steps last.
const STEPS: Readonly<Record<string, Step>> = {
  'repository in package.json': findMissingRepository,
  [`notes on ${version}`]: () =>
    findNoteProblems(version, {
      changelog: read('CHANGELOG.md'),
      upgrading: read('UPGRADING.md'),
    }).map(problem),
  'clean working tree': () =>
    changedFiles().map((file) => problem(`${file}: commit it or remove it`)),
  'generated files': findStaleFiles,
  'linters of rules and dashboards': lintRulesAndDashboards,
  chart: () =>
    works('helm', 'version') ? inFolder(checkChart) : [notChecked('the chart: needs helm')],
  'all tests': runTests,
  'package, tarballs, .deb and .rpm': checkArtefacts,
  image: () => checkImage(version),
};

const findings: Finding[] = [];
const passed: string[] = [];
for (const [name, step] of Object.entries(STEPS)) {
  print(`- ${name}`);
  const found = await tryStep(step);
  if (found.length === 0) {
    print('  ok');
    passed.push(name);
  }
  for (const { kind, text } of found) print(`  ${kind}: ${text}`);
  findings.push(...found);
}
const problems = findings.filter(({ kind }) => kind === 'problem');
print('');
print(`checked without a finding: ${passed.join('; ') || 'nothing'}`);
for (const { kind, text } of findings) print(`${kind}: ${text}`);
print(problems.length === 0 ? `${version} can be released` : `${version} cannot be released yet`);
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
  return [problem(`package.json: no "repository", which publishing needs: ${remedy}`)];
}

/** Regenerates all files and reports those that change. */
function findStaleFiles(): readonly Finding[] {
  const before = changedFiles();
  for (const script of ['docs', 'dashboards', ...(works('helm', 'version') ? ['chart'] : [])]) {
    run('npm', ['run', script]);
  }
  return changedFiles()
    .filter((file) => !before.includes(file))
    .map((file) => problem(`${file}: was out of date and has been regenerated: commit it`));
}

/** The packaged chart: one file, without symbolic links. */
function checkChart(folder: string): void {
  run('helm', ['package', CHART, '--destination', folder]);
  const packed = path.join(folder, `crdb-exporter-${version}.tgz`);
  for (const { values } of EXAMPLES) {
    lintChart(packed, values);
    renderChart(packed, values);
  }
}

async function runTests(): Promise<readonly Finding[]> {
  const { status, lines } = await runStreaming('npm', ['test'], { CI: 'true' });
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

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
