import { exporterRules } from './exporter.ts';
import { healthRules } from './health.ts';
import { cloudRules, jobRules } from './jobs.ts';
import { nodeRules } from './nodes.ts';
import { rangeRules } from './ranges.ts';
import { resourceRules } from './resources.ts';
import type { Rule, Values } from './rule.ts';
import { readSettings, SEVERITIES, type Settings } from './settings.ts';
import { sqlRules } from './sql.ts';
import { storeRules } from './stores.ts';

const HEADER = `# Recording and alerting rules for crdb-exporter (Prometheus 2.42 or newer: keep_firing_for).
# Written by \`crdb-exporter rules\`, whose option --set changes thresholds, severities, labels and the address of the runbooks.
#
# critical: page somebody now; warning: act within a day; info: context for other problems.
#
# The two exporters of an HA pair poll at different times. So a rule first adds up the values of one exporter
# (sum without (...)), then merges the pair (max by (..., shard)), then adds up the shards. Counts of ranges over shards are
# upper bounds for problems that several replicas report. The label shard is the index of a shard, or shard.name with route local.
`;

function listGroups(values: Values): Readonly<Record<string, readonly Rule[]>> {
  return {
    'crdb-exporter': exporterRules(values),
    'crdb-nodes': nodeRules(values),
    'crdb-ranges': rangeRules(values),
    'crdb-resources': resourceRules(values),
    'crdb-stores': storeRules(values),
    'crdb-sql': sqlRules(values),
    'crdb-jobs': jobRules(values),
    'crdb-cloud': cloudRules(),
    'crdb-health': healthRules(values),
  };
}

/** The names of all alerts. */
export function listAlerts(): readonly string[] {
  const { values } = readSettings([], []);
  return Object.values(listGroups(values)).flatMap((rules) =>
    rules.flatMap((one) => one.alert ?? []),
  );
}

/** The text of rules.yml with these KEY=VALUE pairs. Throws a CommandError on a bad pair. */
export function writeRules(pairs: readonly string[] = []): string {
  return writeWith(readSettings(pairs, listAlerts()));
}

/** The text of rules.yml with these settings. */
export function writeWith(settings: Settings): string {
  const groups = Object.entries(listGroups(settings.values)).map(([name, all]) => {
    const rules = all.filter((rule) => isWanted(rule, all, settings));
    const texts = rules.map((rule) => writeRule(rule, rules, settings));
    return `  - name: ${name}\n    rules:\n${texts.join('')}`;
  });
  return `${HEADER}groups:\n${groups.join('')}`;
}

/** Of an alert with two severities those up to the chosen one stay. */
function isWanted(
  { alert = '', severity = '' }: Rule,
  all: readonly Rule[],
  { severities }: Settings,
): boolean {
  const highest = severities[alert];
  if (highest === undefined) return true;
  const isOnly = all.filter((rule) => rule.alert === alert).length === 1;
  return (
    highest !== 'off' && (isOnly || SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(highest))
  );
}

function writeRule(rule: Rule, all: readonly Rule[], settings: Settings): string {
  const { alert, comment, summary, description } = rule;
  const lines = [
    ...(comment === undefined ? [] : comment.split('\n').map((line) => `# ${line}`)),
    alert === undefined ? `- record: ${rule.record}` : `- alert: ${alert}`,
    ...writeExpression(rule.expr).map((line) => `  ${line}`),
    ...(rule.for === undefined ? [] : [`  for: ${rule.for}`]),
    ...(rule.keep_firing_for === undefined ? [] : [`  keep_firing_for: ${rule.keep_firing_for}`]),
    ...writeLabels(rule, all, settings),
  ];
  if (alert !== undefined) {
    lines.push(
      '  annotations:',
      `    summary: ${quote(summary ?? '')}`,
      `    description: ${quote(description ?? '')}`,
      `    runbook_url: ${settings.values.runbook_url}/${alert}.md`,
    );
  }
  return lines.map((line) => `      ${line}\n`).join('');
}

function writeExpression(expr: string): readonly string[] {
  const isPlain = !expr.includes('\n') && !expr.includes(': ') && !expr.includes(' #');
  return isPlain ? [`expr: ${expr}`] : ['expr: |-', ...expr.split('\n').map((line) => `  ${line}`)];
}

function writeLabels(
  rule: Rule,
  all: readonly Rule[],
  { severities, labels }: Settings,
): readonly string[] {
  if (rule.alert === undefined) {
    return rule.labels === undefined ? [] : [`  labels: ${writeMap(rule.labels)}`];
  }
  const isOnly = all.filter(({ alert }) => alert === rule.alert).length === 1;
  const severity = (isOnly ? severities[rule.alert] : undefined) ?? rule.severity ?? '';
  return [`  labels: ${writeMap({ severity, component: rule.component ?? '', ...labels })}`];
}

/** What YAML reads as this text without quotes. */
const PLAIN = /^(?!(?:null|true|false|yes|no|on|off|y|n)$)[a-z][\w-]*$/i;

function writeMap(map: Readonly<Record<string, string>>): string {
  const members = Object.entries(map).map(
    ([name, value]) => `${name}: ${PLAIN.test(value) ? value : quote(value)}`,
  );
  return `{ ${members.join(', ')} }`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
