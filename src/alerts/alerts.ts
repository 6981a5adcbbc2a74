import { SEVERITIES, type Severity } from '#base';
import { ALERTS } from './alerts.generated.ts';

/** What TypeScript needs to know of an alert. */
interface Alert {
  /** The dashboard that the alert links to, by its uid. */
  readonly dashboard: string;
  /** How many seconds the alert waits until it fires, by severity; 0: it fires at once. */
  readonly waits: Readonly<Partial<Record<Severity | 'none', number>>>;
}

export type AlertName = keyof typeof ALERTS;

const alerts: Readonly<Record<string, Alert>> = ALERTS;

export const ALERT_NAMES: readonly string[] = Object.keys(ALERTS);

/** The alert with this name, if there is one. */
export function findAlert(name: string): Alert | undefined {
  return Object.hasOwn(alerts, name) ? alerts[name] : undefined;
}

/** Whether an alert waits, with one of its severities at least, before it fires. */
export function canWait(name: string): boolean {
  return Object.values(findAlert(name)?.waits ?? {}).some((seconds) => seconds > 0);
}

/** The severity of an alert, of one with two the mildest. */
export function severityOf(name: AlertName): Severity {
  const { waits }: Alert = ALERTS[name];
  return SEVERITIES.findLast((severity) => severity in waits) ?? 'info';
}

/** How many seconds an alert waits until it fires; `severity` where it has two: CrdbNodeMemoryHigh 14400, and 120 if critical. */
export function waitSeconds(name: AlertName, severity: Severity = severityOf(name)): number {
  const { waits }: Alert = ALERTS[name];
  return waits[severity] ?? 0;
}
