import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ALERT_NAMES, canWait } from '../../src/alerts/alerts.ts';
import { readSettings, SETTINGS } from '../../src/alerts/rule-settings.ts';
import { writeRules } from '../../src/alerts/rules-template.ts';
import type { RuleGroup } from '../rules/rule-set.ts';

const TEMPLATE = path.join(import.meta.dirname, '../../config/prometheus/rules.template.yml');

function rulesWith(...pairs: readonly string[]): RuleGroup['rules'] {
  const text = writeRules(readSettings(pairs));
  const { groups }: { readonly groups: readonly RuleGroup[] } = parse(text, { version: '1.1' });
  return groups.flatMap(({ rules }) => rules);
}

/** The labels of an alert with these settings, in the order of the file. */
function labelsOf(
  name: string,
  ...pairs: readonly string[]
): RuleGroup['rules'][number]['labels'][] {
  return rulesWith(...pairs).flatMap((rule) => (rule.alert === name ? [rule.labels] : []));
}

test('every setting and every text stands in a rule, and nothing else is to be filled in', () => {
  const template = readFileSync(TEMPLATE, 'utf8');
  const { texts }: { readonly texts: Readonly<Record<string, string>> } = parse(template);
  const rules = template.replaceAll(/^#.*/gm, '');
  const used = Array.from(rules.matchAll(/\$\{(\w+)\}/g), ([, name]) => name);
  const written = Object.keys(SETTINGS).filter((name) => name !== 'dashboard_url');
  expect(new Set(used)).toEqual(new Set([...written, ...Object.keys(texts), 'for']));
});

function ofNode(severity: string): unknown {
  return { severity, component: 'node' };
}

describe('the written rules', () => {
  test.each([
    ['off', [], []],
    ['info', ['info'], ['info']],
    ['warning', ['warning'], ['warning']],
    ['critical', ['warning', 'critical'], ['critical']],
  ])(
    'have the severities up to %s of an alert of two, one at least, or that one',
    (highest, two, one) => {
      const written = (name: string): unknown => labelsOf(name, `severity.${name}=${highest}`);
      expect(written('CrdbNodeDead')).toEqual(two.map(ofNode));
      expect(written('CrdbNodeUnavailable')).toEqual(one.map(ofNode));
    },
  );

  test('have the labels of all alerts as texts', () => {
    const labels = {
      a: 'My-team_1',
      b: '1',
      c: "it's",
      d: 'x y',
      e: '',
      f: '-x',
      g: '{ h: i }',
      h: '${cpu}',
      i: 'no',
      alert: 'x',
    };
    const pairs = Object.entries(labels).map(([name, value]) => `label.${name}=${value}`);
    const all = rulesWith(...pairs).filter(({ alert }) => alert !== undefined);
    expect(new Set(all.map(({ alert }) => alert))).toEqual(new Set(ALERT_NAMES));
    for (const rule of all) expect(rule.labels).toMatchObject(labels);
    expect(Object.keys(labelsOf('CrdbNodeUnavailable', ...pairs)[0] ?? {})).toEqual([
      'severity',
      'component',
      ...Object.keys(labels),
    ]);
  });

  test('wait as long as they are told, and say so', () => {
    const [dead] = rulesWith('for.CrdbHotRange=2h').filter(({ alert }) => alert === 'CrdbHotRange');
    expect(dead?.for).toBe('2h');
    expect(dead?.annotations?.['description']).toMatch(/^For 2h the load/);
    const low = rulesWith('for.CrdbStoreDiskLow=9m').filter(
      ({ alert }) => alert === 'CrdbStoreDiskLow',
    );
    // The one that pages does not wait.
    expect(low.map((rule) => rule.for)).toEqual([undefined, '9m']);
  });

  test('say of no alert another time than that it waits', () => {
    const waits = ALERT_NAMES.filter(canWait).map((name) => `for.${name}=77m`);
    for (const { alert, annotations = {} } of rulesWith(...waits).filter((rule) => rule.for)) {
      const texts = `${annotations['summary']} ${annotations['description']}`;
      expect([alert, texts.match(/\b[Ff]or (?!77m)\d+ ?m(?:in\w+)?\b/)]).toEqual([alert, null]);
    }
  });

  test('lead to the dashboard of their component where Grafana is told', () => {
    const linked = rulesWith('dashboard_url=https://g/').filter(({ alert }) => alert !== undefined);
    const links = linked.map(({ annotations }) => annotations?.['dashboard_url']);
    expect(links).not.toContain(undefined);
    expect(links).toContain(
      'https://g/d/crdb-nodes{{ with $labels.crdb_cluster }}?var-cluster={{ . | urlquery }}{{ end }}',
    );
    expect(rulesWith().some(({ annotations = {} }) => 'dashboard_url' in annotations)).toBe(false);
  });

  test('have at most 20 rules in a group, the default limit of rulers', () => {
    const { groups }: { readonly groups: readonly RuleGroup[] } = parse(
      writeRules(readSettings([])),
    );
    expect(groups.filter(({ rules }) => rules.length > 20)).toEqual([]);
  });
});
