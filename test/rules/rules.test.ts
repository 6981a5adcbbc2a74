import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { hasProgram } from '../support/programs.ts';
import { comparesTexts, type RuleCase, subjectOf } from './cases.ts';
import { CASES as cases, CASES_OF_ALL } from './every-case.ts';
import { run, type RuleTest, testAllRules, testRules } from './promtool.ts';
import * as set from './rule-set.ts';
import { longestText } from './text-length.ts';

/** Or longer. */
const HALF_AN_HOUR = /^(?:[3-9]\d|\d{3,})m$|h$/;
/** Goes on until CrdbNodeDead fires, so that an alert names the node all the time. */
const SHORTER: Readonly<Record<string, string>> = { CrdbNodeUnavailable: '3m' };
const RUNBOOKS = path.join(import.meta.dirname, '..', '..', 'docs', 'runbooks');
const groups = set.readRules();
const withoutTexts = set.withoutTexts(groups);
const alerts = groups.flatMap(({ rules }) => rules.filter(({ alert }) => alert !== undefined));
const names = [...new Set(groups.flatMap(({ rules }) => rules.map(set.nameOf)))];
const subjects = [...new Set(cases.map(subjectOf))];
/** The tested rules by their group: promtool starts once for each. */
const byGroup = Map.groupBy(
  subjects,
  (name) => groups.find(({ rules }) => rules.some((rule) => set.nameOf(rule) === name))?.name,
);

describe.skipIf(!hasProgram('promtool'))('promtool', () => {
  test('accepts the rules', async () => {
    expect(await run('promtool', ['check', 'rules', set.RULES_FILE])).toMatchObject({
      passed: true,
    });
  });

  test.each([...byGroup.keys()])('passes the cases of %s', { timeout: 600_000 }, async (group) => {
    const verdict = await testAllRules((byGroup.get(group) ?? []).flatMap(testsOf));
    expect(verdict.text).not.toContain('FAILED');
    expect(verdict.passed).toBe(true);
  });

  test.each(CASES_OF_ALL)('passes with all rules: $name', { timeout: 600_000 }, async (one) => {
    const all = comparesTexts(one) ? groups : withoutTexts;
    expect(await testRules(all, [one])).toMatchObject({ passed: true });
  });
});

/** The cases of a rule, with the rules that they need. */
function testsOf(name: string): readonly RuleTest[] {
  const own = cases.filter((one) => subjectOf(one) === name);
  const testOf = (itsGroups: readonly set.RuleGroup[], some: readonly RuleCase[]): RuleTest => ({
    groups: set.closureOf(itsGroups, [name, ...set.rulesNamedIn(JSON.stringify(some))]),
    cases: some,
  });
  return [
    testOf(groups, own.filter(comparesTexts)),
    testOf(
      withoutTexts,
      own.filter((one) => !comparesTexts(one)),
    ),
  ];
}

describe('the cases', () => {
  test('name existing rules and use all of them', () => {
    expect(subjects.filter((name) => !names.includes(name))).toEqual([]);
    const needed = set.closureOf(groups, [...subjects, ...set.rulesNamedIn(JSON.stringify(cases))]);
    const reached = new Set(needed.flatMap(({ rules }) => rules.map(set.nameOf)));
    expect(names.filter((name) => !reached.has(name))).toEqual([]);
  });

  test('have every alert firing and not firing', () => {
    const onlyOne = alerts.map(set.nameOf).filter((name) => {
      const own = cases.filter((one) => subjectOf(one) === name);
      const looks = own.flatMap((one) => one.promql_expr_test ?? []);
      const fired = looks.filter(({ exp_samples = [] }) => exp_samples.length > 0);
      return fired.length === 0 || fired.length === looks.length;
    });
    expect(onlyOne).toEqual(['CrdbWatchdog']);
  });
});

describe('every alert', () => {
  test('has a severity and a component for the routing of Alertmanager', () => {
    const severities = new Set(alerts.map(({ labels }) => labels?.['severity']));
    const components = new Set(alerts.map(({ labels }) => labels?.['component']));
    expect(severities).toEqual(new Set(['critical', 'warning', 'info', 'none']));
    expect(components).toEqual(
      new Set(['exporter', 'api', 'node', 'store', 'range', 'sql', 'job', 'cloud']),
    );
  });

  test('that is critical or waits for half an hour goes on firing through a gap of 10 minutes, one for less', () => {
    const expected = alerts.map(({ alert, labels, for: wait = '0s' }) =>
      labels?.['severity'] === 'critical' || HALF_AN_HOUR.test(wait) ? '10m' : SHORTER[alert ?? ''],
    );
    expect(alerts.map((rule) => rule.keep_firing_for)).toEqual(expected);
  });

  test('has one rule for each severity', () => {
    const keys = alerts.map((rule) => `${rule.alert} ${rule.labels?.['severity']}`);
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
  });

  test('is one of at most 75', () => {
    expect(new Set(alerts.map(set.nameOf)).size).toBeLessThanOrEqual(75);
  });

  test.each([
    ['summary', 100],
    ['description', 800],
  ] as const)('has a %s of at most %i characters, for a phone', (text, most) => {
    const lengths = alerts.map((rule) => ({
      name: set.nameOf(rule),
      length: longestText(rule.annotations?.[text] ?? ''),
    }));
    expect(lengths.filter(({ length }) => length > most)).toEqual([]);
  });

  test('has a summary and a description', () => {
    const keys = alerts.map(({ annotations = {} }) => Object.keys(annotations));
    expect(keys).toEqual(alerts.map(() => ['summary', 'description']));
  });
});

describe('the runbooks', () => {
  const pages = readdirSync(RUNBOOKS).filter((name) => name !== 'README.md');

  test('have one page for each alert', () => {
    expect(new Set(pages)).toEqual(new Set(alerts.map(({ alert }) => `${alert}.md`)));
  });

  test.each(pages)('have the same sections: %s', (page) => {
    const text = readFileSync(path.join(RUNBOOKS, page), 'utf8');
    expect(text).toMatch(new RegExp(`^# ${page.replace('.md', '')}\n`));
    const headings = text.match(/^## .*$/gm) ?? [];
    const always = ['## Meaning', '## Impact', '## Diagnosis', '## Mitigation', '## Avoid'];
    expect(headings.slice(0, always.length)).toEqual(always);
    expect([[], ['## False positives']]).toContainEqual(headings.slice(always.length));
    // At night, on a phone: first a command, then dashboards.
    expect(text).toMatch(/## Diagnosis\n\n(?:- |1\. )?`/);
  });
});
