import type { RuleCase } from './cases.ts';

const RULE = 'crdb_cluster_node_id:crdb_safe_to_stop:bool';
const DISAGREEING =
  'crdb_cluster_instance_collector_shard:crdb_exporter_collector_last_success_timestamp_seconds:disagreeing';

/** Evaluation of the rule, minutes and seconds. */
const NOW = { minutes: 10, seconds: 600 };

interface World {
  /** Distinguishes two exporters of one cluster. */
  readonly instance?: string;
  /** Dependent ranges by node and effect; the rest is 0. */
  readonly dependent?: Readonly<Record<string, number>>;
  readonly status?: Readonly<Record<number, 'live' | 'draining' | 'dead'>>;
  readonly unavailable?: number;
  readonly lost?: number;
  readonly unknownVoters?: number;
  readonly scanAgeSeconds?: number;
  /** Scans of the last minutes that disagreed with the counts of the nodes. */
  readonly disagreeing?: number;
  /** Part of the name of a family that is absent. */
  readonly without?: string;
}

/** What one exporter exposes of a cluster of the nodes 1 and 2. */
function seriesOf(cluster: string, world: World) {
  const { instance = 'a', dependent = {}, status = { 1: 'live', 2: 'live' } } = world;
  const {
    unavailable = 0,
    lost = 0,
    unknownVoters = 0,
    scanAgeSeconds = 100,
    disagreeing = 0,
  } = world;
  const found: { series: string; values: string }[] = [];
  const add = (name: string, value: number, labels: string): void => {
    if (world.without !== undefined && name.includes(world.without)) return;
    const series = `${name}{crdb_cluster="${cluster}",instance="${instance}"${labels}}`;
    found.push({ series, values: `${value}x${NOW.minutes}` });
  };
  for (const node of [1, 2]) {
    for (const effect of ['quorum', 'all_replicas', 'without_quorum']) {
      const value = dependent[`${node} ${effect}`] ?? 0;
      add('crdb_node_dependent_ranges', value, `,node_id="${node}",effect="${effect}"`);
    }
  }
  for (const [node, current] of Object.entries(status)) {
    for (const one of ['live', 'draining', 'dead']) {
      add('crdb_node_liveness', one === current ? 1 : 0, `,node_id="${node}",status="${one}"`);
    }
  }
  add('crdb_range_problem_ranges', unavailable, ',problem="unavailable",shard="0"');
  add('crdb_range_problem_ranges', 7, ',problem="underreplicated",shard="0"');
  add('crdb_ranges_without_live_replica', lost, '');
  add('crdb_ranges_of_unknown_voters', unknownVoters, ',scope="node"');
  add('crdb_ranges_of_unknown_voters', 5, ',scope="locality"');
  // That of the sessions, which is late, does not matter.
  for (const [name, ageSeconds] of Object.entries({ ranges: scanAgeSeconds, sessions: 500 })) {
    const collector = `,collector="${name}",shard="0"`;
    const ended = NOW.seconds - ageSeconds;
    add('crdb_exporter_collector_last_success_timestamp_seconds', ended, collector);
    add('crdb_exporter_collector_interval_seconds', 60, collector);
    add('crdb_exporter_collector_duration_seconds', 10, collector);
  }
  const ends = Array.from({ length: disagreeing }, (_, scan) => 60 * scan);
  if (ends.length > 0) {
    const series = `${DISAGREEING}{crdb_cluster="${cluster}",instance="${instance}",collector="ranges",shard="0"}`;
    found.push({ series, values: ends.join(' ') });
  }
  return found;
}

/** The answer for node 1 and for node 2 with these exporters: `-` where the rule has no series. */
const CASES: readonly (readonly [title: string, answer: string, ...worlds: World[]])[] = [
  ['nothing depends on them', '11', {}],
  ['ranges would lose the quorum with node 1', '01', { dependent: { '1 quorum': 3 } }],
  ['node 2 has the last live replica', '10', { dependent: { '2 all_replicas': 1 } }],
  ['a range has no quorum', '00', { dependent: { '1 without_quorum': 1 } }],
  ['a range reports that it is unavailable', '00', { unavailable: 1 }],
  ['a range is lost', '00', { lost: 1 }],
  ['a range is unavailable, another is lost', '00', { unavailable: 1, lost: 1 }],
  ['one of two exporters sees a lost range', '00', { lost: 1 }, { instance: 'b' }],
  ['node 2 drains', '01', { status: { 1: 'live', 2: 'draining' } }],
  [
    'two exporters see that node 2 drains',
    '01',
    { status: { 1: 'live', 2: 'draining' } },
    { instance: 'b', status: { 1: 'live', 2: 'draining' } },
  ],
  [
    'one of two exporters sees that node 2 drains',
    '01',
    {},
    { instance: 'b', status: { 1: 'live', 2: 'draining' } },
  ],
  ['both nodes drain', '00', { status: { 1: 'draining', 2: 'draining' } }],
  ['node 2 has gone down', '--', { status: { 1: 'live', 2: 'dead' } }],
  ['node 2 is no longer listed', '--', { status: { 1: 'live' } }],
  ['a node that was not read is down', '11', { status: { 1: 'live', 2: 'live', 3: 'dead' } }],
  ['voters are not known', '--', { unknownVoters: 1 }],
  [
    'voters are not known, and node 1 has ranges that depend on it',
    '0-',
    { unknownVoters: 1, dependent: { '1 quorum': 1 } },
  ],
  ['voters are not known to one of two exporters', '--', { unknownVoters: 1 }, { instance: 'b' }],
  [
    'lost ranges are not known, and node 1 has ranges that depend on it',
    '0-',
    { without: 'without_live_replica', dependent: { '1 quorum': 1 } },
  ],
  ['lost ranges are not known', '--', { without: 'without_live_replica' }],
  [
    'lost ranges are not known, and a range has no quorum',
    '00',
    { without: 'without_live_replica', unavailable: 1 },
  ],
  ['voters have no figure', '--', { without: 'unknown_voters' }],
  ['dependent ranges are absent', '--', { without: 'dependent' }],
  ['the list of nodes is absent', '--', { without: 'liveness' }],
  ['problems are absent', '--', { without: 'problem' }],
  ['the end of the scan is absent', '--', { without: 'last_success' }],
  ['the scan ended two intervals, its duration and 30 s ago', '11', { scanAgeSeconds: 160 }],
  ['the scan ended a second earlier', '--', { scanAgeSeconds: 161 }],
  ['one scan has disagreed with the counts of the nodes', '11', { disagreeing: 1 }],
  ['two scans of one of two exporters have disagreed', '--', {}, { instance: 'b', disagreeing: 2 }],
  ['the scan of one of two exporters is too old', '--', { scanAgeSeconds: 161 }, { instance: 'b' }],
  [
    'one of two exporters has just started, and sees more',
    '10',
    {},
    { instance: 'b', without: 'without_live_replica', dependent: { '2 quorum': 1 } },
  ],
  [
    'one of two exporters sees a node that is down',
    '--',
    {},
    { instance: 'b', status: { 1: 'live', 2: 'dead' } },
  ],
];

/** One case of the rule on nodes that may stop: what it says of each node, with a cluster for each world. */
export function safeToStopCase(): RuleCase {
  const names = CASES.map(([title]) => title.replaceAll(' ', '_'));
  const exp_samples = CASES.flatMap(([, answer], at) =>
    ['1', '2'].flatMap((node, index) => {
      const value = answer[index];
      const labels = `${RULE}{crdb_cluster="${names[at]}",node_id="${node}"}`;
      return value === '-' ? [] : [{ labels, value: Number(value) }];
    }),
  );
  return {
    name: `${RULE}: 1 or 0 of each node, or nothing`,
    interval: '1m',
    input_series: CASES.flatMap(([, , ...worlds], at) =>
      worlds.flatMap((world) => seriesOf(names[at] ?? '', world)),
    ),
    promql_expr_test: [{ expr: RULE, eval_time: `${NOW.minutes}m`, exp_samples }],
  };
}
