import type { RuleCase } from './cases.ts';
import { answersOf, MINUTES, RULE, samplesOf, seriesOf, type World } from './safe-to-stop-world.ts';

const NO_DATA = ['network'];
const NODE_1_LEAVES = { 1: 'decommissioning', 2: 'live' } as const;
const NODE_1_LEFT = { ...NODE_1_LEAVES, 3: 'dead' } as const;
const NODE_3_DEAD = { 1: 'live', 2: 'live', 3: 'dead' } as const;
const NODE_3_LEAVES = { 1: 'live', 2: 'live', 3: 'decommissioning' } as const;

type Case = readonly [title: string, answer: string, ...worlds: World[]];

/** The answer for node 1 and for node 2 with these exporters: `-` where the rule has no series. */
const WRITTEN: readonly Case[] = [
  ['nothing depends on them', '11', {}],
  ['ranges would lose the quorum with node 1', '01', { dependent: { '1 quorum': 3 } }],
  ['node 2 has the last live replica', '10', { dependent: { '2 all_replicas': 1 } }],
  ['a range has no quorum', '00', { dependent: { '1 without_quorum': 1 } }],
  ['a range reports that it is unavailable', '00', { unavailable: 1 }],
  ['a range is lost', '00', { lost: 1 }],
  ['a gap is confirmed', '00', { gap: 1, keySpaceComplete: 0 }],
  ['a range serves nothing', '00', { servingNothing: 5 }],
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
  [
    'one of two exporters sees that node 1 drains, the other that both do',
    '00',
    { status: { 1: 'draining', 2: 'live' } },
    { instance: 'b', status: { 1: 'draining', 2: 'draining' } },
  ],
  ['both nodes drain', '00', { status: { 1: 'draining', 2: 'draining' } }],
  ['a node that was not read drains', '00', { status: { 1: 'live', 2: 'live', 3: 'draining' } }],
  ['node 1 is being decommissioned', '01', { status: NODE_1_LEAVES }],
  [
    'node 1 is being decommissioned, and one store is empty',
    '01',
    { status: NODE_1_LEAVES, replicas: { 1: 1 } },
  ],
  [
    'node 1 is being decommissioned, and all replicas have left it',
    '11',
    { status: NODE_1_LEAVES, replicas: { 1: 0 } },
  ],
  ['node 2 has gone down', '--', { status: { 1: 'live', 2: 'dead' } }],
  [
    'node 2 has gone down, and ranges depend on node 1',
    '0-',
    { status: { 1: 'live', 2: 'dead' }, dependent: { '1 quorum': 1 } },
  ],
  ['node 2 is no longer listed', '--', { status: { 1: 'live' } }],
  ['a node that was not read is down', '11', { status: NODE_3_DEAD }],
  ['ranges are not verified', '--', { unverified: 1 }],
  [
    'ranges are not verified, and node 1 has ranges that depend on it',
    '0-',
    { unverified: 1, dependent: { '1 quorum': 1 } },
  ],
  ['ranges are not verified by one of two exporters', '--', { unverified: 1 }, { instance: 'b' }],
  ['descriptors are refused', '--', { unverified: 60, without: ['dependent'] }],
  ['descriptors are refused, and nothing is unverified', '--', { without: ['dependent'] }],
  ['descriptors are refused, and a range is lost', '00', { lost: 1, without: ['dependent'] }],
  [
    'lost ranges are not known, and keys are missing',
    '--',
    { keySpaceComplete: 0, without: ['without_live_replica'] },
  ],
  ['lost ranges are not known, but no key is missing', '11', { without: ['without_live_replica'] }],
  ['keys are missing', '--', { keySpaceComplete: 0 }],
  ['keys are not compared', '--', { without: ['key_space'] }],
  ['two live nodes do not reach each other', '--', { network: { checked: 1, pairs: 1 } }],
  ['a live node could not be asked for its connections', '--', { network: { checked: 0 } }],
  ['node 2 has returned since it was read who reaches whom', '--', { returned: [2] }],
  ['node 2 has returned, and counts healthy connections', '--', { returned: [2], unhealthy: 0 }],
  ['the poll of the network has failed', '--', { network: { checked: 1, success: 0 } }],
  [
    'the poll of the network has failed, and its data is gone',
    '--',
    { network: { checked: 1, success: 0 }, unhealthy: 1, without: ['crdb_network'] },
  ],
  ['nobody tells who reaches whom', '--', { without: NO_DATA }],
  ['no connection is unhealthy', '11', { unhealthy: 0, without: NO_DATA }],
  ['one is, and no node is down', '--', { unhealthy: 1, without: NO_DATA }],
  ['one is, and node 3 is down', '11', { status: NODE_3_DEAD, unhealthy: 1, without: NO_DATA }],
  ['and 2 of node 2', '--', { status: NODE_3_DEAD, unhealthy: 1, cut: [2], without: NO_DATA }],
  ['half are, node 3 leaves', '--', { status: NODE_3_LEAVES, unhealthy: 2, without: NO_DATA }],
  [
    'node 1 is empty and counts no connections while it leaves',
    '11',
    { status: NODE_1_LEFT, replicas: { 1: 0 }, unhealthy: 1, uncounted: [1], without: NO_DATA },
  ],
  [
    'more connections are unhealthy than nodes are down, and all nodes were asked',
    '11',
    { unhealthy: 3 },
  ],
  ['node 2 counts no connections', '--', { unhealthy: 0, uncounted: [2], without: NO_DATA }],
  ['node 2 counts none, and all nodes were asked', '11', { unhealthy: 1, uncounted: [2] }],
  ['the state of node 3 is not known', '--', { status: { 1: 'live', 2: 'live', 3: 'other' } }],
  ['node 3 has no liveness', '--', { status: { 1: 'live', 2: 'live', 3: 'unknown' } }],
  [
    'node 3 has no liveness, and an old record',
    '11',
    { status: { 1: 'live', 2: 'live', 3: 'unknown' }, oldRecords: [3] },
  ],
  [
    'node 3 has no liveness, and another node an old record',
    '--',
    { status: { 1: 'live', 2: 'live', 3: 'unknown', 4: 'dead' }, oldRecords: [4] },
  ],
  ['the record of node 2 is old', '11', { oldRecords: [2] }],
  ['the records of all nodes are old, as in an old list', '--', { oldRecords: [1, 2] }],
  [
    'there is no complete scan',
    '--',
    { lost: 1, without: ['unverified', 'dependent', 'key_space'] },
  ],
  ['the list of nodes is absent', '--', { without: ['liveness'] }],
  ['the list of nodes is absent, and a range is lost', '00', { lost: 1, without: ['liveness'] }],
  ['the poll of the nodes has failed', '--', { success: { nodes: 0 } }],
  [
    'the poll of the nodes has failed, after node 2 began to drain',
    '--',
    { success: { nodes: 0 }, status: { 1: 'live', 2: 'draining' } },
  ],
  ['the poll of the sessions has failed', '11', { success: { sessions: 0 } }],
  ['three nodes are read', '111', { read: [1, 2, 3], status: { 1: 'live', 2: 'live', 3: 'live' } }],
  [
    'the poll of the ranges of one of two exporters has failed',
    '11',
    { success: { ranges: 0 }, lost: 1 },
    { instance: 'b' },
  ],
  [
    'the poll of the nodes of one of two exporters has failed',
    '--',
    { success: { nodes: 0 } },
    { instance: 'b' },
  ],
  [
    'the poll of the network of one of two exporters has failed',
    '--',
    { network: { checked: 1, success: 0 } },
    { instance: 'b' },
  ],
  [
    'node 1 leaves by the list of one of two exporters',
    '01',
    { status: NODE_1_LEAVES },
    { instance: 'b' },
  ],
  [
    'one of two exporters has read a node that is down for the other',
    '111',
    { status: { 1: 'live', 2: 'live', 3: 'dead' } },
    { instance: 'b', read: [1, 2, 3], status: { 1: 'live', 2: 'live', 3: 'live' } },
  ],
  [
    'one of two exporters has no list of connections',
    '11',
    { unhealthy: 0, without: NO_DATA },
    { instance: 'b' },
  ],
  [
    'one of two exporters has no figures of dependence',
    '--',
    { without: ['dependent'] },
    { instance: 'b' },
  ],
  [
    'one of two exporters has not compared keys',
    '--',
    { without: ['key_space'] },
    { instance: 'b' },
  ],
  [
    'two live nodes do not reach each other by one of two exporters',
    '--',
    { network: { checked: 1, pairs: 1 } },
    { instance: 'b' },
  ],
  ['node 2 has returned for one of two exporters', '--', { returned: [2] }, { instance: 'b' }],
  [
    'the state of node 3 is not known to one of two exporters',
    '--',
    { status: { 1: 'live', 2: 'live', 3: 'other' } },
    { instance: 'b' },
  ],
  [
    'the poll of the ranges of one of two exporters has failed, and the scan of the other is too old',
    '00',
    { success: { ranges: 0 } },
    { instance: 'b', scanAgeSeconds: 161, lost: 1 },
  ],
  [
    'the poll of the sessions of one of two exporters has failed, and the scan of the other is too old',
    '11',
    { success: { sessions: 0 } },
    { instance: 'b', scanAgeSeconds: 161, lost: 1 },
  ],
  [
    'one of two exporters could not ask a node for its connections',
    '--',
    { network: { checked: 0 } },
    { instance: 'b' },
  ],
  [
    'the scan of one of two exporters is too old, and has not verified all ranges',
    '11',
    { scanAgeSeconds: 161, unverified: 3 },
    { instance: 'b' },
  ],
  [
    'the scan of one of two exporters is too old, and ranges depended on node 1',
    '11',
    { scanAgeSeconds: 161, dependent: { '1 quorum': 1 } },
    { instance: 'b' },
  ],
  [
    'the scan of one of two exporters is too old, and node 2 drains by its list',
    '11',
    { scanAgeSeconds: 161, status: { 1: 'live', 2: 'draining' } },
    { instance: 'b' },
  ],
  [
    'node 2 drains, and the poll of the sessions has failed',
    '01',
    { success: { sessions: 0 }, status: { 1: 'live', 2: 'draining' } },
  ],
  [
    'node 1 is being decommissioned, and the poll of the sessions has failed',
    '01',
    { success: { sessions: 0 }, status: NODE_1_LEAVES },
  ],
  [
    'node 2 drains by one of two exporters, and the poll of the nodes of the other has failed',
    '0-',
    { success: { nodes: 0 } },
    { instance: 'b', status: { 1: 'live', 2: 'draining' } },
  ],
  [
    'node 1 leaves by one of two exporters, and the poll of the nodes of the other has failed',
    '0-',
    { success: { nodes: 0 } },
    { instance: 'b', status: NODE_1_LEAVES },
  ],
  [
    'node 1 leaves by the list of one of two exporters, whose scan has found it empty',
    '11',
    { status: NODE_1_LEAVES, replicas: { 1: 0 } },
    { instance: 'b' },
  ],
  ['one of two exporters has not read node 2', '11', {}, { instance: 'b', read: [1] }],
  [
    'the scan of one of two exporters is too old, and the poll of its nodes has failed',
    '11',
    { scanAgeSeconds: 161, success: { nodes: 0 } },
    { instance: 'b' },
  ],
  ['one range serves nothing', '00', { servingNothing: 1 }],
  [
    'one of three nodes drains',
    '001',
    { read: [1, 2, 3], status: { 1: 'live', 2: 'live', 3: 'draining' } },
  ],
  [
    'the poll of the nodes has failed, after node 1 began to leave',
    '--',
    { success: { nodes: 0 }, status: NODE_1_LEAVES },
  ],
  ['the poll of the ranges has failed', '--', { success: { ranges: 0 }, lost: 1 }],
  ['the end of the scan is absent', '--', { without: ['last_success'] }],
  ['the scan ended two intervals, its duration and 30 s ago', '11', { scanAgeSeconds: 160 }],
  ['the scan ended a second earlier', '--', { scanAgeSeconds: 161 }],
  ['the scan ended a second earlier, and a range is lost', '00', { scanAgeSeconds: 161, lost: 1 }],
  ['one scan has disagreed with the counts of the nodes', '11', { disagreeing: 1 }],
  ['two scans of one of two exporters have disagreed', '--', {}, { instance: 'b', disagreeing: 2 }],
  ['the scan of one of two exporters is too old', '11', { scanAgeSeconds: 161 }, { instance: 'b' }],
  [
    'one of two exporters lost a range in a scan that is too old',
    '11',
    { scanAgeSeconds: 161, lost: 1 },
    { instance: 'b' },
  ],
  [
    'both scans are too old, and one exporter lost a range',
    '00',
    { scanAgeSeconds: 161, lost: 1 },
    { instance: 'b', scanAgeSeconds: 161 },
  ],
  [
    'one of two exporters has no complete scan',
    '11',
    { without: ['unverified', 'dependent', 'key_space', 'serving'] },
    { instance: 'b' },
  ],
  [
    'one of two exporters has just started, and sees more',
    '10',
    {},
    { instance: 'b', without: ['without_live_replica'], dependent: { '2 quorum': 1 } },
  ],
  [
    'one of two exporters sees a node that is down',
    '--',
    {},
    { instance: 'b', status: { 1: 'live', 2: 'dead' } },
  ],
];

/** Pairs of exporters that differ in the label `job` alone are pairs, too. */
const CASES: readonly Case[] = WRITTEN.flatMap((written): readonly Case[] => {
  const [title, answer, first, second] = written;
  if (first === undefined || second === undefined) return [written];
  const { instance: _instance, ...other } = second;
  return [written, [`${title} of another job`, answer, first, { ...other, job: 'k' }]];
});

/** As many worlds as one case has: promtool 3.5 and older needs the square of their series. */
const TOGETHER = 25;

/** Cases of the rule on nodes that may stop: what it says of each node, with a cluster for each world. */
export function safeToStopCases(): readonly RuleCase[] {
  return Array.from({ length: Math.ceil(CASES.length / TOGETHER) }, (_, at) =>
    safeToStopCase(CASES.slice(at * TOGETHER, (at + 1) * TOGETHER)),
  );
}

function safeToStopCase(cases: readonly Case[]): RuleCase {
  const names = cases.map(([title]) => title.replaceAll(' ', '_'));
  return {
    name: `${RULE}: 1 or 0 of each node, or nothing, from: ${cases[0]?.[0]}`,
    interval: '1m',
    input_series: cases.flatMap(([, , ...worlds], at) =>
      worlds.flatMap((world) => seriesOf(names[at] ?? '', world)),
    ),
    promql_expr_test: [
      {
        expr: RULE,
        eval_time: `${MINUTES}m`,
        exp_samples: cases.flatMap(([, answer], at) => answersOf(names[at] ?? '', answer)),
      },
    ],
  };
}

/** Clusters that become another world of the cases every minute: each minute has the answers of its world. */
export function changingWorldsCase(strides: readonly number[]): RuleCase {
  // That scans disagree is remembered.
  const cases = CASES.filter(([, , ...worlds]) =>
    worlds.every(({ disagreeing }) => disagreeing === undefined),
  );
  const minutes = [...cases.keys()];
  const at = (minute: number, stride: number): Case | undefined =>
    cases[(minute * stride) % cases.length];
  return {
    name: `${RULE}: the answer of the present world`,
    interval: '1m',
    input_series: strides.flatMap((stride) => {
      const exposed = minutes.map((minute) => {
        const [, , ...worlds] = at(minute, stride) ?? [];
        return new Map(worlds.flatMap((world) => [...samplesOf(`by${stride}`, world, minute)]));
      });
      return [...new Set(exposed.flatMap((samples) => [...samples.keys()]))].map((series) => ({
        series,
        values: exposed.map((samples) => samples.get(series) ?? 'stale').join(' '),
      }));
    }),
    promql_expr_test: minutes.map((minute) => ({
      expr: RULE,
      eval_time: `${minute}m`,
      exp_samples: strides.flatMap((stride) =>
        answersOf(`by${stride}`, at(minute, stride)?.[1] ?? ''),
      ),
    })),
  };
}

/** Worlds of one exporter that expose the same series with other values, and the nodes that may stop in each. */
export function worldsOfOneForm(): readonly (readonly [world: World, mayStop: string[]])[] {
  const form = [...samplesOf('', {}, 0).keys()].join(' ');
  return CASES.flatMap(([, answer, world, other]) => {
    if (world === undefined || other !== undefined || world.disagreeing !== undefined) return [];
    if ([...samplesOf('', world, 0).keys()].join(' ') !== form) return [];
    const mayStop = Array.from(answer, (value, index) => (value === '1' ? [`${index + 1}`] : []));
    return [[world, mayStop.flat()] as const];
  });
}
