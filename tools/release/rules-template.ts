import { writeRules } from '../../src/cli/commands/rules.ts';
import { recordOf, SETTINGS, settingNames } from '../../src/cli/commands/rules/settings.ts';

/** The template of the PrometheusRule: the rules, with the chart's `rules.set` where `rules --set` changes them. */
export function writeRulesTemplate(): string {
  const marked = recordOf(settingNames().map((name) => [name, `@${name}@`]));
  const text = writeRules({ values: marked, severities: {}, labels: {} });
  const rules = text
    .slice(text.indexOf('groups:'))
    .replaceAll(/\{\{|\}\}/g, '{{ "$&" }}')
    .replaceAll(/@(\w+)@/g, (_, name: string) => valueOf(name));
  return `${HEAD}${rules
    .split(/(?=^ {6}- )/m)
    .map((rule, _, all) => conditional(rule, all))
    .join('')
    .replaceAll(/^(?=.)/gm, '  ')}{{- end }}\n`;
}

const DEFAULTS = settingNames().map(
  (name) => `${JSON.stringify(name)} ${JSON.stringify(SETTINGS[name][1])}`,
);

const HEAD = `{{- /* Written by npm run chart from src/cli/commands/rules. */}}
{{- if .Values.rules.enabled }}
{{- $set := mergeOverwrite (dict ${DEFAULTS.join(' ')}) .Values.rules.set }}
{{- $labels := "" }}
{{- range $key, $value := .Values.rules.set }}
{{- if hasPrefix "label." $key }}{{ $labels = printf "%s, %s: %s" $labels (trimPrefix "label." $key) ($value | quote) }}{{ end }}
{{- end }}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: {{ include "crdb-exporter.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "crdb-exporter.labels" . | nindent 4 }}
    {{- with .Values.rules.labels }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
`;

function valueOf(name: string): string {
  const isRegex =
    SETTINGS[settingNames().find((one) => one === name) ?? 'job'][0].endsWith('regex');
  return isRegex ? `{{ $set.${name} | toJson }}` : `{{ $set.${name} }}`;
}

/** An alert under the condition that its severity is wanted; of two severities each up to the given one. */
function conditional(rule: string, all: readonly string[]): string {
  const [, name = ''] = /- alert: (\w+)/.exec(rule) ?? [];
  if (name === '') return rule;
  const [, severity = ''] = /\{ severity: (\w+)/.exec(rule) ?? [];
  const isOnly = all.filter((one) => one.includes(`- alert: ${name}\n`)).length === 1;
  const given = `(get $set "severity.${name}" | default ${isOnly ? `"${severity}"` : '"critical"'})`;
  const wanted = isOnly
    ? `ne ${given} "off"`
    : `has ${given} (list ${severity === 'critical' ? '' : `"${severity}" `}"critical")`;
  const body = rule.replace(
    /\{ severity: \w+, component: (\w+) \}/,
    (_, component: string) =>
      `{ severity: ${isOnly ? `{{ ${given} }}` : severity}, component: ${component}{{ $labels }} }`,
  );
  const [own, next = ''] = body.split(/(?=^ {2}- name: )/m);
  return `{{- if ${wanted} }}\n${own}{{- end }}\n${next}`;
}
