import type { RuleCase } from './cases.ts';
import type { Verdict } from './promtool.ts';
import { minutesOf } from './samples.ts';

const FIRING = 'ALERTS{alertstate="firing",alertname!="CrdbWatchdog"';
/** The alerts that fire and are of no cluster and no exporter, as an expression. */
const FIRING_OF_NOBODY = `${FIRING},crdb_cluster="",instance=""}`;

/** The alerts that fire of these clusters and their exporters, as an expression. */
export function firingOf(clusters: readonly string[]): string {
  const names = clusters.join('|');
  return `(${FIRING},crdb_cluster=~"${names}"} or ${FIRING},crdb_cluster="",instance=~"(${names})-[a-z]+"})`;
}

/** That none of these alerts fires until a minute. */
export function nothingFires(
  firing: string,
  minutes: number,
): NonNullable<RuleCase['promql_expr_test']>[number] {
  return {
    expr: `max_over_time(${firing}[${minutes}m:1m])`,
    eval_time: `${minutes}m`,
    exp_samples: [],
  };
}

/**
 * An evaluation of all rules without any series takes a third of one of a cluster, so four clusters in one case take half of the
 * time of four cases. With more series they take longer: promtool 3.5 and older needs the square of their number.
 */
const MAX_SERIES = 4000;

/** Cases that end at about the same time, as many together as one case can hold. */
export function groupsOf(cases: readonly RuleCase[]): readonly (readonly RuleCase[])[] {
  const groups: RuleCase[][] = [];
  let series = Infinity;
  for (const one of cases.toSorted((a, b) => minutesTo(a) - minutesTo(b))) {
    series += one.input_series.length;
    if (series > MAX_SERIES) {
      groups.push([]);
      series = one.input_series.length;
    }
    groups.at(-1)?.push(one);
  }
  return groups;
}

function minutesTo({ promql_expr_test: tests = [] }: RuleCase): number {
  return Math.max(...tests.map(({ eval_time: time }) => minutesOf(time)));
}

/** Cases with clusters and exporters of their own as one case, in which no alert fires that is of none of them. */
export function joined(cases: readonly RuleCase[]): RuleCase {
  return {
    name: cases.map(({ name }) => name).join('; '),
    interval: cases[0]?.interval ?? '',
    input_series: cases.flatMap(({ input_series: series }) => series),
    promql_expr_test: [
      ...cases.flatMap(({ promql_expr_test: tests = [] }) => tests),
      nothingFires(FIRING_OF_NOBODY, Math.max(...cases.map(minutesTo))),
    ],
  };
}

/** What promtool says of the expressions of a case that are not as expected, of those that it has run. */
export function failuresOf(
  one: RuleCase | undefined,
  verdicts: readonly Verdict[],
): readonly string[] {
  const expected = one?.promql_expr_test ?? [];
  if (expected.length === 0) throw new Error('no case');
  return verdicts
    .flatMap(({ text }) => text.split(/^ +expr: /m).slice(1))
    .filter((failure) => expected.some(({ expr }) => failure.startsWith(JSON.stringify(expr))));
}
