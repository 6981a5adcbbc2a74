import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { type Finding, notChecked, problem } from './findings.ts';
import { ROOT } from './programs.ts';

interface Explained {
  readonly program: string;
  readonly complaint: string;
  readonly reason: string;
}

const RULES = 'config/prometheus/rules.yml';
const NEWEST = process.env['NEWEST_PROMETHEUS'];

/** The linters of rules and dashboards, with their arguments. None of them asks a server. */
function listCalls(): readonly (readonly [program: string, ...args: string[]])[] {
  const boards = readdirSync(path.join(ROOT, 'dashboards')).filter((name) =>
    name.endsWith('.json'),
  );
  const check = ['check', 'rules', '--lint=all', '--lint-fatal', RULES] as const;
  return [
    ['promtool', ...check],
    ...(NEWEST === undefined ? [] : [[path.join(NEWEST, 'promtool'), ...check] as const]),
    ['pint', '--offline', '--no-color', 'lint', '--min-severity=info', RULES],
    ['mimirtool', 'rules', 'check', RULES],
    ...boards.map(
      (name) =>
        [
          'dashboard-linter',
          'lint',
          '--strict',
          '--config=dashboards/.lint',
          `dashboards/${name}`,
        ] as const,
    ),
  ];
}

/** What the linters that are installed say and linters.yml does not explain. */
export function lintRulesAndDashboards(): readonly Finding[] {
  const explained: readonly Explained[] = parse(
    readFileSync(path.join(import.meta.dirname, 'linters.yml'), 'utf8'),
  );
  const findings = listCalls().flatMap(([program, ...args]) => {
    const { status, stdout, stderr, error } = spawnSync(program, args, {
      cwd: ROOT,
      encoding: 'utf8',
    });
    if (error !== undefined)
      return [notChecked(`rules and dashboards by ${program}: not installed`)];
    const itsExplained = explained.filter((one) => one.program === program);
    return findComplaints(`${stdout}${stderr}`, status === 0, itsExplained).map((line) =>
      problem(`${program}: ${line}`),
    );
  });
  return [...new Map(findings.map((finding) => [finding.text, finding])).values()];
}

/** Lines of pint end with the check that complains; of the others everything counts when they fail. */
function findComplaints(
  output: string,
  passed: boolean,
  explained: readonly Explained[],
): readonly string[] {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const named = lines.filter((line) => / \([a-z]+\/[a-z_]+\)$/.test(line));
  const complaints = named.length === 0 && !passed ? lines : named;
  return complaints.filter((line) => !explained.some(({ complaint }) => line.includes(complaint)));
}
