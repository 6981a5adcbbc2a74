import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import type { RuleCase } from './cases.ts';
import type { RuleGroup } from './rule-set.ts';

export interface Verdict {
  readonly passed: boolean;
  /** The output of the program. */
  readonly text: string;
  readonly output: string;
}

const MINUTES_PER_DAY = 24 * 60;

/** Runs a command. */
export async function run(program: string, args: readonly string[]): Promise<Verdict> {
  return new Promise((resolve) => {
    execFile(program, args, { maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      resolve({ passed: error === null, text: `${stdout}${stderr}`, output: stdout });
    });
  });
}

/** A case of more than a day is evaluated every five minutes, when it looks at multiples of them: that takes a fifth of the time. */
function evaluationInterval({ promql_expr_test = [], alert_rule_test = [] }: RuleCase): string {
  const minutes = [...promql_expr_test, ...alert_rule_test].map((look) =>
    minutesOf(String(look.eval_time)),
  );
  const isLong = Math.max(...minutes) > MINUTES_PER_DAY;
  return isLong && minutes.every((minute) => minute % 5 === 0) ? '5m' : '1m';
}

/** `1d2h3m` -> 1563. */
function minutesOf(time: string): number {
  const [, days = 0, hours = 0, minutes = 0] =
    /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?$/.exec(time) ?? [];
  return Number(days) * MINUTES_PER_DAY + Number(hours) * 60 + Number(minutes);
}

async function writeYaml(file: string, document: unknown): Promise<void> {
  await writeFile(file, stringify(document, { aliasDuplicateObjects: false }));
}

/** Tests these groups with these cases. promtool needs time for each rule, so pass only the needed ones. */
export async function testRules(
  groups: readonly RuleGroup[],
  cases: readonly RuleCase[],
): Promise<Verdict> {
  const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-rules-'));
  try {
    await writeYaml(path.join(folder, 'rules.yml'), { groups });
    const files: string[] = [];
    for (const [interval, casesOfInterval] of Map.groupBy(cases, evaluationInterval)) {
      const file = path.join(folder, `every-${interval}.yml`);
      await writeYaml(file, {
        rule_files: ['rules.yml'],
        group_eval_order: groups.map(({ name }) => name),
        evaluation_interval: interval,
        tests: casesOfInterval,
      });
      files.push(file);
    }
    return await run('promtool', ['test', 'rules', ...files]);
  } finally {
    await rm(folder, { recursive: true });
  }
}
