import { styleText } from 'node:util';
import { pageOf, type Style } from '../grid.ts';
import { writeLine } from '../human.ts';
import { writeJson } from '../json-text.ts';
import { writeOut } from '../standard-output.ts';
import type { Finding, Verdict } from './finding.ts';

export interface Report {
  readonly cluster: string;
  readonly findings: readonly Finding[];
}

const MARKS: Readonly<Record<Verdict, readonly [mark: string, style: Style]>> = {
  ok: ['✓', 'green'],
  warning: ['!', 'yellow'],
  failed: ['✗', 'red'],
  skipped: ['-', 'dim'],
};

/** Prints the checklists, or the same as JSON. */
export async function printReport(
  reports: readonly Report[],
  output: 'table' | 'json',
): Promise<void> {
  const text = output === 'json' ? writeJson({ clusters: reports }, 2) : drawReports(reports);
  await writeOut(`${text}\n`);
}

function drawReports(reports: readonly Report[]): string {
  const { colours } = pageOf(process.stdout);
  const paint = (style: Style, text: string): string =>
    colours ? styleText(style, text, { validateStream: false }) : text;
  const width = Math.max(
    0,
    ...reports.flatMap(({ findings }) => findings.map(({ check }) => check.length)),
  );
  return reports
    .flatMap(({ cluster, findings }) => {
      const lines = [paint('bold', `Cluster ${cluster}`)];
      for (const [target, ofTarget] of Map.groupBy(findings, (finding) => finding.target)) {
        lines.push(`  ${target}`);
        for (const { check, verdict, detail, advice } of ofTarget) {
          const [mark, style] = MARKS[verdict];
          lines.push(`    ${paint(style, mark)} ${check.padEnd(width)}  ${writeLine(detail)}`);
          if (advice !== undefined) lines.push(`      ${paint('bold', '→')} ${writeLine(advice)}`);
        }
      }
      return [...lines, '', countVerdicts(findings)];
    })
    .join('\n');
}

function countVerdicts(findings: readonly Finding[]): string {
  const count = (wanted: Verdict): number =>
    findings.filter(({ verdict }) => verdict === wanted).length;
  return `${count('ok')} good, ${count('warning')} to look at, ${count('failed')} wrong`;
}
