import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CommandError } from '../../../src/cli/command.ts';
import { writeReference } from '../../../src/cli/commands/reference.ts';
import { listCatalogue } from '../../../src/exporter/catalogue.ts';
import { writeMetricsPage } from '../../../tools/docs/metrics-page.ts';
import { expectGolden } from '../../support/golden.ts';

const catalogue = listCatalogue();

function isUp({ name }: { readonly name: string }): boolean {
  return name === 'crdb_up';
}

describe('the metric reference', () => {
  test('is the committed docs/metrics.md', async () => {
    await expectGolden(writeMetricsPage(), 'docs/metrics.md', 'npm run docs');
    // As it is now: an update writes it after the test.
    expect(writeReference('markdown')).toBe(readFileSync('docs/metrics.md', 'utf8'));
  });

  // Dashboards, rules and users rely on them: a line that goes or changes breaks these.
  test('has each promised family with its type and labels, and no other', async () => {
    const lines = catalogue.map(
      ({ name, type, labels }) => `${type} ${name}{${labels.toSorted().join()}}\n`,
    );
    const file = 'test/cli/reference/contract.txt';
    await expectGolden(lines.toSorted().join(''), file);
  });

  test('says for each family of a collector which request it comes from', () => {
    const silent = catalogue.filter((entry) => entry.collector !== undefined && !entry.request);
    expect(silent).toEqual([]);
    expect(catalogue.find(({ name }) => name === 'crdb_node_cpu_ratio')).toMatchObject({
      unit: 'ratio, 0 to 1',
      collector: 'nodes',
      request: 'GET /nodes/',
      field: 'metrics sys.cpu.combined.percent-normalized',
    });
  });

  test('describes one metric, and suggests a name that is near', () => {
    expect(writeReference('markdown', 'crdb_node_cpu_ratio')).toMatchInlineSnapshot(`
      "crdb_node_cpu_ratio
      CPU used by the node process, 0 to 1 of all its CPUs.

      Type       gauge
      Unit       ratio, 0 to 1
      Labels     crdb_cluster, node_id
      Collector  nodes
      Source     GET /nodes/: metrics sys.cpu.combined.percent-normalized
      "
    `);
    const json: unknown = JSON.parse(writeReference('json', 'crdb_up'));
    expect(json).toEqual(JSON.parse(JSON.stringify(catalogue.find(isUp))));
    expect(JSON.parse(writeReference('json'))).toEqual(JSON.parse(JSON.stringify(catalogue)));
    const near = 'there is no metric "crdb_upp"; did you mean crdb_up?';
    expect(() => writeReference('json', 'crdb_upp')).toThrow(new CommandError(near, 2));
    const far = 'there is no metric "nonsense"';
    expect(() => writeReference('json', 'nonsense')).toThrow(new CommandError(far, 2));
  });

  test('has a HELP text of at most 100 characters for each metric', () => {
    const long = catalogue.filter(({ help }) => help.length > 100);
    expect(long.map(({ name }) => name)).toEqual([]);
  });

  test.each([
    [/_timestamp_seconds$/, 'Unix time in seconds'],
    [/(?<!_timestamp|_cpu)_seconds$/, 'seconds'],
    [/_bytes(_total)?$/, 'bytes'],
    [/_bytes_per_second$/, 'bytes per second'],
    [/(?<!_overload)_ratio$/, 'ratio, 0 to 1'],
    [/_info$/, 'always 1'],
  ])('gives each metric %s the unit %s', (suffix, unit) => {
    const named = catalogue.filter(({ name }) => suffix.test(name));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((entry) => entry.unit !== unit)).toEqual([]);
  });
});
