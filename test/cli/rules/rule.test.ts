import { describe, expect, test } from 'vitest';
import { alert, figure, fold, last, list, present, record } from '../../../src/cli/rules/rule.ts';
import { writeRules } from '../../../src/cli/rules/write.ts';

const TEXTS = { expr: 'up == 0', summary: 'Down', description: 'It is down.' };

describe('an alert outlives a gap in the data', () => {
  test.each([
    ['info', undefined, undefined],
    ['warning', '29m', undefined],
    ['warning', '30m', '10m'],
    ['warning', '1h', '10m'],
    ['critical', undefined, '10m'],
    ['critical', '1m', '10m'],
  ] as const)('if it is %s and waits %s: for %s', (severity, wait, keep) => {
    const written = alert(
      'A',
      severity,
      'node',
      wait === undefined ? TEXTS : { ...TEXTS, for: wait },
    );
    expect(written).toEqual({
      ...TEXTS,
      alert: 'A',
      severity,
      component: 'node',
      for: wait,
      keep_firing_for: keep,
    });
  });
});

test('expressions bridge gaps and merge the exporters of a pair', () => {
  expect([
    last('up'),
    fold('', 'up'),
    fold('shard, node_id', 'up'),
    present('', 'up'),
    present('shard', 'up'),
  ]).toEqual([
    'last_over_time(up[10m])',
    'max by (crdb_cluster) (up)',
    'max by (crdb_cluster, shard, node_id) (up)',
    'group by (crdb_cluster) (up)',
    'group by (crdb_cluster, shard) (up)',
  ]);
  expect(record('a:b', 'up', { labels: { c: 'd' } })).toEqual({
    record: 'a:b',
    expr: 'up',
    labels: { c: 'd' },
  });
});

test('texts list the results of a query, or say that there are none', () => {
  const own = { sortBy: 'job', none: 'no job' };
  const query = 'up{crdb_cluster="%s",node_id="%s"}';
  expect([list('up', 'ROW'), list(query, 'ROW', own)]).toEqual([
    String.raw`{{ range $i, $row := printf "up"  | query }}{{ if $i }}, {{ end }}ROW{{ else }}none{{ end }}`,
    String.raw`{{ range $i, $row := printf "up{crdb_cluster=\"%s\",node_id=\"%s\"}" $labels.crdb_cluster $labels.node_id | query | sortByLabel "job" }}{{ if $i }}, {{ end }}ROW{{ else }}no job{{ end }}`,
  ]);
  expect(figure(query, 'humanize')).toBe(
    String.raw`{{ with printf "up{crdb_cluster=\"%s\",node_id=\"%s\"}" $labels.crdb_cluster $labels.node_id | query }}{{ . | first | value | humanize }}{{ else }}unknown{{ end }}`,
  );
});

/** The labels of an alert with these settings, in the order of the file. */
function labelsOf(name: string, ...pairs: readonly string[]): string[] {
  return writeRules(pairs)
    .split('      - ')
    .filter((rule) => rule.startsWith(`alert: ${name}\n`))
    .map((rule) => / labels: (.*)/.exec(rule)?.[1] ?? '');
}

function ofNode(severity: string): string {
  return `{ severity: ${severity}, component: node }`;
}

describe('the written rules', () => {
  test.each([
    ['off', [], []],
    ['info', [], ['info']],
    ['warning', ['warning'], ['warning']],
    ['critical', ['warning', 'critical'], ['critical']],
  ])('have the severities up to %s of an alert of two, or that one', (highest, two, one) => {
    const written = (name: string): string[] => labelsOf(name, `severity.${name}=${highest}`);
    expect(written('CrdbNodeDead')).toEqual(two.map(ofNode));
    expect(written('CrdbNodeUnavailable')).toEqual(one.map(ofNode));
  });

  test('quote the values of labels that are more than a word', () => {
    const labels = ['a=My-team_1', 'b=1', "c=it's", 'd=x y', 'e=', 'f=-x'].map(
      (one) => `label.${one}`,
    );
    expect(labelsOf('CrdbNodeUnavailable', ...labels)).toEqual([
      "{ severity: warning, component: node, a: My-team_1, b: '1', c: 'it''s', d: 'x y', e: '', f: '-x' }",
    ]);
  });
});
