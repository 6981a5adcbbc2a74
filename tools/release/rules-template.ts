import { ALERT_NAMES, findAlert, LIMIT_PAIRS, SETTINGS, writeRules } from '#alerts';

/** The template of the PrometheusRule: the rules, with the chart's `rules.set` where `rules --set` changes them. */
export function writeRulesTemplate(): string {
  const marked = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, `@${name}@`]));
  const waits = Object.fromEntries(ALERT_NAMES.map((name) => [name, WAIT]));
  const none = { values: marked, severities: {}, labels: {} };
  const usual = rulesIn(writeRules({ ...none, waits: {} })).map(waitOf);
  const rules = rulesIn(writeRules({ ...none, waits }))
    .map((rule, index) => settable(rule, usual[index]))
    .join('')
    .replaceAll(/\{\{|\}\}/g, '{{ "$&" }}')
    .replaceAll(/@@(-?) (.+?) @@@/g, '{{$1 $2 }}')
    .replaceAll(/@(\w+)@/g, (_, name: string) => valueOf(name));
  return `${HEAD}${rules
    .split(/(?=^ {6}- )/m)
    .map(conditional)
    .join('')
    .replaceAll(/^(?=.)/gm, '  ')}{{- end }}\n`;
}

/** Stands for the time that an alert waits. */
const WAIT = '@for@';

function rulesIn(text: string): readonly string[] {
  return text.slice(text.indexOf('groups:')).split(/(?=^ {6}- )/m);
}

function waitOf(rule: string): string | undefined {
  return /^ +for: (\w+)$/m.exec(rule)?.[1];
}

/** An alert whose time, in its texts, too, and whose links are those of the values. */
function settable(rule: string, usual: string | undefined): string {
  const [, name = ''] = /- alert: (\w+)/.exec(rule) ?? [];
  return rule
    .replace(`'${WAIT}'`, WAIT)
    .replaceAll(WAIT, `@@ get $set "for.${name}" | default "${usual}" @@@`)
    .replaceAll(
      /^ {10}(runbook_url|dashboard_url):.*\n(?: {12}.*\n)*/gm,
      (link, key: string) => `@@- if $set.${key} @@@\n${link}@@- end @@@\n`,
    );
}

const DEFAULTS = Object.entries(SETTINGS).map(
  ([name, [, usual]]) => `${JSON.stringify(name)} ${JSON.stringify(usual)}`,
);

const REGEXES = Object.keys(SETTINGS)
  .filter((name) => SETTINGS[name]?.[0].endsWith('regex'))
  .map((name) => JSON.stringify(name));

const PAIRS = LIMIT_PAIRS.map(
  ({ critical, warning, sign }) => `(list "${critical}" "${warning}" ${sign})`,
);

/** Refuses a critical limit that is not beyond the one that warns, as the exporter and its command do. */
const LIMITS = `{{- define "crdb-exporter.refuseLimits" }}
{{- $limits := merge dict (.Values.config.thresholds | default dict) .Values.rules.set (dict ${DEFAULTS.join(' ')}) }}
{{- range list ${PAIRS.join(' ')} }}
{{- $worse := get $limits (first .) | float64 }}
{{- $limit := get $limits (index . 1) | float64 }}
{{- if le (mulf (last .) (subf $worse $limit)) 0.0 }}
{{- fail (printf "%s, %v, must be %s than %s, %v: config.thresholds or rules.set" (first .) $worse (ternary "less" "more" (lt (last .) 0)) (index . 1) $limit) }}
{{- end }}
{{- end }}
{{- end }}
`;

const HEAD = `${LIMITS}{{- /* Written by npm run chart from config/prometheus/rules.template.yml. */}}
{{- if .Values.rules.enabled }}
{{- $config := deepCopy (.Values.config.thresholds | default dict) }}
{{- range $key, $value := .Values.config.links }}
{{- if $value }}{{ $_ := set $config $key (trimSuffix "/" $value) }}{{ end }}
{{- end }}
{{- with include "crdb-exporter.runbooks" . }}{{ $_ := set $config "runbook_url" . }}{{ end }}
{{- range $key, $value := $config }}
{{- with get $.Values.rules.set $key }}
{{- if ne (toString . | trimSuffix "/") (toString $value) }}{{ fail (printf "rules.set.%s differs from config: set it in config alone, for the status page, too" $key) }}{{ end }}
{{- end }}
{{- end }}
{{- $set := mergeOverwrite (dict ${DEFAULTS.join(' ')}) .Values.rules.set $config }}
{{- range list ${REGEXES.join(' ')} }}
{{- /* An expression or nothing matches nothing, where it is an expression. */}}
{{- if not (regexMatch (printf "%s|" (get $set .)) "") }}{{ fail (printf "rules.set.%s is not a regular expression: %s" . (get $set .)) }}{{ end }}
{{- end }}
{{- $labels := "" }}
{{- range $key, $value := .Values.rules.set }}
{{- if hasPrefix "label." $key }}{{ $labels = printf "%s, %s: %s" $labels (trimPrefix "label." $key) ($value | quote) }}{{ end }}
{{- end }}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: {{ include "crdb-exporter.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels: {{- include "crdb-exporter.labels" (list . .Values.rules.labels) | nindent 4 }}
spec:
`;

function valueOf(name: string): string {
  const kind = SETTINGS[name]?.[0];
  if (kind === 'optional regex') {
    return `{{ with $set.${name} }},application!~{{ . | toJson }}{{ end }}`;
  }
  return kind === 'regex' ? `{{ $set.${name} | toJson }}` : `{{ $set.${name} }}`;
}

/** An alert under the condition that its severity is wanted; of two severities those up to the given one, info in place of both. */
function conditional(rule: string): string {
  const [, name = ''] = /- alert: (\w+)/.exec(rule) ?? [];
  if (name === '') return rule;
  const [, severity = ''] = /\{ severity: (\w+)/.exec(rule) ?? [];
  const isOnly = Object.keys(findAlert(name)?.waits ?? {}).length === 1;
  const given = `(get $set "severity.${name}" | default ${isOnly ? `"${severity}"` : '"critical"'})`;
  const lowered = `eq ${given} "info" | ternary "info" "warning"`;
  const isHigher = !isOnly && severity === 'critical';
  const wanted = isHigher ? `eq ${given} "critical"` : `ne ${given} "off"`;
  const label = isHigher ? severity : `{{ ${isOnly ? given : lowered} }}`;
  const body = rule.replace(
    /\{ severity: \w+, component: (\w+) \}/,
    (_, component: string) => `{ severity: ${label}, component: ${component}{{ $labels }} }`,
  );
  const [own, next = ''] = body.split(/(?=^ {2}- name: )/m);
  return `{{- if ${wanted} }}\n${own}{{- end }}\n${next}`;
}
