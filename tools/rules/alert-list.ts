import { readTemplate } from '#alerts';

/** The dashboard of each component; the alerts of all others lead to the Overview. */
const DASHBOARDS: Readonly<Record<string, string>> = {
  exporter: 'crdb-exporter',
  api: 'crdb-exporter',
  node: 'crdb-nodes',
  store: 'crdb-nodes',
  range: 'crdb-ranges',
  sql: 'crdb-sql',
};

/** A rule of the template; a recording rule has no `alert`. */
interface Rule {
  readonly alert?: string;
  readonly for?: string;
  readonly labels: Readonly<Record<'severity' | 'component', string>>;
}

/** The text of src/alerts/alerts.generated.ts: of each alert in the template its dashboard and its waits by severity. */
export function writeAlerts(): string {
  const { groups }: { readonly groups: readonly { readonly rules: readonly Rule[] }[] } =
    readTemplate().toJS();
  const alerts = groups.flatMap(({ rules }) => rules).filter((rule) => rule.alert !== undefined);
  const entries = Array.from(
    Map.groupBy(alerts, ({ alert }) => alert),
    ([name, rules]) => {
      const board = DASHBOARDS[rules[0]?.labels.component ?? ''] ?? 'crdb-overview';
      const waits = new Map(rules.map((rule) => [rule.labels.severity, toSeconds(rule.for)]));
      const list = Array.from(waits, ([severity, seconds]) => `${severity}: ${seconds}`);
      return `  ${name}: { dashboard: '${board}', waits: { ${list.join(', ')} } },\n`;
    },
  );
  return `// Written by \`npm run rules\` from config/prometheus/rules.template.yml.

/** The alerts: the dashboard that each leads to, and how many seconds it waits, by severity. */
export const ALERTS = {
${entries.join('')}} as const;
`;
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Of `90s`, `10m` or `2h`; 0 where an alert fires at once. */
function toSeconds(wait: string | undefined): number {
  return wait === undefined ? 0 : Number.parseInt(wait, 10) * (UNITS[wait.slice(-1)] ?? NaN);
}
