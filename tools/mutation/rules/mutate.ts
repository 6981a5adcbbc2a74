// `npm run test:rules:mutate [RULE …]`: makes one mutation at a time in the rules and runs the cases.
// Exits with 1 when a mutant survives that survivors.yml does not list, or when a listed one is detected.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { readCases, subjectOf } from '../../../test/rules/cases.ts';
import { testRules } from '../../../test/rules/promtool.ts';
import { closureOf, nameOf, readRules, rulesNamedIn } from '../../../test/rules/rule-set.ts';
import { safeToStopCase } from '../../../test/rules/safe-to-stop-cases.ts';
import { listMutants, type Mutant } from './mutants.ts';

interface Survivor {
  readonly rule: string;
  /** Prefixes of the mutations that no case can detect. */
  readonly mistakes: readonly string[];
  readonly reason: string;
}

const AT_A_TIME = 2;

const groups = readRules();
const cases = [...readCases(), safeToStopCase()];
const chosen = process.argv.slice(2);
const mutants = listMutants(groups).filter(
  ({ rule }) => chosen.length === 0 || chosen.includes(rule),
);
const explained: readonly Survivor[] = parse(
  readFileSync(path.join(import.meta.dirname, 'survivors.yml'), 'utf8'),
);
const queue = mutants.values();
const survivors: Mutant[] = [];

for (const rule of new Set(mutants.map((mutant) => mutant.rule))) {
  const isBad = await isNoticed({ rule, mistake: 'none', groups });
  if (isBad) throw new Error(`the cases of ${rule} fail before any mistake is made`);
}
await Promise.all(Array.from({ length: AT_A_TIME }, work));
const unexplained = survivors.filter((mutant) => !explained.some(explains(mutant)));
const stale = chosen.length === 0 ? explanationsOfNothing() : [];
for (const one of stale) console.log(`explains nothing: ${one}`);
console.log(
  `${mutants.length} mutants, ${mutants.length - survivors.length} noticed, ${survivors.length} survived, ${unexplained.length} of them not explained`,
);
process.exitCode = unexplained.length + stale.length === 0 ? 0 : 1;

/** Tests mutants until none are left. */
async function work(): Promise<void> {
  for (const mutant of queue) {
    if (await isNoticed(mutant)) continue;
    survivors.push(mutant);
    if (explained.some(explains(mutant))) continue;
    console.log(`survived: ${mutant.rule}: ${mutant.mistake}`);
  }
}

/** Whether the cases of the rule, or of a rule that uses it, fail. */
async function isNoticed({ rule, groups: mutated }: Mutant): Promise<boolean> {
  const users = groups
    .flatMap(({ rules }) => rules)
    .map(nameOf)
    .filter((name) =>
      closureOf(groups, [name]).some((group) => group.rules.some((one) => nameOf(one) === rule)),
    );
  const concerned = cases.filter((one) => users.includes(subjectOf(one)));
  const used = rulesNamedIn(JSON.stringify(concerned));
  const verdict = await testRules(closureOf(mutated, [rule, ...used]), concerned);
  // A program that is missing or was killed has detected nothing.
  const isTold = verdict.passed || verdict.text.includes('FAILED');
  if (!isTold) throw new Error(`promtool says nothing of ${rule}: ${verdict.text}`);
  return !verdict.passed;
}

function explains({ rule, mistake }: Mutant): (survivor: Survivor) => boolean {
  return (survivor) =>
    survivor.rule === rule && survivor.mistakes.some((beginning) => mistake.startsWith(beginning));
}

function explanationsOfNothing(): readonly string[] {
  return explained.flatMap(({ rule, mistakes }) =>
    mistakes
      .filter(
        (beginning) =>
          !survivors.some((one) => one.rule === rule && one.mistake.startsWith(beginning)),
      )
      .map((beginning) => `${rule}: ${beginning}`),
  );
}
