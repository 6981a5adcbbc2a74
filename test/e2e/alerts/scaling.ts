import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { parse, stringify } from 'yaml';
import { readRules, type Rule } from '../../rules/rule-set.ts';

const CONFIG = path.join(import.meta.dirname, '../../../config');
const ALERTMANAGER = path.join(CONFIG, 'alertmanager/alertmanager.example.yml');
const PROMETHEUS = path.join(CONFIG, 'prometheus/prometheus.example.yml');

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
/** Seconds of an offset, not a duration, or by the clocks of the simulated servers, which run fast themselves. */
const NOT_SCALED = /crdb_node_clock_offset_seconds|crdb_node_record_age_seconds/;
/** A comparison with fewer seconds is no time limit (an interval above 0). */
const MIN_LIMIT_SECONDS = 60;

/** rules.yml with every interval, `for`, range, offset and limit in seconds divided by `factor`. */
export function scaledRules(factor: number): string {
  const groups = readRules().map(({ name, interval, rules }) => ({
    name,
    ...(interval === undefined ? {} : { interval: scaleDuration(interval, factor) }),
    rules: rules.filter((rule) => !isOfClock(rule)).map((rule) => scaleRule(rule, factor)),
  }));
  return stringify({ groups });
}

/** The clocks of the simulated servers run fast, so those of the exporters are wrong against them. */
function isOfClock({ record, alert }: Rule): boolean {
  return (
    alert === 'CrdbExporterClockWrong' || record?.includes('clock_offset_seconds:wrong') === true
  );
}

function scaleRule(rule: Rule, factor: number): Rule {
  const { for: wait, keep_firing_for: keep } = rule;
  return {
    ...rule,
    expr: scaleExpression(rule.expr, factor),
    ...(wait === undefined ? {} : { for: scaleDuration(wait, factor) }),
    ...(keep === undefined ? {} : { keep_firing_for: scaleDuration(keep, factor) }),
  };
}

/** Scales ranges, offsets and rates, and numbers of seconds where the expression contains durations. */
function scaleExpression(expr: string, factor: number): string {
  const hasDurations = /_seconds\b|:data_age_seconds/.test(expr) && !NOT_SCALED.test(expr);
  const edits: (readonly [from: number, to: number, changed: string])[] = [];
  parser.parse(expr).iterate({
    enter({ name, from, to }) {
      const text = expr.slice(from, to);
      if (name === 'NumberDurationLiteralInDurationContext') {
        edits.push([from, to, scaleDuration(text, factor)]);
      }
      if (name === 'FunctionCall' && text.startsWith('rate(')) {
        edits.push([from, from, '('], [to, to, ` / ${factor})`]);
      }
      const isLimit = name === 'NumberDurationLiteral' && Number(text) >= MIN_LIMIT_SECONDS;
      if (isLimit && (hasDurations || expr.includes('predict_linear'))) {
        edits.push([from, to, String(Number(text) / factor)]);
      }
    },
  });
  edits.sort(([from], [other]) => from - other);
  return edits.reduceRight(
    (text, [from, to, changed]) => text.slice(0, from) + changed + text.slice(to),
    expr,
  );
}

/** The example configuration of Alertmanager with its durations divided, sending to one receiver. */
export function scaledAlertmanager(factor: number, receiver: string): string {
  return readFileSync(ALERTMANAGER, 'utf8')
    .replaceAll('http://127.0.0.1:9099', receiver)
    .replaceAll(
      /^(\s*(?:group_wait|group_interval|repeat_interval|resolve_timeout): )(\w+)/gm,
      (_, key: string, duration: string) => key + scaleDuration(duration, factor),
    );
}

interface Watched {
  /** The file of the rules. */
  readonly rules: string;
  readonly alertmanager: string;
  /** Each with the URL that lists its targets. */
  readonly jobs: readonly { readonly name: string; readonly targets: string }[];
}

/** The example configuration of Prometheus with its intervals divided, watching these jobs. */
export function scaledPrometheus(factor: number, { rules, alertmanager, jobs }: Watched): string {
  const { global }: { global: Readonly<Record<string, string>> } = parse(
    readFileSync(PROMETHEUS, 'utf8'),
  );
  const intervals = Object.entries(global).map(([key, interval]) => [
    key,
    scaleDuration(interval, factor),
  ]);
  return stringify({
    global: Object.fromEntries(intervals),
    rule_files: [rules],
    alerting: { alertmanagers: [{ static_configs: [{ targets: [alertmanager] }] }] },
    scrape_configs: jobs.map(({ name, targets }) => ({
      job_name: name,
      http_sd_configs: [{ url: targets, refresh_interval: '1s' }],
    })),
  });
}

/** `--a=` of `--a=1m`. */
function keyOf(flag: string): string {
  return flag.slice(0, flag.indexOf('=') + 1);
}

/** Times that Prometheus takes from flags, by default or as given, divided. */
export function scaledFlags(factor: number, flags: readonly string[]): readonly string[] {
  const defaults = [
    '--query.lookback-delta=5m',
    '--rules.alert.resend-delay=1m',
    '--rules.alert.for-outage-tolerance=1h',
    '--rules.alert.for-grace-period=10m',
  ];
  return defaults.map((flag) => {
    const chosen = flags.find((one) => keyOf(one) === keyOf(flag)) ?? flag;
    return keyOf(chosen) + scaleDuration(chosen.slice(keyOf(chosen).length), factor);
  });
}

function scaleDuration(text: string, factor: number): string {
  const [, count = '', unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const seconds = UNIT_SECONDS[unit];
  if (seconds === undefined) throw new Error(`a duration that scaling cannot read: ${text}`);
  return `${Math.round((Number(count) * seconds * 1000) / factor)}ms`;
}
