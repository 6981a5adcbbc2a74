import { describe, expect, test } from 'vitest';
import type { LivenessStatus } from '../../../src/base/vocabulary.ts';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import type { ClusterScan, RangesResult } from '../../../src/collectors/ranges/scan-result.ts';
import { adviseReturn, ReplicaTrends } from '../../../src/status/findings/dead-nodes.ts';
import { readRanges } from '../../../src/status/findings/range-status.ts';
import {
  decideSafeToStop,
  describeUnverified,
  readDeadEvidence,
  type StopEvidence,
} from '../../../src/status/findings/safe-to-stop.ts';
import { scannedRanges, scannedStore, WHOLE_SCAN } from '../results.ts';

const COMPLETE: ClusterScan = {
  ...WHOLE_SCAN,
  dependence: {
    nodes: new Map(
      [1, 2, 3].map((id) => [
        id,
        { quorum: 0, allReplicas: 0, withoutQuorum: 0, named: 0, missing: 0 },
      ]),
    ),
    localities: [],
    downReplicas: new Map([[4, 0]]),
    mostVoters: 0,
  },
};

/** A scan of the nodes 1 to 3 that shows this. */
function scanOf(cluster: Partial<ClusterScan>): RangesResult {
  const scanned = [1, 2, 3].map((id) => scannedStore(id, 7));
  return scannedRanges({ cluster: { ...COMPLETE, ...cluster } }, scanned);
}

interface Given {
  readonly cluster?: Partial<ClusterScan>;
  readonly scan?: Partial<StopEvidence['scan']>;
  readonly statuses?: readonly LivenessStatus[] | undefined;
  readonly reachability?: StopEvidence['reachability'];
  readonly youngestRecordSeconds?: number;
}

function evidenceOf({ cluster = {}, scan, reachability, ...given }: Given): StopEvidence {
  const { statuses = ['live', 'live', 'live', 'dead'], youngestRecordSeconds = 119 } = given;
  return {
    scan: {
      result: scanOf(cluster),
      ageSeconds: 1,
      durationSeconds: 10,
      intervalSeconds: 60,
      disagrees: false,
      ...scan,
    },
    statuses: new Map(statuses.map((status, at) => [at + 1, status])),
    youngestRecordSeconds,
    reachability: reachability ?? { answer: 'reached' },
  };
}

function dependOn(id: number, more: object): Partial<ClusterScan> {
  const { dependence } = COMPLETE;
  if (dependence === undefined) return {};
  const domain = { quorum: 0, allReplicas: 0, withoutQuorum: 0, named: 0, missing: 0, ...more };
  const nodes = new Map([...dependence.nodes, [id, domain] as const]);
  return { dependence: { ...dependence, nodes } };
}

/** Node 3 reports range 7 as unavailable, and the holder of its lease does not. */
const DISPUTED: Partial<ClusterScan> = {
  ...dependOn(1, { withoutQuorum: 1 }),
  disputed: { rangeIds: new Set([7]), byTable: new Map([[104, 1]]), nodeIds: [3] },
};

/** Each reason with what causes it, in the order in which they count. */
const REASONS: readonly (readonly [reason: string, answer: 'no' | 'unknown', given: Given])[] = [
  ['ranges are without a quorum', 'no', { cluster: { unreported: new Map([[104, 1]]) } }],
  ['2 ranges have no live replica', 'no', { cluster: { lost: 2 } }],
  [
    'ranges are missing that no node reports',
    'no',
    { cluster: { keySpace: { isComplete: false, isGapConfirmed: true, overlapping: [] } } },
  ],
  ['1 range serves nothing', 'no', { cluster: { servingNothing: 1, isServingBound: false } }],
  [
    'at least 1,000 ranges serve nothing',
    'no',
    { cluster: { servingNothing: 1_000, isServingBound: true } },
  ],
  ['only node 3 reports ranges as without a quorum', 'no', { cluster: DISPUTED }],
  ['node 2 is draining', 'no', { statuses: ['live', 'draining', 'live', 'dead'] }],
  ['3 ranges would lose the quorum', 'no', { cluster: dependOn(1, { quorum: 3 }) }],
  [
    '21 replicas have not left it yet',
    'no',
    { statuses: ['decommissioning', 'live', 'live', 'dead'], cluster: dependOn(1, { named: 1 }) },
  ],
  ['the last range scan ended 2 min 41 s ago', 'unknown', { scan: { ageSeconds: 161 } }],
  [
    'no node has written its record for 2 min: the list of nodes may be old',
    'unknown',
    { youngestRecordSeconds: 120 },
  ],
  [
    'node 3 went down after the last range scan; the next one tells more',
    'unknown',
    { statuses: ['live', 'live', 'dead', 'dead'] },
  ],
  [
    '7 ranges are not verified: the next scan may tell more',
    'unknown',
    { cluster: { unverified: 7 } },
  ],
  [
    'r9 on node 2 lies over the keys of other ranges: which of them are real is not known',
    'unknown',
    {
      cluster: {
        unverified: 1,
        keySpace: {
          isComplete: false,
          isGapConfirmed: false,
          overlapping: [{ rangeId: 9, nodeIds: [2], tableIndex: 0 }],
        },
      },
    },
  ],
  [
    'the keys of the ranges that were read do not join: ranges may be missing that no node reports',
    'unknown',
    { cluster: { keySpace: { isComplete: false, isGapConfirmed: false, overlapping: [] } } },
  ],
  [
    'nodes 1 and 2 do not reach each other',
    'unknown',
    {
      reachability: {
        answer: 'unreachable',
        reason: 'nodes 1 and 2 do not reach each other',
        nodeIds: [],
      },
    },
  ],
  ["range scans disagree with the nodes' own counts", 'unknown', { scan: { disagrees: true } }],
];

describe('the reason', () => {
  test.each(REASONS)('%s: %s', (reason, answer, given) => {
    const { decisions } = decideSafeToStop(evidenceOf(given));
    expect(decisions[0]).toEqual({ nodeId: 1, answer, reason });
  });

  test('of several is the first', () => {
    const all = REASONS.map(([, , given]) => given);
    for (const [at, [reason]] of REASONS.entries()) {
      // Of two causes that change the same part, the later one would hide the earlier.
      const given = all.slice(at).toReversed();
      const merged: Given = {
        ...Object.assign({}, ...given),
        cluster: Object.assign({}, ...given.map(({ cluster = {} }) => cluster)),
        scan: Object.assign({}, ...given.map(({ scan = {} }) => scan)),
      };
      expect(decideSafeToStop(evidenceOf(merged)).decisions[0]?.reason).toBe(reason);
    }
  });

  test('is none when nothing speaks against it, beside a dead member that no range needs', () => {
    const { answer, nodes } = decideSafeToStop(evidenceOf({}));
    expect({ answer, nodes }).toEqual({ answer: 'yes', nodes: [1, 2, 3] });
  });

  test('is that nobody tells who reaches whom', () => {
    const remedy = 'enable the collector network';
    const given = evidenceOf({ reachability: { answer: 'unchecked', remedy } });
    expect(decideSafeToStop(given)).toMatchObject({
      answer: 'unknown',
      reason: `nobody tells whether live nodes reach each other: ${remedy}`,
    });
  });
});

describe('unverified ranges', () => {
  const read = {
    state: 'read',
    failure: undefined,
    due: 0,
    perMinute: undefined,
  } as const;
  const refusal = new RequestError('forbidden', 'range_descriptors: HTTP 403', { status: 403 });
  const tooLong = new RequestError('http', 'range_descriptors: HTTP 414', { status: 414 });
  const failure = new RequestError('http', 'range_descriptors: HTTP 500', { status: 500 });

  test.each([
    [{ unverified: 0, descriptors: read }, undefined],
    [
      { unverified: 1, descriptors: { ...read, due: 1 } },
      '1 range is not verified: 1 descriptor is to be read',
    ],
    [
      { unverified: 9_000, descriptors: { ...read, due: 6_000, perMinute: 12_000 } },
      '9,000 ranges are not verified: 6,000 descriptors are to be read, in about 30 s',
    ],
    [
      { unverified: 60, descriptors: { ...read, state: 'disabled' as const } },
      'descriptors of ranges are not read: set descriptor_max_age of the collector ranges',
    ],
    [
      { unverified: 60, descriptors: { ...read, state: 'refused' as const, failure: refusal } },
      'descriptors of ranges are refused (403): GRANT SYSTEM VIEWCLUSTERMETADATA to the user, and let the path /_status/ranges/ pass through proxies',
    ],
    [
      { unverified: 60, descriptors: { ...read, state: 'refused' as const, failure: tooLong } },
      'descriptors of ranges are refused (414): let proxies pass longer paths below /_status/ranges/',
    ],
    [
      { unverified: 60, descriptors: { ...read, failure, due: 60, perMinute: 12_000 } },
      '60 ranges are not verified: descriptors cannot be read: range_descriptors: HTTP 500',
    ],
  ])('%j: %s', (given, text) => {
    expect(describeUnverified({ ...COMPLETE, ...given })).toBe(text);
  });
});

function leaving(cluster: Partial<ClusterScan>): string | undefined {
  const statuses = ['decommissioning', 'live', 'live', 'dead'] as const;
  return decideSafeToStop(evidenceOf({ statuses, cluster })).decisions[0]?.reason;
}

test('replicas on a node that leaves wait for the server alone, where no descriptor names them', () => {
  expect(leaving({})).toBe('21 replicas have not left it yet; no descriptor names them');
  for (const cluster of [{ unverified: 1 }, { dependence: undefined }, dependOn(1, { named: 1 })])
    expect(leaving(cluster)).toBe('21 replicas have not left it yet');
});

describe('ranges without a quorum and the tables that have them', () => {
  test('are from one source: those that no node reports have their tables, too', () => {
    const unreported = new Map([
      [104, 3],
      [0, 1],
      [-1, 2],
    ]);
    const { withoutQuorum } = readRanges(scanOf({ unreported }), undefined);
    expect(withoutQuorum).toEqual({
      tables: [{ id: '104', name: undefined, ranges: 3 }],
      otherRanges: 1,
      unnamedRanges: 2,
      unreportedRanges: 6,
    });
  });

  test('are none while replicas are not verified', () => {
    const { withoutQuorum } = readRanges(scanOf({ unverified: 5 }), undefined);
    expect(withoutQuorum).toEqual({
      tables: [],
      otherRanges: 0,
      unnamedRanges: 0,
      unreportedRanges: 0,
    });
  });
});

/** A scan in which this many ranges name the node 4, and so on, which are down. */
function withReplicas(...counts: readonly number[]): RangesResult {
  const downReplicas = new Map(counts.map((count, at) => [4 + at, count]));
  const dependence = { nodes: new Map(), localities: [], downReplicas, mostVoters: 5 };
  return scanOf({ dependence });
}

/** What is known at a time after these scans. */
function evidenceAfter(scans: readonly (readonly [atMs: number, RangesResult])[], nowMs: number) {
  const trends = new ReplicaTrends();
  for (const [atMs, result] of scans) trends.add(result, atMs);
  const evidence = evidenceOf({});
  const result = scans.at(-1)?.[1];
  if (evidence.scan === undefined || result === undefined) throw new Error('no scan');
  const stop = { ...evidence, scan: { ...evidence.scan, result } };
  return readDeadEvidence(stop, trends.read(nowMs));
}

describe('the advice about a dead node', () => {
  const START = 'Start it again; do not decommission it:';

  test.each([
    [
      [186, 150],
      60,
      5,
      `${START} 150 ranges still have a replica there, and their number falls: the cluster is replacing them.`,
    ],
    [
      [186, 150],
      700,
      5,
      `${START} 150 ranges still have a replica there, and their number does not fall, although enough nodes are live: look for full stores, and for zone constraints that no live node satisfies.`,
    ],
    [
      [186, 150],
      700,
      4,
      `${START} 150 ranges still have a replica there, and their number does not fall: 4 nodes are live, and some ranges have 5 voters. If it will not come back, add a node.`,
    ],
    [
      [186],
      60,
      4,
      `${START} 186 ranges still have a replica there: 4 nodes are live, and some ranges have 5 voters. If it will not come back, add a node.`,
    ],
    [
      [186],
      60,
      3,
      `${START} 186 ranges still have a replica there: 3 nodes are live, and some ranges have 5 voters. If it will not come back, add 2 nodes.`,
    ],
    [
      [186],
      60,
      5,
      `${START} 186 ranges still have a replica there. The cluster began to replace them when the node was declared dead: enough nodes are live.`,
    ],
    [
      [1],
      60,
      5,
      `${START} 1 range still has a replica there. The cluster began to replace them when the node was declared dead: enough nodes are live.`,
    ],
  ])(
    'after scans with %j ranges and %d s, while %i nodes are live',
    (counts, seconds, live, text) => {
      const scans = counts.map((count, at) => [at, withReplicas(count)] as const);
      expect(adviseReturn([4], evidenceAfter(scans, seconds * 1000), live)).toBe(text);
    },
  );

  test.each([
    // Node 4 was replaced long ago, and node 5 has just died.
    [[0, 0], [0, 30_000], /: 30,000 ranges still have a replica on node 5\. The cluster began/],
    [[0, 30_000], [0, 20_000], /20,000 ranges .* on node 5, and their number falls: the cluster/],
    [[7, 30_000], [7, 20_000], /7 ranges .* on node 4, and their number does not fall, although/],
  ])('of two nodes, after scans with %j and %j ranges', (before, after, text) => {
    const scans = [
      [0, withReplicas(...before)],
      [900_000, withReplicas(...after)],
    ] as const;
    expect(adviseReturn([4, 5], evidenceAfter(scans, 960_000), 5)).toMatch(text);
  });
});
