import { describe, expect, test } from 'vitest';
import { hasProgram } from '../support/programs.ts';
import type { RuleCase } from './cases.ts';
import { testRules } from './promtool.ts';
import { closureOf, readRules } from './rule-set.ts';

// CrdbScanDisagrees on what the exporter would export, minute by minute.

const MINUTES = 30;
const rules = closureOf(readRules(), ['CrdbScanDisagrees']);

/** The replicas of store `index` of the node, at a minute. */
type Stores = (minute: number, index: number) => number;

interface Exporter {
  readonly instance: string;
  /** What its scan at a minute reads of each store. */
  readonly read: (minute: number) => readonly number[];
  /** Seconds after the full minute at which it scans, and at which it lists the nodes. */
  readonly delay: number;
}

/** The instances whose alert fires, at these minutes. */
async function firing(
  stores: number,
  own: Stores,
  exporters: readonly Exporter[],
  at: readonly number[],
) {
  const input_series = exporters.flatMap(({ instance, read, delay }) => {
    const labels = `crdb_cluster="p",job="e",instance="${instance}"`;
    const scans = Array.from({ length: MINUTES + 1 }, (_, minute) => read(minute + delay / 60));
    const ofStores = Array.from({ length: stores }, (_, index) => {
      const store = `${labels},node_id="1",store_id="${index + 1}"`;
      // The record of a node is up to ten seconds old, and its list up to thirty.
      const counted = scans.map((_scan, minute) => own(minute + (delay - 20) / 60, index));
      return [
        series(
          `crdb_range_replicas{${store}}`,
          scans.map((scan) => scan[index] ?? 0),
        ),
        series(`crdb_store_replicas{${store}}`, counted.map(Math.round)),
      ];
    });
    const ends = scans.map((_scan, minute) => minute * 60 + delay);
    const end = `crdb_exporter_collector_last_success_timestamp_seconds{${labels},collector="ranges",shard="0"}`;
    const success = `crdb_range_scan_node_success{${labels},node_id="1"}`;
    return [
      ...ofStores.flat(),
      series(end, ends),
      series(
        success,
        ends.map(() => 1),
      ),
    ];
  });
  const fired = await Promise.all(
    at.map((minute) =>
      namesFiring(
        input_series,
        minute,
        exporters.map(({ instance }) => instance),
      ),
    ),
  );
  return fired;
}

function series(name: string, values: readonly number[]): RuleCase['input_series'][number] {
  return { series: name, values: values.join(' ') };
}

/** promtool only says whether it found what was expected: each instance is asked for by itself. */
async function namesFiring(
  input_series: RuleCase['input_series'],
  minute: number,
  instances: readonly string[],
): Promise<string> {
  const found = await Promise.all(
    instances.map(async (instance) => {
      const expr = `group(ALERTS{alertname="CrdbScanDisagrees",alertstate="firing",instance="${instance}"})`;
      const expected = { expr, eval_time: `${minute}m`, exp_samples: [{ labels: '{}', value: 1 }] };
      const one = { name: 'scan', interval: '1m', input_series, promql_expr_test: [expected] };
      const { passed, text } = await testRules(rules, [one]);
      if (!passed && !text.includes('got: nil')) throw new Error(text);
      return passed ? instance : '';
    }),
  );
  return found.join('');
}

/** Numbers from 0 to 1, the same in every run. */
function randomBy(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** Pages of a server that lists the stores in another order for every request; `drop` is lost on the way. */
function readPages(
  counts: readonly number[],
  limit: number,
  random: () => number,
  drop?: number,
): readonly number[] {
  const seen = counts.map(() => new Set<number>());
  const total = counts.reduce((sum, count) => sum + count, 0);
  for (let page = 0; page * limit < total; page += 1) {
    const order = counts.map((count, store) => ({ count, store, key: random() }));
    if (drop !== undefined) order.sort((a, b) => a.store - b.store);
    else order.sort((a, b) => a.key - b.key);
    const replicas = order.flatMap(({ count, store }) =>
      Array.from({ length: count }, (_, range) => ({ store, range })),
    );
    if (page === drop) continue;
    for (const { store, range } of replicas.slice(page * limit, (page + 1) * limit)) {
      seen[store]?.add(range);
    }
  }
  return seen.map(({ size }) => size);
}

const steady: Stores = () => 400;
const right = (): readonly number[] => [400, 400];
const wrong = (minute: number): readonly number[] => (minute % 3 < 1 ? [400, 400] : [290, 400]);

describe.skipIf(!hasProgram('promtool'))('CrdbScanDisagrees', { timeout: 120_000 }, () => {
  test.each([2, 3, 6])(
    'fires within 20 minutes for pages of %i stores in random order',
    async (stores) => {
      const random = randomBy(stores);
      const counts = Array.from({ length: stores }, () => 400);
      const read = () => readPages(counts, 500, random);
      expect(await firing(stores, steady, [{ instance: 'a', read, delay: 40 }], [20])).toEqual([
        'a',
      ]);
    },
  );

  test.each([2, 3, 6])('fires within 20 minutes for a lost page of %i stores', async (stores) => {
    const counts = Array.from({ length: stores }, () => 400);
    const read = () => readPages(counts, 100, randomBy(1), 1);
    expect(await firing(stores, steady, [{ instance: 'a', read, delay: 40 }], [20])).toEqual(['a']);
  });

  test.each<[name: string, own: Stores]>([
    ['a new node that fills', (minute) => Math.max(0, 300 * (minute - 3))],
    ['a node that is decommissioned', (minute) => Math.max(0, 6_000 - 350 * minute)],
    ['ranges that split at once', (minute) => (minute < 9.5 ? 500 : 1_500)],
    [
      'ranges that are split and merged',
      (minute) => (Math.floor(minute / 4) % 2 === 0 ? 500 : 900),
    ],
    [
      'rebalancing between the stores',
      (minute, index) => 3_000 + (index === 0 ? 90 : -90) * minute,
    ],
  ])('does not fire for %s', async (_name, own) => {
    const scanBy = (instance: string, delay: number): Exporter => ({
      instance,
      delay,
      read: (minute) => [0, 1].map((index) => Math.round(own(minute - 0.2, index))),
    });
    const pair = [scanBy('a', 40), scanBy('b', 15)];
    const fired = await firing(2, own, pair, [6, 10, 13, 17, 22, 29]);
    expect(fired.join('')).toBe('');
  });

  test('fires for the one exporter of a pair that reads wrongly', async () => {
    const pair = [
      { instance: 'a', read: right, delay: 40 },
      { instance: 'b', read: wrong, delay: 15 },
    ];
    expect(await firing(2, steady, pair, [3, 12, 20])).toEqual(['', 'b', 'b']);
  });
});
