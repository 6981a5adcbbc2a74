import { findLinkFault, RUNBOOK_URL } from '../../../config/alert-settings.ts';
import {
  findThresholdFault,
  findWrongOrders,
  isThresholdName,
  mapThresholds,
  type ThresholdName,
  THRESHOLDS,
} from '../../../config/alert-thresholds.ts';
import { findNearest } from '../../../config/issues.ts';
import type { Config } from '../../../config/schema.ts';
import { usageError } from '../../command.ts';

/** A setting: how its value is checked and written, its default and its meaning. */
export type Setting = readonly [
  kind: 'regex' | 'optional regex' | 'url' | 'optional url' | (typeof THRESHOLDS)[ThresholdName][0],
  value: string,
  about: string,
];

/** The settings of `rules --set KEY=VALUE` and of the chart's `rules.set`. */
export const SETTINGS: Readonly<Record<string, Setting>> = {
  job: ['regex', 'crdb-exporter.*', 'scrape jobs of the exporter'],
  runbook_url: ['url', RUNBOOK_URL, 'where docs/runbooks is published'],
  dashboard_url: ['optional url', '', 'of Grafana with the dashboards; alerts then link to them'],
  excluded_applications: ['optional regex', '', 'applications without alerts on transactions'],
  batch_applications: [
    'regex',
    '(?i).*(backup|restore|dump|import|export|migrat|etl|batch|report).*',
    'applications whose transactions may take batch_transaction_age',
  ],
  quorum_tier: [
    'regex',
    '.+',
    'locality tiers; the narrowest that matches counts; CrdbQuorumAtRisk',
  ],
  ...mapThresholds((name): Setting => {
    const [kind, usual, about] = THRESHOLDS[name];
    return [kind, String(usual), about];
  }),
};

export const SETTING_NAMES: readonly string[] = Object.keys(SETTINGS);

/** How long an alert waits: one unit, as Prometheus writes it. */
export const DURATION = /^[1-9]\d{0,4}[smhd]$/;

/** Limits and links of a configuration, which the status page uses, too. */
export interface ConfiguredSettings extends Pick<Config, 'thresholds' | 'links'> {
  /** The configuration file as the user named it. */
  readonly file: string;
}

export interface Settings {
  /** The text of each setting in an expression or a text. */
  readonly values: Readonly<Record<string, string>>;
  /** The severity that an alert gets, by its name. */
  readonly severities: Readonly<Record<string, string>>;
  /** How long an alert waits until it fires, by alert. */
  readonly waits: Readonly<Record<string, string>>;
  /** The labels that every alert gets. */
  readonly labels: Readonly<Record<string, string>>;
}

/** An alert of the template, one with two severities twice. */
export interface AlertTemplate {
  readonly name: string;
  readonly waits: boolean;
}

/** Labels that the alerts have, by which they are joined, routed and inhibited. */
export const OWN_LABELS = [
  'alertname',
  'alertstate',
  'severity',
  'component',
  'application',
  'certificate',
  'collector',
  'crdb_cluster',
  'instance',
  'job',
  'job_type',
  'kind',
  'limit',
  'locality',
  'node_id',
  'problem',
  'reason',
  'region',
  'shard',
  'state',
  'status',
  'store_id',
  'tier',
  'user',
];

export const SEVERITIES = ['off', 'info', 'warning', 'critical'];

/** How a value is written: a regular expression as a PromQL string, an optional one as a matcher, which is absent without it. */
function writeValue(kind: Setting[0], value: string): string {
  if (kind === 'optional regex') {
    return value === '' ? '' : `,application!~${JSON.stringify(value)}`;
  }
  return kind === 'regex' ? JSON.stringify(value) : value;
}

/**
 * The settings with what KEY=VALUE pairs change. With a configuration, its limits and links count, and another value for
 * one of them is refused: alerts and status page would disagree. Throws a CommandError on a bad pair.
 */
export function readSettings(
  pairs: readonly string[],
  alerts: readonly AlertTemplate[],
  configured?: ConfiguredSettings,
): Settings {
  const values: Record<string, string> = {};
  for (const [name, [kind, usual]] of Object.entries(SETTINGS)) {
    const value = configured && configuredValue(name, configured)?.value;
    values[name] = writeValue(kind, value ?? usual);
  }
  const severities: Record<string, string> = {};
  const waits: Record<string, string> = {};
  const labels: Record<string, string> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at === -1) throw usageError(`--set ${pair}: write KEY=VALUE`);
    const [key, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const [group, rest = ''] = key.split(/\.(.*)/);
    if (group === 'severity') severities[checkAlert(rest, alerts)] = checkSeverity(key, value);
    else if (group === 'for') waits[checkWaiting(rest, alerts)] = checkDuration(key, value);
    else if (group === 'label') labels[checkLabel(rest)] = value;
    else {
      const setting = SETTINGS[key] ?? unknown('setting', key, SETTING_KEYS);
      const checked = checkValue(key, setting, value);
      const known = configured && configuredValue(key, configured);
      if (known === undefined) values[key] = writeValue(setting[0], checked);
      else checkSame(key, checked, known);
    }
  }
  checkOrder(values);
  return { values, severities, waits, labels };
}

/** The key of a setting in the configuration file and its value there. */
interface ConfiguredValue {
  readonly key: string;
  readonly value: string;
  readonly file: string;
}

/** Undefined for a setting that has no key in the file. */
function configuredValue(
  name: string,
  { file, thresholds, links }: ConfiguredSettings,
): ConfiguredValue | undefined {
  if (isThresholdName(name)) {
    return { key: `thresholds.${name}`, value: String(thresholds[name]), file };
  }
  if (name !== 'runbook_url' && name !== 'dashboard_url') return undefined;
  return { key: `links.${name}`, value: links[name], file };
}

function checkSame(name: string, value: string, configured: ConfiguredValue): void {
  const isSame = isThresholdName(name)
    ? Number(value) === Number(configured.value)
    : value === configured.value;
  if (isSame) return;
  const there = `${configured.key} is ${configured.value || 'empty'} with ${configured.file}`;
  throw usageError(`--set ${name}=${value}: ${there}, for the status page, too: change it there`);
}

function checkOrder(values: Settings['values']): void {
  const [wrong] = findWrongOrders(mapThresholds((name) => Number(values[name])));
  if (wrong !== undefined) throw usageError(`--set: ${wrong.message}`);
}

/** Texts that may stand before the `=`. */
const SETTING_KEYS = [...SETTING_NAMES, 'severity.ALERT', 'for.ALERT', 'label.NAME'];

function checkAlert(name: string, alerts: readonly AlertTemplate[]): string {
  const names = alerts.map((alert) => alert.name);
  if (names.includes(name)) return name;
  return unknown('alert', name, names);
}

function checkWaiting(name: string, alerts: readonly AlertTemplate[]): string {
  checkAlert(name, alerts);
  if (alerts.some((alert) => alert.name === name && alert.waits)) return name;
  throw usageError(`--set for.${name}: this alert fires at once; its expression says when`);
}

function checkDuration(key: string, value: string): string {
  if (DURATION.test(value)) return value;
  throw usageError(`--set ${key}=${value}: not a duration above 0: write 90s, 10m or 2h`);
}

function unknown(what: string, word: string, words: readonly string[]): never {
  const near = findNearest(word, words);
  const hint = near === undefined ? 'see crdb-exporter rules --help' : `did you mean ${near}?`;
  throw usageError(`--set: there is no ${what} ${JSON.stringify(word)}: ${hint}`);
}

function checkSeverity(key: string, value: string): string {
  if (SEVERITIES.includes(value)) return value;
  throw usageError(`--set ${key}=${value}: use ${SEVERITIES.join(', ')}`);
}

function checkLabel(name: string): string {
  if (OWN_LABELS.includes(name)) {
    throw usageError(
      `--set label.${name}: alerts are joined and routed by this label; set another`,
    );
  }
  if (/^[a-z_]\w*$/i.test(name)) return name;
  throw usageError(`--set label.${name}: not the name of a label that may be set`);
}

/** The reason why a value is not of this kind, or undefined. */
function findFault(kind: Setting[0], value: string): string | undefined {
  switch (kind) {
    case 'regex':
      return isRegex(value) ? undefined : 'not a regular expression';
    case 'url':
      return findLinkFault(value);
    case 'optional regex':
    case 'optional url':
      return value === '' ? undefined : findFault(kind === 'optional url' ? 'url' : 'regex', value);
    default:
      return findThresholdFault(kind, /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : NaN);
  }
}

/** Prometheus checks it more strictly; a flag at its beginning is not known here. */
function isRegex(text: string): boolean {
  try {
    return new RegExp(text.replace(/^\(\?[a-z]+\)/, ''), 'u').source !== '';
  } catch {
    return false;
  }
}

function checkValue(name: string, [kind, usual]: Setting, value: string): string {
  const fault = findFault(kind, value);
  if (fault !== undefined) throw usageError(`--set ${name}=${value}: ${fault}`);
  if (kind === 'regex' && value === '') {
    throw usageError(`--set ${name}=: matches nothing; the default is ${usual}`);
  }
  return kind.endsWith('url') ? value.replace(/\/$/, '') : value;
}
