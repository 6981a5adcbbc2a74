import { describe, expect, test } from 'vitest';
import { ALERT_NAMES } from '../../src/alerts/alerts.ts';
import { hasProgram } from '../support/programs.ts';
import { readPairs, subjectOf, type RuleCase } from './cases.ts';
import { CASES } from './every-case.ts';
import { testAllRules } from './promtool.ts';
import { closureOf, readRules, withoutTexts } from './rule-set.ts';
import { minutesOf, valuesOf } from './samples.ts';

const GROUPS = withoutTexts(readRules());
/** A bridged gap, and an alert that goes on without data, take 10 minutes each, CrdbStoreDiskLow two more; cases have steps of up to 10. */
const MINUTES = 23;
/** A removal after more evaluations costs much and says the same: an alert that remembers twelve hours does so after half an hour, too. */
const MAX_EVALUATIONS = 150;
/** The last value, or a window or an offset of more than the 10 minutes of a gap. */
const REMEMBERS = /\[(?:1[1-9]|[2-9]\d|\d{3,})m|\[\d+[hd]|offset|ALERTS|last_over_time/;
/** Of the exporter itself: what it watches does not matter. CrdbMonitoringBlind has cases of its own. */
const NOT_OF_A_CLUSTER = /^Crdb(?:Exporter|MonitoringBlind|Watchdog)/;

const REMEMBERING = ALERT_NAMES.filter(
  (name) =>
    !NOT_OF_A_CLUSTER.test(name) &&
    closureOf(GROUPS, [name]).some(({ rules }) => rules.some(({ expr }) => REMEMBERS.test(expr))),
);
const OF_NODES = REMEMBERING.filter((name) => 'node_id' in (firingsOf(name)[0]?.labels ?? {}));

describe.skipIf(!hasProgram('promtool'))('what is removed from the world ends its alerts', () => {
  test.each([
    { what: 'cluster', names: REMEMBERING, shared: ['crdb_cluster'] },
    { what: 'node', names: OF_NODES, shared: ['crdb_cluster', 'node_id'] },
  ])('a $what', { timeout: 600_000 }, async ({ names, shared }) => {
    const verdict = await testAllRules(
      names.map((name) => ({
        groups: closureOf(GROUPS, [name]),
        cases: firingsOf(name).map((firing) => removed(name, firing, shared)),
      })),
    );
    // There is a SUCCESS for each step that cases have.
    expect(verdict.text).not.toContain('FAILED');
    expect(verdict.passed).toBe(true);
  });
});

interface Firing {
  readonly oneCase: RuleCase;
  readonly minute: number;
  /** Of one of the alerts that fire. */
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * The first time at which the cases expect the alert to fire, and the last one within MAX_EVALUATIONS: what it remembers is young or
 * old then.
 */
function firingsOf(name: string): readonly Firing[] {
  const all = CASES.filter((one) => subjectOf(one) === name).flatMap((oneCase) =>
    (oneCase.promql_expr_test ?? []).flatMap(
      ({ expr, eval_time: time, exp_samples: [sample] = [] }) =>
        expr.endsWith(`(ALERTS{alertname="${name}",alertstate="firing"})`) && sample !== undefined
          ? { oneCase, minute: minutesOf(time), labels: readPairs(sample.labels) }
          : [],
    ),
  );
  if (all.length === 0) throw new Error(`no case expects ${name} to fire`);
  const sorted = all.toSorted((a, b) => evaluationsOf(a) - evaluationsOf(b));
  const soon = sorted.filter((one) => evaluationsOf(one) <= MAX_EVALUATIONS);
  return [...new Set([sorted[0], soon.at(-1)])].filter((one) => one !== undefined);
}

function evaluationsOf({ oneCase, minute }: Firing): number {
  return minute / minutesOf(oneCase.interval);
}

/** The case of an alert that fires, in which the series with these labels of the alert end then and all others go on. */
function removed(
  name: string,
  { oneCase, minute, labels }: Firing,
  shared: readonly string[],
): RuleCase {
  const alert = ['crdb_cluster', 'node_id'].flatMap((label) =>
    label in labels ? `,${label}="${labels[label]}"` : [],
  );
  const isFiring = `count(ALERTS{alertname="${name}",alertstate="firing"${alert.join('')}}) > bool 0`;
  const step = minutesOf(oneCase.interval);
  return {
    name: `${name}: removed`,
    interval: oneCase.interval,
    input_series: [
      // The exporter itself stays.
      { series: 'up', values: `1x${Math.ceil((minute + MINUTES) / step)}` },
      ...oneCase.input_series.map(({ series, values }) => {
        const own = readPairs(series);
        const known = valuesOf(values).slice(0, minute / step + 1);
        const last = Number(known.at(-1));
        const isRemoved = shared.every((label) => own[label] === labels[label]);
        const end =
          isRemoved || Number.isNaN(last) ? 'stale' : `${last}x${Math.ceil(MINUTES / step)}`;
        return { series, values: [...known, end].join(' ') };
      }),
    ],
    promql_expr_test: [
      { expr: isFiring, eval_time: `${minute}m`, exp_samples: [{ labels: '{}', value: 1 }] },
      {
        expr: isFiring,
        eval_time: `${minute + Math.ceil(MINUTES / step) * step}m`,
        exp_samples: [],
      },
    ],
  };
}
