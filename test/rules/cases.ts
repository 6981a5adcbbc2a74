import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { nameOf, readRules } from './rule-set.ts';

/** A case of a promtool test file; its name begins with the tested rule and a colon. */
export interface RuleCase {
  readonly name: string;
  readonly interval: string;
  readonly input_series: readonly { readonly series: string; readonly values: string }[];
  readonly promql_expr_test?: readonly ExpressionTest[];
  readonly alert_rule_test?: readonly Readonly<Record<string, unknown>>[];
}

interface ExpressionTest {
  readonly expr: string;
  readonly eval_time: string;
  readonly exp_samples?: readonly { readonly labels: string; readonly value: number }[];
}

/**
 * A case as its file has it, in lines:
 * - series: `up{job="x",i="{a,b}"} 1x9 0`, a selector and its values by minute; `{a,b}` stands for a series with each value
 * - fires: `7m {node_id="4"}`, when the alert of the name fires with which labels; `6m -` when it is silent. The labels
 *   alertname, alertstate and component are left out, and severity too unless a line of that minute names it
 * - values: `2m sum(up) => {} 3`, what an expression gives, `2m sum(up) => -` when that is nothing
 * - texts: what the alert says `when: 16m {node_id="4",severity="warning"}`
 * - step: the time between two values and between two evaluations where a case of days needs no minutes, `10m`
 */
interface WrittenCase {
  readonly name: string;
  readonly series: string;
  readonly fires?: string;
  readonly values?: string;
  readonly step?: string;
  readonly texts?: readonly AlertText[];
}

interface AlertText {
  readonly when: string;
  readonly summary: string;
  readonly description: string;
}

const RULES = readRules().flatMap(({ rules }) => rules);
const FOLDER = path.join(import.meta.dirname, 'cases');
/** The cases that need every rule. */
const FILE_OF_ALL = 'all.yml';

/** The cases that test one rule each. */
export function readCases(): readonly RuleCase[] {
  return readdirSync(FOLDER)
    .filter((name) => name !== FILE_OF_ALL)
    .flatMap(readFile);
}

/** The cases that need every rule. */
export function readCasesOfAll(): readonly RuleCase[] {
  return readFile(FILE_OF_ALL);
}

/** Whether a case compares texts of alerts. */
export function comparesTexts({ alert_rule_test: texts = [] }: RuleCase): boolean {
  return texts.length > 0;
}

/** `up{job="j",instance="i"}` -> job: j, instance: i */
export function readPairs(series: string): Readonly<Record<string, string>> {
  const pairs = series.matchAll(/(\w+)=("(?:[^"\\]|\\.)*")/g);
  return Object.fromEntries(
    Array.from(pairs, ([, name, quoted = '']) => [name, JSON.parse(quoted)]),
  );
}

/** The rule that a case tests. */
export function subjectOf({ name }: Pick<RuleCase, 'name'>): string {
  return name.slice(0, name.indexOf(': '));
}

function readFile(file: string): readonly RuleCase[] {
  const cases: readonly WrittenCase[] = parse(readFileSync(path.join(FOLDER, file), 'utf8'));
  return cases.map(expandCase);
}

/** The case as promtool reads it. */
export function expandCase(written: WrittenCase): RuleCase {
  const { name, series, fires = '', values = '', step = '1m', texts = [] } = written;
  return {
    name,
    interval: step,
    input_series: linesOf(series).flatMap((line) => expandSeries(line, name)),
    promql_expr_test: [
      ...groupByTime(linesOf(fires), (time, lines) => firingTest(subjectOf(written), time, lines)),
      ...groupByTime(linesOf(values), (time, lines) => valueTest(time, lines, name)),
    ],
    alert_rule_test: textTests(subjectOf(written), texts),
  };
}

function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function expandSeries(line: string, name: string): RuleCase['input_series'] {
  const [, series, values] = /^([\w:]*(?:\{.*\})?) (.+)$/.exec(line) ?? [];
  if (series === undefined || values === undefined) {
    throw new Error(`${name}: write a selector and values, not: ${line}`);
  }
  return expandLabels(series).map((one) => ({ series: one, values }));
}

/** `up{i="{a,b}"}` -> `up{i="a"}` and `up{i="b"}`. */
function expandLabels(series: string): readonly string[] {
  const match = /="\{([^"{}]+)\}"/.exec(series);
  if (match === null) return [series];
  const [found, list = ''] = match;
  return list.split(',').flatMap((value) => expandLabels(series.replace(found, `="${value}"`)));
}

/** `7m -` -> `7m`. */
function timeOf(line: string): string {
  return line.slice(0, line.indexOf(' '));
}

/** Calls `make` for each time, with what its lines say after it. */
function groupByTime(
  lines: readonly string[],
  make: (time: string, lines: readonly string[]) => readonly ExpressionTest[],
): readonly ExpressionTest[] {
  const byTime = Map.groupBy(lines, timeOf);
  return [...byTime].flatMap(([time, own]) =>
    make(
      time,
      own.map((line) => line.slice(time.length + 1)),
    ),
  );
}

function firingTest(
  alert: string,
  time: string,
  lines: readonly string[],
): readonly ExpressionTest[] {
  const sets = lines.filter((line) => line !== '-');
  const severity = sets.some((labels) => labels.includes('severity=')) ? '' : ', severity';
  const firing = `ALERTS{alertname="${alert}",alertstate="firing"}`;
  return [
    {
      expr: `max without (alertname, alertstate, component${severity}) (${firing})`,
      eval_time: time,
      exp_samples: sets.map((labels) => ({ labels, value: 1 })),
    },
  ];
}

function valueTest(
  time: string,
  lines: readonly string[],
  name: string,
): readonly ExpressionTest[] {
  const parsed = lines.map((line) => {
    const [, expr, labels, value] = /^(.+) => (?:-|(\S*\{.*\}) (\S+))$/.exec(line) ?? [];
    if (expr === undefined)
      throw new Error(`${name}: write an expression, => and a result, not: ${line}`);
    return { expr, sample: labels === undefined ? [] : [{ labels, value: Number(value) }] };
  });
  return Array.from(
    Map.groupBy(parsed, ({ expr }) => expr),
    ([expr, samples]) => ({
      expr,
      eval_time: time,
      exp_samples: samples.flatMap(({ sample }) => sample),
    }),
  );
}

function textTests(
  alert: string,
  texts: readonly AlertText[],
): NonNullable<RuleCase['alert_rule_test']> {
  const component = RULES.find((rule) => nameOf(rule) === alert)?.labels?.['component'];
  const byTime = Map.groupBy(texts, ({ when }) => timeOf(when));
  return Array.from(byTime, ([time, itsTexts]) => ({
    alertname: alert,
    eval_time: time,
    exp_alerts: itsTexts.map(({ when, summary, description }) => {
      return {
        exp_labels: { ...readPairs(when), component },
        exp_annotations: { summary, description },
      };
    }),
  }));
}
