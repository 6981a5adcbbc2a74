import { describe, expect, test } from 'vitest';
import { readRules } from '../rules/rule-set.ts';
import { checkQuery } from './check-query.ts';
import { knownSeries } from './known.ts';

const known = knownSeries();

function problemsOf(query: string): readonly string[] {
  return checkQuery(query, known).problems;
}

describe('the check of a query', () => {
  test('suggests a metric for an unknown one', () => {
    expect(problemsOf('sum(crdb_range_replica)')).toEqual([
      'unknown metric crdb_range_replica, did you mean crdb_range_replicas?',
    ]);
  });

  test('suggests a label for an unknown one, in a matcher and in a grouping', () => {
    expect(problemsOf('sum by (node) (crdb_range_replicas{store="1"})')).toEqual([
      'unknown label store of crdb_range_replicas, did you mean store_id?',
      'unknown label node of (crdb_range_replicas{store="1"}), did you mean node_id?',
    ]);
  });

  test('reports a label that an inner aggregation dropped', () => {
    expect(problemsOf('sum by (shard) (max by (problem) (crdb_range_problem_ranges))')).toEqual([
      'unknown label shard of (max by (problem) (crdb_range_problem_ranges))',
    ]);
  });

  test('reports a label that one side of a match does not have', () => {
    expect(
      problemsOf('crdb_range_replicas / on (node_id, store_id) max by (node_id) (crdb_node_cpus)'),
    ).toEqual(['unknown label store_id of the right side']);
  });

  test('follows labels through joins, replacements and topk', () => {
    const query =
      'topk(3, label_replace(sum by (le) (crdb_sessions_by_age_seconds_bucket), "bound", "$1", "le", "(.+)"))';
    expect(checkQuery(query, known)).toMatchObject({
      problems: [],
      labels: new Set(['le', 'bound']),
    });
    const joined =
      'max by (node_id) (crdb_node_cpus) * on (node_id) group_left (value) crdb_node_locality_info';
    expect(checkQuery(joined, known).labels).toEqual(new Set(['node_id', 'value']));
  });

  test('reports the position of a syntax error', () => {
    expect(problemsOf('sum by (node_id) (crdb_range_replicas')[0]).toMatch(/^does not parse at/);
  });
});

describe('the rules', () => {
  const rules = readRules().flatMap((group) => group.rules);
  const titled = rules.map((rule, index) => ({
    ...rule,
    title: `${rule.alert ?? rule.record} #${index}`,
  }));

  test.each(titled)('$title uses known metrics and labels', ({ expr, record, labels = {} }) => {
    const checked = checkQuery(expr, known);
    expect(checked.problems).toEqual([]);
    if (record === undefined) return;
    const written = new Set([...checked.labels, ...Object.keys(labels)]);
    expect(written).toEqual(known.get(record));
  });

  test.each(titled.filter(({ alert }) => alert !== undefined))(
    '$title asks in its texts for known metrics, and prints labels it has',
    ({ expr, annotations = {}, labels = {} }) => {
      const { labels: given } = checkQuery(expr, known);
      const has = new Set([...given, ...Object.keys(labels)]);
      for (const text of Object.values(annotations)) {
        for (const [, query = ''] of text.matchAll(/printf "((?:[^"\\]|\\.)*)" \$labels/g)) {
          const written = query.replaceAll('\\"', '"').replaceAll('%q', '"any"');
          expect(problemsOf(written)).toEqual([]);
        }
        const printed = Array.from(text.matchAll(/\$labels\.(\w+)/g), ([, label = '']) => label);
        expect(printed.filter((label) => !has.has(label))).toEqual([]);
      }
    },
  );
});
