import { findNearest, findUrlFault } from '#base';
import { ALERT_NAMES, canWait } from './alerts.ts';
import {
  DEFAULT_THRESHOLDS,
  type FindingSettings,
  findThresholdFault,
  findWrongOrders,
  isThresholdName,
  THRESHOLD_NAMES,
  THRESHOLDS,
} from './thresholds.ts';

/** A setting: how its value is checked and written, its default and its meaning. */
export type Setting = readonly [
  kind: 'regex' | 'optional regex' | 'url' | 'optional url' | 'number',
  value: string,
  about: string,
];

/** Words in the names of applications whose transactions may take long. */
const BATCH_WORDS = 'backup|restore|dump|import|export|migrat|etl|batch|report';
/** The default of `batch_applications`, for findings. */
export const BATCH_APPLICATIONS = new RegExp(BATCH_WORDS, 'i');

/** The settings of `rules --set KEY=VALUE` and of the chart's `rules.set`. */
export const SETTINGS: Readonly<Record<string, Setting>> = {
  job: ['regex', 'crdb-exporter.*', 'Scrape jobs of the exporter.'],
  runbook_url: ['optional url', '', 'Where the runbooks are; alerts then link to them.'],
  dashboard_url: ['optional url', '', 'Grafana with the dashboards; alerts then link to them.'],
  excluded_applications: ['optional regex', '', 'Applications without alerts on transactions.'],
  batch_applications: [
    'regex',
    `(?i).*(${BATCH_WORDS}).*`,
    'Applications whose transactions may take batch_transaction_age.',
  ],
  quorum_tier: ['regex', '.+', 'Locality tiers; the narrowest counts; CrdbQuorumAtRisk.'],
  ...Object.fromEntries(
    THRESHOLD_NAMES.map((name): [string, Setting] => [
      name,
      ['number', String(DEFAULT_THRESHOLDS[name]), THRESHOLDS[name].help],
    ]),
  ),
};

/** How long an alert waits: one unit, as Prometheus writes it. */
export const WAIT_PATTERN = /^[1-9]\d{0,4}[smhd]$/;

/** Limits and links of a configuration, which the status page uses, too. */
interface ConfiguredSettings extends FindingSettings {
  /** The configuration file as the user named it. */
  readonly file: string;
}

/** The values that the rules are written with. */
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

/** Labels that the alerts have, by which they are joined, routed and inhibited. */
export const ALERT_LABELS =
  `alertname alertstate severity component application certificate collector crdb_cluster instance job job_type
  kind limit locality node_id problem reason region shard state status store_id tier user`.split(
    /\s+/,
  );

/** The severities that an alert can be given, the mildest first. */
export const GIVEN_SEVERITIES = ['off', 'info', 'warning', 'critical'];

/** A pair that names something unknown, or has a value that cannot be used; its message is for the user. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
}

/**
 * The settings with what KEY=VALUE pairs change. With a configuration, its limits and links count, and another value for
 * one of them is refused: alerts and status page would disagree. Throws a SettingError on a bad pair.
 */
export function readSettings(pairs: readonly string[], configured?: ConfiguredSettings): Settings {
  const fixed: Readonly<Record<string, number | string>> = {
    ...configured?.thresholds,
    ...configured?.links,
  };
  const texts = Object.fromEntries(
    Object.entries(SETTINGS).map(([name, [, usual]]) => [name, String(fixed[name] ?? usual)]),
  );
  const severities: Record<string, string> = {};
  const waits: Record<string, string> = {};
  const labels: Record<string, string> = {};
  for (const pair of pairs) {
    const [, key, value = ''] = /^([^=]*)=(.*)$/s.exec(pair) ?? [];
    if (key === undefined) throw new SettingError(`--set ${pair}: write KEY=VALUE`);
    const [group, name = ''] = key.split(/\.(.*)/);
    const isOfAlert = group === 'severity' || group === 'for';
    if (isOfAlert && !ALERT_NAMES.includes(name)) throw unknown('alert', name, ALERT_NAMES);
    let fault: string | undefined;
    if (group === 'severity') {
      if (!GIVEN_SEVERITIES.includes(value)) fault = `use ${GIVEN_SEVERITIES.join(', ')}`;
      severities[name] = value;
    } else if (group === 'for') {
      if (!canWait(name)) fault = 'this alert fires at once; its expression says when';
      else if (!WAIT_PATTERN.test(value)) fault = 'not a duration above 0: write 90s, 10m or 2h';
      waits[name] = value;
    } else if (group === 'label') {
      if (ALERT_LABELS.includes(name)) {
        fault = 'alerts are joined and routed by this label; set another';
      } else if (!/^[a-z_]\w*$/i.test(name)) fault = 'not the name of a label that may be set';
      labels[name] = value;
    } else {
      const checked = checkValue(key, value);
      if (configured && key in fixed && checked !== texts[key]) {
        const file = `${isThresholdName(key) ? 'thresholds' : 'links'}.${key}`;
        const there = `${file} is ${texts[key] || 'empty'} with ${configured.file}`;
        fault = `${there}, for the status page, too: change it there`;
      }
      texts[key] = checked;
    }
    if (fault !== undefined) throw new SettingError(`--set ${pair}: ${fault}`);
  }
  const limits = THRESHOLD_NAMES.map((name) => [name, Number(texts[name])] as const);
  const [wrong] = findWrongOrders(Object.fromEntries(limits));
  if (wrong !== undefined) throw new SettingError(`--set ${wrong.critical}: ${wrong.message}`);
  const values = Object.entries(texts).map(([name, text]) => [name, writeValue(name, text)]);
  return { values: Object.fromEntries(values), severities, waits, labels };
}

/** How a value stands in the rules: a regular expression as a PromQL string, an optional one as a matcher or nothing. */
function writeValue(name: string, text: string): string {
  const kind = SETTINGS[name]?.[0];
  if (kind === 'regex') return JSON.stringify(text);
  return kind === 'optional regex' && text !== '' ? `,application!~${JSON.stringify(text)}` : text;
}

/** The value of a setting, numbers in their shortest form. */
function checkValue(name: string, value: string): string {
  const setting = SETTINGS[name];
  if (setting === undefined) {
    const keys = [...Object.keys(SETTINGS), 'severity.ALERT', 'for.ALERT', 'label.NAME'];
    throw unknown('setting', name, keys);
  }
  const [kind, usual] = setting;
  if (kind === 'regex' && value === '') {
    throw new SettingError(`--set ${name}=: matches nothing; the default is ${usual}`);
  }
  const number = value.trim() === '' ? NaN : Number(value);
  const fault = isThresholdName(name)
    ? findThresholdFault(name, Number.isFinite(number) ? number : value)
    : findTextFault(kind, value);
  if (fault !== undefined) throw new SettingError(`--set ${name}=${value}: ${fault}`);
  if (kind === 'number') return String(number);
  return kind.endsWith('url') ? value.replace(/\/$/, '') : value;
}

function findTextFault(kind: Setting[0], value: string): string | undefined {
  if (value === '' && kind.startsWith('optional')) return undefined;
  if (kind.endsWith('url')) return findUrlFault(value);
  try {
    // Prometheus checks it more strictly; a flag at its beginning is not known here.
    void new RegExp(value.replace(/^\(\?[a-z]+\)/, ''), 'u');
    return undefined;
  } catch {
    return 'not a regular expression';
  }
}

/** The error for a name that does not exist, with the nearest one. */
function unknown(what: string, word: string, words: readonly string[]): SettingError {
  const near = findNearest(word, words);
  const hint = near === undefined ? 'see crdb-exporter rules --help' : `did you mean ${near}?`;
  return new SettingError(`--set: there is no ${what} ${JSON.stringify(word)}: ${hint}`);
}
