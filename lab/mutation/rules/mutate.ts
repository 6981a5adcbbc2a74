// `npm run lab -- rules-mutation [--sample N] [--seed N] [RULE …]`: makes one mutation at a time in the rules and runs the cases.
// Exits with 1 when a mutant survives that survivors.yml does not list, or when a listed one is detected; of a sample only the former.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { createRandom } from '../../../simulator/random.ts';
import { comparesTexts, subjectOf, type RuleCase } from '../../../test/rules/cases.ts';
import { decommissionCases } from '../../../test/rules/decommission-cases.ts';
import { CASES } from '../../../test/rules/every-case.ts';
import { testRules } from '../../../test/rules/promtool.ts';
import {
  closureOf,
  nameOf,
  readRules,
  rulesNamedIn,
  type RuleGroup,
  withoutTexts,
} from '../../../test/rules/rule-set.ts';
import { listMutants, type Mutant } from './mutants.ts';

interface Survivor {
  readonly rule: string;
  /** Prefixes of the mutations that no case can detect. */
  readonly mistakes: readonly string[];
  readonly reason: string;
}

const groups = readRules();
const long = decommissionCases();
const { values: options, positionals: chosen } = parseArgs({
  allowPositionals: true,
  options: { sample: { type: 'string' }, seed: { type: 'string', default: '1' } },
});
const mutants = drawMutants();
const explained: readonly Survivor[] = parse(
  readFileSync(path.join(import.meta.dirname, 'survivors.yml'), 'utf8'),
);
const survivors: Mutant[] = [];
let done = 0;

for (const [rule, itsMutants] of Map.groupBy(mutants, (mutant) => mutant.rule)) {
  const runs = runsOf(rule);
  if (await isNoticed({ rule, mistake: 'none', groups }, runs)) {
    throw new Error(`the cases of ${rule} fail before any mistake is made`);
  }
  for (const mutant of itsMutants) {
    if (await isNoticed(mutant, runs)) continue;
    survivors.push(mutant);
    if (explained.some(explains(mutant))) continue;
    console.log(`survived: ${mutant.rule}: ${mutant.mistake}`);
  }
  done += itsMutants.length;
  console.log(`${done} of ${mutants.length}, the last of ${rule}: ${survivors.length} survived`);
}
const unexplained = survivors.filter((mutant) => !explained.some(explains(mutant)));
const stale = options.sample === undefined ? explanationsOfNothing() : [];
for (const one of stale) console.log(`explains nothing: ${one}`);
console.log(
  `${mutants.length} mutants, ${mutants.length - survivors.length} noticed, ${survivors.length} survived, ${unexplained.length} of them not explained`,
);
process.exitCode = unexplained.length + stale.length === 0 ? 0 : 1;

/** Those of the chosen rules, or a sample of them. */
function drawMutants(): readonly Mutant[] {
  const all = listMutants(groups).filter(
    ({ rule }) => chosen.length === 0 || chosen.includes(rule),
  );
  const random = createRandom(Number(options.seed));
  return all
    .map((mutant) => ({ mutant, order: random.next() }))
    .toSorted((a, b) => a.order - b.order)
    .slice(0, Number(options.sample ?? all.length))
    .map(({ mutant }) => mutant);
}

/** Cases for one run of promtool. */
interface Run {
  readonly cases: readonly RuleCase[];
  /** The rules that these cases need. */
  readonly rules: ReadonlySet<string>;
  /** Whether they compare texts of alerts, whose queries cost most of the time of promtool. */
  readonly hasTexts: boolean;
}

/** The cases that can notice a mistake in the rule: first its own, then those of each rule that uses it, then the long ones. */
function runsOf(rule: string): readonly Run[] {
  const names = namesIn(groups);
  const users = [...names].filter((name) => namesIn(closureOf(groups, [name])).has(rule));
  const subjects = [rule, ...users.filter((name) => name !== rule)];
  const short = subjects.map((name) => CASES.filter((one) => subjectOf(one) === name));
  return [
    ...short.map((some) => some.filter((one) => !comparesTexts(one))),
    ...short.map((some) => some.filter(comparesTexts)),
    long.filter((one) => subjects.includes(subjectOf(one))),
  ]
    .filter((some) => some.length > 0)
    .map((some) => runOf(rule, some));
}

function runOf(rule: string, itsCases: readonly RuleCase[]): Run {
  const hasTexts = itsCases.some(comparesTexts);
  const needed = [rule, ...itsCases.map(subjectOf), ...rulesNamedIn(JSON.stringify(itsCases))];
  const closure = closureOf(hasTexts ? groups : withoutTexts(groups), needed);
  return { cases: itsCases, rules: namesIn(closure), hasTexts };
}

function namesIn(some: readonly RuleGroup[]): ReadonlySet<string> {
  return new Set(some.flatMap(({ rules }) => rules.map(nameOf)));
}

/** Whether a case fails. */
async function isNoticed(mutant: Mutant, runs: readonly Run[]): Promise<boolean> {
  for (const run of runs) {
    const needed = mutant.groups.map((group) => ({
      ...group,
      rules: group.rules.filter((rule) => run.rules.has(nameOf(rule))),
    }));
    const verdict = await testRules(run.hasTexts ? needed : withoutTexts(needed), run.cases);
    // A program that is missing or was killed has detected nothing.
    const isTold = verdict.passed || verdict.text.includes('FAILED');
    if (!isTold) throw new Error(`promtool says nothing of ${mutant.rule}: ${verdict.text}`);
    if (!verdict.passed) return true;
  }
  return false;
}

function explains({ rule, mistake }: Mutant): (survivor: Survivor) => boolean {
  return (survivor) =>
    survivor.rule === rule && survivor.mistakes.some((beginning) => mistake.startsWith(beginning));
}

function explanationsOfNothing(): readonly string[] {
  const tried = explained.filter(({ rule }) => chosen.length === 0 || chosen.includes(rule));
  return tried.flatMap(({ rule, mistakes }) =>
    mistakes
      .filter(
        (beginning) =>
          !survivors.some((one) => one.rule === rule && one.mistake.startsWith(beginning)),
      )
      .map((beginning) => `${rule}: ${beginning}`),
  );
}
