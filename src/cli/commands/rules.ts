import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Command, Option } from 'commander';
import { parseYaml, visitYaml } from '../../config/document.ts';
import { explainFileError } from '../../config/files.ts';
import { findFile } from '../../config/sources.ts';
import { ROOT } from '../build.ts';
import { addExamples, type CommandContext, CommandError } from '../command.ts';
import { addConfigFileFlag, configSources, loadCommandConfig } from '../schema-flags.ts';
import {
  type AlertTemplate,
  readSettings,
  SETTINGS,
  SEVERITIES,
  type Settings,
} from './rules/settings.ts';

/** The rules, in which `${name}` stands for a setting, or for a text at the end of the file. */
const TEMPLATE = path.join(ROOT, 'config/prometheus/rules.template.yml');

/** `rules`: prints the recording and alerting rules. */
export function define(command: Command, context: CommandContext): void {
  addConfigFileFlag(command);
  command
    .addOption(
      new Option('--set <key=value>', 'Change a setting; repeatable. The settings are below.')
        .default([])
        .argParser((pair: string, pairs: readonly string[]) => [...pairs, pair]),
    )
    .option('--output <file>', 'Write to this file instead of standard output.');
  addExamples(
    command,
    'rules --config.file=exporter.yml --output rules.yml',
    'rules --set disk=0.25 --set severity.CrdbNodeDead=critical --set label.team=database',
    "rules --set 'excluded_applications=pg_dump|nightly-.*'",
  );
  command.addHelpText('after', () => `\nSettings:\n${describeSettings()}`);
  command.action(
    async ({ set, output }: { readonly set: readonly string[]; readonly output?: string }) => {
      const file = findFile(configSources(command, context));
      const configured =
        file === undefined ? undefined : { ...(await loadCommandConfig(command, context)), file };
      const text = writeRules(readSettings(set, listAlerts(), configured));
      if (output === undefined) {
        process.stdout.write(text);
        return;
      }
      try {
        writeFileSync(output, text);
      } catch (error) {
        throw new CommandError(`cannot write ${output}: ${explainFileError(error, 'folder')}`);
      }
    },
  );
}

function describeSettings(): string {
  const rows = Object.entries(SETTINGS).map(
    ([name, [, value, about]]) => `  ${name} (${value || 'none'}): ${about}`,
  );
  return [
    ...rows,
    '  severity.ALERT: off, info, warning or critical; of an alert with two severities the highest',
    '  for.ALERT: how long an alert waits, for example 10m; of an alert with two severities both',
    '  label.NAME: a label of every alert',
  ].join('\n');
}

/** The alerts of the template, one with two severities twice. */
export function listAlerts(template = readFileSync(TEMPLATE, 'utf8')): readonly AlertTemplate[] {
  const rules = template.split(/^ +- (?=alert: |record: )/m);
  return rules.flatMap((rule) => {
    const name = /^alert: (\w+)$/m.exec(rule)?.[1];
    return name === undefined ? [] : [{ name, waits: /^ +for: /m.test(rule) }];
  });
}

/** Stands in the texts of an alert for the time that it waits. */
const WAIT = '${for}';

/** The dashboard of each component; the alerts of all others lead to the Overview. */
const DASHBOARDS: Readonly<Record<string, string>> = {
  exporter: 'crdb-exporter',
  api: 'crdb-exporter',
  node: 'crdb-nodes',
  store: 'crdb-nodes',
  range: 'crdb-ranges',
  sql: 'crdb-sql',
};

/** The text of rules.yml with these settings. */
export function writeRules({ values, severities, waits, labels }: Settings): string {
  const template = readFileSync(TEMPLATE, 'utf8');
  // YAML 1.1 quotes labels such as `no`, which older readers take for a boolean.
  const rules = parseYaml(template, { version: '1.1' });
  const texts: Readonly<Record<string, string>> = rules.toJS().texts;
  rules.delete('texts');
  const known: Readonly<Record<string, string>> = { ...values, for: WAIT };
  const fill = (text: string): string =>
    text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) =>
      name in texts ? fill(texts[name] ?? '') : (known[name] ?? ''),
    );
  visitYaml(rules, {
    Scalar(_, scalar) {
      if (typeof scalar.value === 'string') scalar.value = fill(scalar.value);
    },
  });
  const alerts = listAlerts(template);
  visitYaml(rules, {
    Map(_, rule) {
      const alert = rule.get('alert');
      if (typeof alert !== 'string') return undefined;
      const severity = String(rule.getIn(['labels', 'severity']));
      const highest = severities[alert] ?? severity;
      const isOnly = alerts.filter(({ name }) => name === alert).length === 1;
      if (highest === 'off') return visitYaml.REMOVE;
      if (isOnly) rule.setIn(['labels', 'severity'], highest);
      // An alert with two severities keeps those up to the chosen one.
      else if (SEVERITIES.indexOf(severity) > SEVERITIES.indexOf(highest)) return visitYaml.REMOVE;
      for (const [name, value] of Object.entries(labels)) rule.setIn(['labels', name], value);
      setWait(rule, waits[alert]);
      if (values['dashboard_url']) setDashboard(rule, values['dashboard_url']);
      return visitYaml.SKIP;
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

function setDashboard(rule: RuleNode, url: string): void {
  const board = DASHBOARDS[String(rule.getIn(['labels', 'component']))] ?? 'crdb-overview';
  const cluster = '{{ with $labels.crdb_cluster }}?var-cluster={{ . | urlquery }}{{ end }}';
  rule.setIn(['annotations', 'dashboard_url'], `${url}/d/${board}${cluster}`);
}
