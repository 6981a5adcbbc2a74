import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseDocument, visit } from 'yaml';
import { ROOT } from '#base';
import { findAlert } from './alerts.ts';
import { GIVEN_SEVERITIES, type Settings } from './rule-settings.ts';

/** The rules, in which `${name}` stands for a setting, or for a text at the end of the file. */
const TEMPLATE = path.join(ROOT, 'config/prometheus/rules.template.yml');

/** The YAML document of the template. */
export function readTemplate() {
  // YAML 1.1 quotes labels such as `no`, which older readers take for a boolean.
  return parseDocument(readFileSync(TEMPLATE, 'utf8'), { version: '1.1' });
}

/** The languages in which rules are written: the one of Prometheus, and the one of VictoriaMetrics. */
export const DIALECTS = ['promql', 'metricsql'] as const;
export type Dialect = (typeof DIALECTS)[number];

/**
 * Functions that count the first sample of a series in VictoriaMetrics: after one restart `changes(started[30m])` would be 2, and a
 * new exporter would add what its counters had before. Those with `_prometheus` in their names count as Prometheus does.
 */
const COUNT_FIRST_SAMPLE = /\b(changes|increase|delta)\(/g;

/** Stands in the texts of an alert for the time that it waits. */
const WAIT = '${for}';

/** The text of rules.yml with these settings. */
export function writeRules(
  { values, severities, waits, labels }: Settings,
  dialect: Dialect = 'promql',
): string {
  const rules = readTemplate();
  const texts: Readonly<Record<string, string>> = rules.toJS().texts;
  rules.delete('texts');
  const known: Readonly<Record<string, string>> = { ...values, for: WAIT };
  const translate = (text: string): string =>
    dialect === 'promql' ? text : text.replaceAll(COUNT_FIRST_SAMPLE, '$1_prometheus(');
  // A text of several lines is indented as its place is.
  const fill = (text: string): string =>
    text.replaceAll(/(^ *)?\$\{(\w+)\}/gm, (_, indent: string | undefined, name: string) =>
      name in texts
        ? (indent ?? '') + fill(texts[name] ?? '').replaceAll('\n', `\n${indent ?? ''}`)
        : (indent ?? '') + (known[name] ?? ''),
    );
  visit(rules, {
    Scalar(_, scalar) {
      if (typeof scalar.value === 'string') scalar.value = translate(fill(scalar.value));
    },
  });
  visit(rules, {
    Map(_, rule) {
      const alert = rule.get('alert');
      if (typeof alert !== 'string') return undefined;
      const severity = String(rule.getIn(['labels', 'severity']));
      const highest = severities[alert] ?? severity;
      const { waits: usual = {}, dashboard = '' } = findAlert(alert) ?? {};
      if (highest === 'off') return visit.REMOVE;
      const hasTwo = Object.keys(usual).length === 2;
      const isLower = GIVEN_SEVERITIES.indexOf(highest) < GIVEN_SEVERITIES.indexOf(severity);
      // Of an alert with two severities only the warning can get a lower one, and none gets a higher one.
      if (hasTwo && isLower && severity === 'critical') return visit.REMOVE;
      if (!hasTwo || isLower) rule.setIn(['labels', 'severity'], highest);
      for (const [name, value] of Object.entries(labels)) rule.setIn(['labels', name], value);
      setWait(rule, waits[alert]);
      if (values['runbook_url'] === '') rule.deleteIn(['annotations', 'runbook_url']);
      if (values['dashboard_url']) setDashboard(rule, values['dashboard_url'], dashboard);
      return visit.SKIP;
    },
  });
  return rules.toString({ lineWidth: 120, singleQuote: true });
}

/** A rule in a YAML document. */
interface RuleNode {
  getIn(path: readonly string[]): unknown;
  setIn(path: readonly string[], value: unknown): void;
}

/** Sets how long the alert waits, if it does, in its texts, too. */
function setWait(rule: RuleNode, wait: string | undefined): void {
  const usual = rule.getIn(['for']);
  if (typeof usual !== 'string') return;
  const text = wait ?? usual;
  rule.setIn(['for'], text);
  for (const name of ['summary', 'description']) {
    const place = ['annotations', name];
    const written = rule.getIn(place);
    if (typeof written === 'string') rule.setIn(place, written.replaceAll(WAIT, text));
  }
}

function setDashboard(rule: RuleNode, url: string, dashboard: string): void {
  const cluster = '{{ with $labels.crdb_cluster }}?var-cluster={{ . | urlquery }}{{ end }}';
  rule.setIn(['annotations', 'dashboard_url'], `${url}/d/${dashboard}${cluster}`);
}
