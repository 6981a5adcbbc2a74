// `npm run report -- FILE`: what the exporter would lose with the server of a report of `diagnose --report`.
import { readFileSync } from 'node:fs';
import { listLosses, type Report } from './losses.ts';

const [, , file] = process.argv;
if (file === undefined) {
  process.stderr.write('usage: npm run report -- FILE\n');
  process.exitCode = 2;
} else {
  try {
    const report: Report = JSON.parse(readFileSync(file, 'utf8'));
    const { versions, scan, ranges } = report;
    const lines = [
      `versions: ${versions.join(', ')}`,
      `ranges of ${scan}: ${ranges.listed} listed, ${ranges.described} with their descriptor`,
      ...listLosses(report),
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${file} is no report of diagnose --report: ${reason}\n`);
    process.exitCode = 1;
  }
}
