import { describe, expect, test } from 'vitest';
import { hasProgram } from '../support/programs.ts';
import { readPairs, subjectOf, type RuleCase } from './cases.ts';
import { CASES } from './every-case.ts';
import { isPrometheus3, testAllRules } from './promtool.ts';
import { closureOf, readRules, withoutTexts, type Rule } from './rule-set.ts';
import { minutesOf, valuesOf } from './samples.ts';

const GROUPS = withoutTexts(readRules());
const ALERTS = GROUPS.flatMap(({ rules }) => rules.filter(({ alert }) => alert !== undefined));
/** An alert may fire later by the scrapes that fail before and after its waiting time. */
const LATER_MINUTES = 2;
/** The first case of a rule is tried, and the others that fire this soon: they are cheap. */
const SOON_MINUTES = 15;

/** Alerts that may be silent while scrapes fail. docs/prometheus.md says so. */
const ALERT_EXCEPTIONS: Readonly<Record<string, string>> = {
  CrdbNodeLivenessFlapping: 'counts the changes that it sees, and a case has one every minute',
  CrdbScanDisagrees: 'compares what a scrape shows with what another one showed two minutes ago',
};
/** The gap of eight minutes and a scrape before and after it are as long as the window of the rule, which leaves out its beginning in Prometheus 3. */
const WINDOW_OF_THE_GAP =
  'CrdbNodeKeysMissing: as many as one exporter misses, across a gap of eight minutes, and not long after the last value';
/** Cases that are about one sample, which is the one that is lost, or have a gap of their own; and exporters that must be seen at the same time. */
const CASE_EXCEPTIONS: ReadonlySet<string> = new Set([
  'CrdbExportersDisagree: one of a pair sees nodes down that the other one sees live, on one cluster',
  'CrdbRangesUnavailable: a pod is replaced in a bad minute, by one that comes three minutes later',
  'CrdbRangesLost: lasts ten minutes and ten more',
  'CrdbStoreDiskSlow: one exporter of the pair sees it; another cluster is well',
  'CrdbUpgradeNotFinalized: more than a week by the earlier time of the pair, across a gap of eight minutes',
  ...(isPrometheus3() ? [WINDOW_OF_THE_GAP] : []),
]);

describe.skipIf(!hasProgram('promtool'))('every alert fires', () => {
  test.each([
    {
      // One in the middle of its waiting time.
      title: 'although one scrape fails every 30 minutes',
      failsAt: (middle: number, minute: number): boolean => (minute - middle) % 30 === 0,
    },
    {
      title: 'although each third scrape fails',
      failsAt: (_middle: number, _minute: number, index: number): boolean => index % 3 === 2,
    },
  ])('$title', { timeout: 600_000 }, async ({ failsAt }) => {
    const tests = ALERTS.map((rule) => ({
      groups: closureOf(GROUPS, [rule.alert ?? '']),
      cases: firingsOf(rule).map((firing) => withGaps(rule, firing, failsAt)),
    }));
    const { text, passed } = await testAllRules(tests);
    expect(text).not.toContain('FAILED');
    expect(passed).toBe(true);
  });

  test('in a case that names its severity', () => {
    const without = ALERTS.filter((rule) => firingsOf(rule).length === 0);
    expect(new Set(without.map(({ alert = '' }) => alert))).toEqual(
      new Set(Object.keys(ALERT_EXCEPTIONS)),
    );
  });
});

interface Firing {
  readonly oneCase: RuleCase;
  readonly minute: number;
  /** Of one of the alerts that fire. */
  readonly labels: Readonly<Record<string, string>>;
}

/** When the cases of a rule expect it to fire first. */
function firingsOf(rule: Rule): readonly Firing[] {
  if (rule.alert === undefined || rule.alert in ALERT_EXCEPTIONS) return [];
  return CASES.filter((one) => subjectOf(one) === rule.alert && isScraped(one))
    .flatMap((oneCase) => firstFiring(rule, oneCase) ?? [])
    .toSorted(
      (a, b) =>
        minutesOf(a.oneCase.interval) - minutesOf(b.oneCase.interval) || a.minute - b.minute,
    )
    .filter(({ minute }, index) => index === 0 || minute <= SOON_MINUTES);
}

/** Whether all series come from an exporter. */
function isScraped({ name, input_series: all }: RuleCase): boolean {
  return (
    !CASE_EXCEPTIONS.has(name) &&
    !all.some(({ series }) => /^(?:ALERTS|crdb_cluster\w*:)/.test(series))
  );
}

function firstFiring(rule: Rule, oneCase: RuleCase): Firing | undefined {
  const severity = rule.labels?.['severity'];
  const isOne = ALERTS.filter(({ alert }) => alert === rule.alert).length === 1;
  return (oneCase.promql_expr_test ?? [])
    .filter(({ expr }) => expr.endsWith(`(ALERTS{alertname="${rule.alert}",alertstate="firing"})`))
    .flatMap(({ eval_time: time, exp_samples: samples = [] }) =>
      samples.map(({ labels }) => ({
        oneCase,
        minute: minutesOf(time),
        labels: readPairs(labels),
      })),
    )
    .filter(({ labels }) => isOne || labels['severity'] === severity)
    .toSorted((a, b) => a.minute - b.minute)[0];
}

/** The case until the alert fires and a little longer, without what the scrapes that fail would have brought. */
function withGaps(
  rule: Rule,
  { oneCase, minute, labels }: Firing,
  failsAt: (middle: number, minute: number, index: number) => boolean,
): RuleCase {
  const waiting = minutesOf(rule.for ?? '0m');
  // A gap of one scrape is half a minute, which a short waiting time must stand.
  const perMinute = waiting <= 3 ? 2 : 1;
  const middle = minute - Math.floor(waiting / 2);
  const repeated = minutesOf(oneCase.interval) * perMinute;
  const end = (minute + LATER_MINUTES) * perMinute;
  const own = ['crdb_cluster', 'node_id', 'instance']
    .filter((label) => label in labels)
    .map((label) => `,${label}="${labels[label]}"`);
  const { alert, labels: { severity = '' } = {} } = rule;
  return {
    name: oneCase.name,
    interval: perMinute === 2 ? '30s' : '1m',
    input_series: oneCase.input_series.map(({ series, values }) => {
      const known = valuesOf(values).slice(0, minute / minutesOf(oneCase.interval) + 1);
      const all = known.flatMap((value) => Array<string>(repeated).fill(value));
      const lost = series.startsWith('up{') ? '0' : 'stale';
      const texts = [...all, ...continued(known, end + 1 - all.length)].map((value, index) =>
        value !== '_' && failsAt(middle, index / perMinute, index) ? lost : value,
      );
      return { series, values: texts.join(' ') };
    }),
    promql_expr_test: [
      {
        expr: `count(ALERTS{alertname="${alert}",severity="${severity}",alertstate="firing"${own.join('')}}) > bool 0`,
        eval_time: `${minute + LATER_MINUTES}m`,
        exp_samples: [{ labels: '{}', value: 1 }],
      },
    ],
  };
}

/** 0, 60, 120 -> 180, 240: what rises goes on to rise. */
function continued(known: readonly string[], count: number): readonly string[] {
  const steps = Array.from({ length: Math.max(count, 0) }, (_, index) => index + 1);
  const [last = NaN, before = NaN, first = NaN] = known.slice(-3).toReversed().map(Number);
  if (Number.isNaN(last)) return steps.map(() => '_');
  const by = Math.abs(last - 2 * before + first) < 1e-9 ? last - before : 0;
  return steps.map((step) => String(last + step * by));
}
