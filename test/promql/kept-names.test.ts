import { describe, expect, test } from 'vitest';
import { readRules } from '../rules/rule-set.ts';
import { findLabelMatches, findNameMatches } from './kept-names.ts';

/** Every expression of the rules, and every query of the texts of alerts; recorded series get the labels of the ruler. */
const QUERIES = readRules()
  .flatMap(({ rules }) => rules)
  .flatMap(({ record, expr, annotations = {} }) => {
    const asked = Object.values(annotations).flatMap((text) =>
      Array.from(text.matchAll(/printf\s+"((?:[^"\\]|\\.)*)"\s+\$labels/g), ([, query = '']) =>
        query.replaceAll('\\"', '"').replaceAll('%q', '"any"'),
      ),
    );
    return [record === undefined ? expr : `group by (crdb_cluster) (${expr})`, ...asked];
  });

describe('operators of which one side has lost its names', () => {
  test.each([
    'up + 2 * up',
    'min_over_time(up[5m]) and up',
    'crdb_up and rate(crdb_node_sql_queries_total[5m]) > 1',
    'time() - crdb_a_seconds - 2 * crdb_b_seconds - crdb_c_seconds',
    'crdb_a or -crdb_a',
    'crdb_a unless crdb_a > bool 1',
    'crdb_a and ignoring (state) max by (job) (crdb_b)',
    'topk(1, crdb_a) / sum(crdb_a)',
    // Units differ.
    'crdb_a_seconds > crdb_b',
  ])('are found: %s', (query) => {
    expect(findNameMatches(query)).not.toEqual([]);
  });

  test.each([
    'up + on (job, instance) 2 * up',
    'max by (job) (up) + 2 * max by (job) (up)',
    'crdb_a_seconds - crdb_b_seconds > 30',
    'time() - crdb_a_seconds',
    'crdb_a > 1 or last_over_time(crdb_b[5m])',
    'label_replace(crdb_a, "x", "y", "", "") unless crdb_b',
    'crdb_a > on (job) group_left () max by (job) (crdb_b)',
    '(time() + 30) * 2 > crdb_a',
  ])('are not in: %s', (query) => {
    expect(findNameMatches(query)).toEqual([]);
  });

  test('are not in the rules and in the texts of alerts', () => {
    expect(QUERIES.flatMap(findNameMatches)).toEqual([]);
  });
});

describe('operators between what has labels of a ruler or of a Prometheus and what has not', () => {
  test.each([
    'sum by (crdb_cluster) (a) > crdb_cluster:b:sum',
    'crdb_cluster:b:sum and a',
    'max by (crdb_cluster) (a) unless last_over_time(ALERTS[5m])',
    'crdb_cluster:b:sum - on (crdb_cluster) sum by (crdb_cluster) (a) > crdb_cluster:b:sum',
    'crdb_cluster:b:sum > 1 or on (crdb_cluster) sum by (crdb_cluster) (a)',
  ])('are found: %s', (query) => {
    expect(findLabelMatches(query)).not.toEqual([]);
  });

  test.each([
    'sum by (crdb_cluster) (a) > on (crdb_cluster) crdb_cluster:b:sum',
    'rate(crdb_cluster:b:sum[5m]) + 1 > -2 * crdb_cluster:c:sum',
    'crdb_cluster:b:sum > on (crdb_cluster) group_left () sum by (crdb_cluster) (a) or crdb_cluster:c:sum',
    'crdb_cluster:b:sum or absent(a)',
  ])('are not in: %s', (query) => {
    expect(findLabelMatches(query)).toEqual([]);
  });

  test('are not in the rules and in the texts of alerts', () => {
    expect(QUERIES.flatMap(findLabelMatches)).toEqual([]);
  });
});
