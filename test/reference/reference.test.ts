import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { writeReference } from '../../src/cli/reference.ts';
import { COLLECTORS } from '../../src/collectors/index.ts';
import { listCatalogue } from '../../src/reference/catalogue.ts';
import { runCommandLine } from '../../src/cli/program.ts';
import { expectGolden } from '../support/golden.ts';

interface Promised {
  readonly type: string;
  readonly labels: readonly string[];
}

/** Names, types and labels that dashboards, rules and users rely on; a change here breaks them. */
const CONTRACT: Readonly<Record<string, Promised>> = JSON.parse(
  readFileSync(path.join(import.meta.dirname, 'contract.json'), 'utf8'),
);

const catalogue = listCatalogue(COLLECTORS);

describe('the metric reference', () => {
  test('is the committed docs/metrics.md', async () => {
    const command = 'npx vitest run -u --project together test/reference';
    await expectGolden(writeReference('markdown'), 'docs/metrics.md', command);
  });

  test('has each promised family with its type and labels, and no other', () => {
    const found = catalogue.map(({ name, type, labels }) => [
      name,
      { type, labels: labels.toSorted() },
    ]);
    expect(Object.fromEntries(found)).toEqual(CONTRACT);
  });

  test('says for each family of a collector which request it comes from', () => {
    const silent = catalogue.filter((entry) => entry.collector !== undefined && !entry.endpoint);
    expect(silent).toEqual([]);
    expect(catalogue.find(({ name }) => name === 'crdb_node_cpu_ratio')).toMatchObject({
      unit: 'ratio, 0 to 1',
      collector: 'nodes',
      endpoint: 'GET /nodes/',
      field: 'metrics sys.cpu.combined.percent-normalized',
      series: 'nodes',
    });
  });

  test('prints JSON that programs can read', async () => {
    const written: string[] = [];
    const write = process.stdout.write.bind(process.stdout);
    process.stdout.write = (text: string | Uint8Array) => written.push(String(text)) > 0;
    try {
      expect(await runCommandLine(['reference', '--format', 'json'], {})).toBe(0);
    } finally {
      process.stdout.write = write;
    }
    expect(JSON.parse(written.join(''))).toEqual(JSON.parse(JSON.stringify(catalogue)));
  });
});
