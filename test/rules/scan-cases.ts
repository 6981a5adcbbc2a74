import type { RuleCase } from './cases.ts';

// CrdbScanDisagrees on what the exporter would export, minute by minute.

const MINUTES = 30;

/** The replicas of store `index` of the node, at a minute. */
type Stores = (minute: number, index: number) => number;

interface Exporter {
  readonly instance: string;
  /** What its scan at a minute reads of each store. */
  readonly read: (minute: number) => readonly number[];
  /** Seconds after the full minute at which it scans, and at which it lists the nodes. */
  readonly delay: number;
}

/** The instances whose alert fires, by minute. */
type Expected = Readonly<Record<number, readonly string[]>>;

function scanCase(
  title: string,
  stores: number,
  count: Stores,
  exporters: readonly Exporter[],
  expected: Expected,
): RuleCase {
  return {
    name: `CrdbScanDisagrees: ${title}`,
    interval: '1m',
    input_series: exporters.flatMap((exporter) => seriesOf(stores, count, exporter)),
    promql_expr_test: Object.entries(expected).map(([minute, instances]) => ({
      expr: 'group by (instance) (ALERTS{alertname="CrdbScanDisagrees",alertstate="firing"})',
      eval_time: `${minute}m`,
      exp_samples: instances.map((instance) => ({ labels: `{instance="${instance}"}`, value: 1 })),
    })),
  };
}

function seriesOf(
  stores: number,
  count: Stores,
  { instance, read, delay }: Exporter,
): RuleCase['input_series'] {
  const labels = `crdb_cluster="p",job="e",instance="${instance}"`;
  const scans = Array.from({ length: MINUTES + 1 }, (_, minute) => read(minute + delay / 60));
  const byStore = Array.from({ length: stores }, (_, index) => {
    const store = `${labels},node_id="1",store_id="${index + 1}"`;
    // The record of a node is up to ten seconds old, and its list up to thirty.
    const counted = scans.map((_scan, minute) => count(minute + (delay - 20) / 60, index));
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
    ...byStore.flat(),
    series(end, ends),
    series(
      success,
      ends.map(() => 1),
    ),
  ];
}

function series(name: string, values: readonly number[]): RuleCase['input_series'][number] {
  return { series: name, values: values.join(' ') };
}

const steady: Stores = () => 400;
const right = (): readonly number[] => [400, 400];
const wrong = (minute: number): readonly number[] => (minute % 3 < 1 ? [400, 400] : [290, 400]);
const short = (): readonly number[] => [290, 400];

/** Changes that are no reason to distrust the scan. */
const HARMLESS: readonly (readonly [title: string, count: Stores])[] = [
  ['a new node that fills', (minute) => Math.max(0, 300 * (minute - 3))],
  ['a node that is decommissioned', (minute) => Math.max(0, 6_000 - 350 * minute)],
  ['ranges that split at once', (minute) => (minute < 9.5 ? 500 : 1_500)],
  ['ranges that are split and merged', (minute) => (Math.floor(minute / 4) % 2 === 0 ? 500 : 900)],
  ['rebalancing between the stores', (minute, index) => 3_000 + (index === 0 ? 90 : -90) * minute],
];

export function scanCases(): readonly RuleCase[] {
  const wrongly = [
    ['stores in another order for every request', wrong],
    ['a lost page', short],
  ] as const;
  const harmless = HARMLESS.map(([title, count]) => {
    const scanBy = (instance: string, delay: number): Exporter => ({
      instance,
      delay,
      read: (minute) => [0, 1].map((index) => Math.round(count(minute - 0.2, index))),
    });
    const quiet = Object.fromEntries([6, 10, 13, 17, 22, 29].map((minute) => [minute, []]));
    return scanCase(`not for ${title}`, 2, count, [scanBy('a', 40), scanBy('b', 15)], quiet);
  });
  const pair = [
    { instance: 'a', read: right, delay: 40 },
    { instance: 'b', read: wrong, delay: 15 },
  ];
  const one = scanCase('the one of a pair that reads wrongly', 2, steady, pair, {
    3: [],
    12: ['b'],
    20: ['b'],
  });
  const alone = wrongly.map(([title, read]) =>
    scanCase(title, 2, steady, [{ instance: 'a', read, delay: 40 }], { 20: ['a'] }),
  );
  return [...alone, ...harmless, one];
}
