// `npm run test:rules:mutate [RULE …]`: makes one small mistake at a time in the rules and sees whether the cases notice.
// Ends with 1 when one survives that survivors.yml does not explain.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { listMutants, type Mutant } from './mutants.ts';
import { testRules } from './promtool.ts';
import { closureOf, nameOf, readCases, readRules, rulesNamedIn, subjectOf } from './rule-set.ts';

interface Survivor {
  readonly rule: string;
  /** How the mistakes begin that nobody notices. */
  readonly mistakes: readonly string[];
  readonly reason: string;
}

const AT_A_TIME = 2;

const groups = readRules();
const cases = readCases();
const chosen = process.argv.slice(2);
const mutants = listMutants(groups).filter(
  ({ rule }) => chosen.length === 0 || chosen.includes(rule),
);
const explained: readonly Survivor[] = parse(
  readFileSync(path.join(import.meta.dirname, 'survivors.yml'), 'utf8'),
);
const queue = mutants.values();
const unexplained: Mutant[] = [];
let survived = 0;

await Promise.all(Array.from({ length: AT_A_TIME }, work));
console.log(
  `${mutants.length} mutants, ${mutants.length - survived} noticed, ${survived} survived, ${unexplained.length} of them not explained`,
);
process.exitCode = unexplained.length === 0 ? 0 : 1;

/** Takes mutants until none are left. */
async function work(): Promise<void> {
  for (const mutant of queue) {
    if (await isNoticed(mutant)) continue;
    survived += 1;
    if (isExplained(mutant)) continue;
    unexplained.push(mutant);
    console.log(`survived: ${mutant.rule}: ${mutant.mistake}`);
  }
}

/** By the cases of the rule or of a rule that uses it. */
async function isNoticed({ rule, groups: mutated }: Mutant): Promise<boolean> {
  const users = groups
    .flatMap(({ rules }) => rules)
    .map(nameOf)
    .filter((name) =>
      closureOf(groups, [name]).some((group) => group.rules.some((one) => nameOf(one) === rule)),
    );
  const concerned = cases.filter((one) => users.includes(subjectOf(one)));
  const used = rulesNamedIn(JSON.stringify(concerned));
  const { passed } = await testRules(closureOf(mutated, [rule, ...used]), concerned);
  return !passed;
}

function isExplained({ rule, mistake }: Mutant): boolean {
  return explained.some(
    (one) => one.rule === rule && one.mistakes.some((beginning) => mistake.startsWith(beginning)),
  );
}
