import { describe, expect, test } from 'vitest';
import { judge } from '../../../src/status/findings/judge.ts';
import { toFindings } from '../../../src/status/findings/problem.ts';
import {
  type Node,
  node,
  nodesResult,
  observeAt,
  polledCluster,
  rangesResult,
  scannedRanges,
  scannedStore,
  sessionsResult,
  WHOLE_SCAN,
} from '../results.ts';
import { check, found, levels, metrics, NOW_MS, store } from './found.ts';

/** What is found when the last backup ended this many hours ago. */
function ended(hours: number) {
  const lastBackupSeconds = NOW_MS / 1000 - hours * 3600;
  return check({ nodes: { ...nodesResult(node(1)), lastBackupSeconds } });
}

/** A node of a cluster whose replication is this many seconds behind. */
function replicated(seconds: number): Partial<Node> {
  const key = 'logical_replication.replicated_time_seconds';
  return metrics({
    'jobs.logical_replication.currently_running': 1,
    [key]: 1_700_000_100 - seconds,
  });
}

/** The hotspots when the first of three live nodes has this load and CPU. */
function compare(
  [leases, queries]: readonly [leases: number, queries: number],
  cpu: number,
  more: Partial<Node> = {},
  ofOthers: Partial<Node> = {},
) {
  const loads = [
    [leases, queries],
    [40, 10],
    [40, 10],
  ] as const;
  const scanned = loads.map(([held, load], at) => scannedStore(at + 1, held, load));
  const key = 'sys.cpu.combined.percent-normalized';
  const nodes = [cpu, 0.3, 0.3].map((value, at) =>
    node(at + 1, { ...metrics({ [key]: value }), ...(at === 0 ? more : ofOthers) }),
  );
  return check({ nodes: nodesResult(...nodes), ranges: { ...rangesResult(0), scanned } });
}

/** The severities of what is found when this many of 100 ranges are under-replicated. */
function many(count: number, nodeCount = 3) {
  const problems = new Map([['underreplicated', { ranges: count, listed: [] }] as const]);
  const nodes = Array.from({ length: nodeCount }, (_, at) => node(at + 1));
  const ranges = scannedRanges({ problems }, [scannedStore(1, 100)]);
  const cluster = polledCluster({
    pollers: [],
    isUp: true,
    results: { nodes: nodesResult(...nodes), ranges },
  });
  const { findings } = judge(observeAt(NOW_MS, cluster), () => NOW_MS);
  return findings.map(({ alert, level }) => [alert, level]);
}

/** A locality, on which ranges depend when it is in the zone a. */
function domain(tier: string, locality: string) {
  const quorum = locality.startsWith('zone=a') ? 3 : 0;
  return { tier, locality, quorum, allReplicas: 0, inside: 0 };
}

/** What is found when ranges depend on the zone a, and on each of its nodes, and zones have this many nodes each. */
function atRisk(nodesPerZone: number): readonly string[] {
  const tiersOf = (at: number) => {
    const zone = 'abc'[Math.floor(at / nodesPerZone)] ?? '';
    return [
      { key: 'zone', value: zone },
      { key: 'dns', value: `node-${at + 1}` },
    ];
  };
  const list = Array.from({ length: 3 * nodesPerZone }, (_, at) =>
    node(at + 1, { tiers: tiersOf(at) }),
  );
  const localities = [
    ...['a', 'b', 'c'].map((zone) => domain('zone', `zone=${zone}`)),
    ...list.map(({ tiers: [zone, dns] }) => domain('dns', `zone=${zone?.value},dns=${dns?.value}`)),
  ];
  const none = {
    quorum: 0,
    allReplicas: 0,
    withoutQuorum: 0,
    named: 0,
    missing: 0,
    localities: [],
  };
  const cluster = {
    ...WHOLE_SCAN,
    dependence: {
      nodes: new Map(list.map(({ id }) => [id, none])),
      localities,
      downReplicas: new Map<number, number>(),
      mostVoters: 0,
    },
  };
  const ranges = scannedRanges({ ranges: 103, cluster }, []);
  return check({ nodes: nodesResult(...list), ranges }).map(({ text }) => text);
}

/** The problems when the hottest range of a node has this load. */
function textsOf(load: Partial<ReturnType<typeof scannedStore>>): readonly string[] {
  const scanned = [{ ...scannedStore(1, 1), ...load }];
  const ranges = { ...rangesResult(0), scanned };
  return check({ ranges }).map(({ text }) => text);
}

/** A node on either side of the threshold of an alert that reads one metric. */
function sides(key: string, above: number, below: number) {
  return [metrics({ [key]: above }), metrics({ [key]: below })] as const;
}

/** A node that has just written that its license has this many days left. */
function licensed(days: number): Partial<Node> {
  const left = metrics({ seconds_until_license_expiry: days * 86_400 });
  return { ...left, updatedSeconds: NOW_MS / 1000 };
}

/** Values on both sides of the threshold of an alert. */
const CONDITIONS: Readonly<
  Record<string, readonly [above: Partial<Node>, below: Partial<Node>, others?: readonly Node[]]>
> = {
  CrdbClockOffsetHigh: sides('clock-offset.meannanos', -210e6, 200e6),
  CrdbHeartbeatSlow: sides('liveness.heartbeatlatency-p99', 0.6e9, 0.5e9),
  CrdbLatencyHigh: sides('sql.service.latency-p99', 1.1e9, 1e9),
  CrdbStoreDiskSlow: [
    store({ 'storage.wal.fsync.latency-p99': 0.11e9 }),
    store({ 'storage.wal.fsync.latency-p99': 0.1e9 }),
  ],
  CrdbNodeCpuHigh: [
    metrics({ 'sys.cpu.combined.percent-normalized': 0.81 }),
    metrics({ 'sys.cpu.combined.percent-normalized': 0.99, 'jobs.backup.currently_running': 1 }),
  ],
  CrdbHostCpuHigh: [
    metrics({ 'sys.cpu.host.combined.percent-normalized': 0.91 }),
    metrics({
      'sys.cpu.host.combined.percent-normalized': 0.9,
      'sys.cpu.combined.percent-normalized': 0.5,
    }),
  ],
  CrdbCertificateExpiring: sides(
    'security.certificate.expiration.node',
    NOW_MS / 1000 + 5 * 86_400,
    NOW_MS / 1000 + 22 * 86_400,
  ),
  'CrdbCertificateExpiring ': sides(
    'security.certificate.expiration.ui-ca',
    NOW_MS / 1000 + 25 * 86_400,
    NOW_MS / 1000 + 27 * 86_400,
  ),
  CrdbNodeMemoryHigh: sides('sys.rss', 81, 80),
  CrdbFileDescriptorsHigh: [
    metrics({ 'sys.fd.open': 81, 'sys.fd.softlimit': 100 }),
    metrics({ 'sys.fd.open': 80, 'sys.fd.softlimit': 100 }),
  ],
  CrdbRequestsStuck: [store({ 'requests.slow.raft': 1 }), store({ 'requests.slow.raft': 0 })],
  CrdbStoreOverloaded: [
    store({ 'storage.l0-sublevels': 20 }),
    store({ 'storage.l0-sublevels': 19 }),
  ],
  'CrdbStoreOverloaded ': [
    store({ 'admission.io.overload': 1 }),
    store({ 'admission.io.overload': 0.99 }),
  ],
  CrdbPurgatory: [
    store({ 'queue.replicate.purgatory': 1 }),
    store({ 'queue.replicate.purgatory': 0 }),
    [node(2), node(3)],
  ],
  CrdbChangefeedLagging: sides('changefeed.max_behind_nanos', 601e9, 600e9),
  CrdbLicenseExpiring: [licensed(20), licensed(22)],
  CrdbLicenseMissing: [
    metrics({ seconds_until_license_expiry: 0 }),
    licensed(90),
    [node(2, { metrics: new Map([['seconds_until_license_expiry', 0]]) })],
  ],
  CrdbPartitionSuspected: [
    metrics({ 'rpc.connection.unhealthy': 2, 'rpc.connection.healthy': 1 }),
    metrics({ 'rpc.connection.unhealthy': 1, 'rpc.connection.healthy': 2 }),
    [node(2), node(3, { livenessCode: 1 })],
  ],
  CrdbClusterCapacity: [
    store({ capacity: 100e9, 'capacity.available': 30e9 }),
    store({ capacity: 100e9, 'capacity.available': 70e9 }),
    [2, 3, 4].map((id) => node(id, store({ capacity: 100e9, 'capacity.available': 25e9 }))),
  ],
  CrdbReplicationLag: [replicated(601), replicated(600)],
  CrdbUpgradeNotFinalized: [
    metrics({ 'cluster.preserve-downgrade-option.last-updated': NOW_MS / 1000 - 8 * 86_400 }),
    metrics({ 'cluster.preserve-downgrade-option.last-updated': NOW_MS / 1000 - 6 * 86_400 }),
  ],
  CrdbJobPaused: [
    metrics({ 'jobs.restore.currently_paused': 1, 'jobs.restore.protected_age_sec': 3_601 }),
    metrics({ 'jobs.restore.currently_paused': 0, 'jobs.restore.protected_age_sec': 3_601 }),
  ],
  'CrdbJobPaused ': [
    metrics({ 'jobs.changefeed.currently_paused': 1, 'jobs.changefeed.protected_age_sec': 3_601 }),
    metrics({ 'jobs.changefeed.currently_paused': 1, 'jobs.changefeed.protected_age_sec': 3_600 }),
  ],
};

test.each([
  [{}, 'no current record of a node has it'],
  [{ 'physical_replication.replicated_time_seconds': 0 }, 'it has replicated nothing yet'],
])('a replication that runs without a lag, with %j, is a finding', (more, reason) => {
  const running = metrics({ 'jobs.replication_stream_ingestion.currently_running': 1, ...more });
  const problems = found(running);
  expect(problems.map(({ alert, text }) => `${alert}: ${text}`)).toEqual([
    `CrdbReplicationLag: The physical replication into this cluster runs, and its lag is not known: ${reason}.`,
  ]);
  expect(levels(problems)).toEqual(['info']);
});

test('metrics that no node sends any more are named', () => {
  const missingKeys = ['schedules.BACKUP.last-completed-time', 'sql.mem.*'];
  const problems = check({ nodes: { ...nodesResult(node(1)), missingKeys } });
  expect(problems.map(({ alert, text }) => `${alert}: ${text}`)).toEqual([
    'CrdbNodeKeysMissing: No node sends 2 metrics that are read: schedules.BACKUP.last-completed-time and sql.mem.*.',
  ]);
});

describe('a finding', () => {
  test('names a zone at risk although each node has a tier of its own, and no single node', () => {
    expect(atRisk(2)).toEqual(['Some ranges would lose their quorum with zone=a.']);
    expect(atRisk(1)).toEqual([]);
  });

  test.each(Object.entries(CONDITIONS))('%s begins above its threshold', (alert, condition) => {
    const [above, below, others] = condition;
    expect(new Set(found(above, others).map((one) => one.alert))).toEqual(new Set([alert.trim()]));
    expect(found(below, others)).toEqual([]);
  });

  test('is none of a record that is not fresh', () => {
    expect(found({ ...CONDITIONS['CrdbNodeMemoryHigh']?.[0], isFresh: false })).toEqual([]);
  });

  test('is no lag of a changefeed while one of any node scans whole tables', () => {
    const lagging = metrics({ 'changefeed.max_behind_nanos': 700e9 });
    const [calm, scanning] = [0, 1].map((count) =>
      found(lagging, [node(2, metrics({ 'changefeed.backfill_count': count }))]),
    );
    expect(calm?.map(({ alert }) => alert)).toEqual(['CrdbChangefeedLagging']);
    expect(scanning).toEqual([]);
  });

  test.each([
    ['a day, and the lag 4 years', 86_400, 144e6, 0],
    ['a day, and the lag 4 hours more', 86_400, 86_400 + 14_400, 1],
    ['not known, and the lag 4 years', undefined, 144e6, 1],
  ])('is a lag of a changefeed where the cluster is old: %s', (_, age, lag, count) => {
    const startedSeconds = age === undefined ? 0 : NOW_MS / 1000 - age;
    const lagging = { ...metrics({ 'changefeed.max_behind_nanos': lag * 1e9 }), startedSeconds };
    expect(found(lagging, [node(2, { startedSeconds: 0 })])).toHaveLength(count);
  });

  test.each([
    ['sys.rss', 90, 'warning'],
    // Only the alert knows that it has been above 90 percent for an hour.
    ['sys.rss', 97, 'warning'],
    ['sys.rss', 98, 'critical'],
    ['sys.cpu.combined.percent-normalized', 0.9, 'warning'],
    ['sys.cpu.combined.percent-normalized', 0.91, 'critical'],
    ['changefeed.max_behind_nanos', 14_401e9, 'critical'],
  ])('of %s %d is %s at once', (key, value, level) => {
    expect(levels(found(metrics({ [key]: value })))).toEqual([level]);
  });

  test('of slow heartbeats names the node, and is critical when it may lose its leases', () => {
    const [slow, slowest] = [2e9, 3.1e9].map((nanos) =>
      found(metrics({ 'liveness.heartbeatlatency-p99': nanos })),
    );
    expect(slow?.map(({ text }) => text)).toEqual([
      'Node 1: liveness heartbeats take up to 2 s (p99).',
    ]);
    expect(levels(slow ?? [])).toEqual(['warning']);
    expect(levels(slowest ?? [])).toEqual(['critical']);
  });

  test('of slow statements stays information: only the alert knows the day before', () => {
    const slow = found(metrics({ 'sql.service.latency-p99': 4e9 }));
    expect(levels(slow)).toEqual(['info']);
  });

  test.each([
    ['a fifth is free', 100, 20, []],
    ['less is free', 100, 19, ['warning']],
    ['a tenth is free', 100, 10, ['warning']],
    ['less than a tenth is free', 100, 9, ['critical']],
    ['5 GiB are free, of little', 20, 5, []],
    ['less than 5 GiB are free', 20, 4.9, ['critical']],
    ['31 percent are free, less than 5 GiB', 10, 3.1, []],
  ] as const)('of a store in which %s', (_what, capacity, available, severities) => {
    const full = store({ capacity: capacity * 2 ** 30, 'capacity.available': available * 2 ** 30 });
    const problems = toFindings(found(full), () => NOW_MS);
    expect(problems.map(({ level }) => level)).toEqual(severities);
  });

  test('of a hotspot compares the live nodes of a region', () => {
    const texts = compare([121, 0], 0.51).map((one) => `${one.alert} ${one.text}`);
    expect(texts).toEqual([expect.stringMatching(/^CrdbNodeHotspot Node 1 carries up to 3/)]);
    expect(compare([120, 0], 0.51)).toEqual([]);
    expect(compare([121, 0], 0.5)).toEqual([]);
    expect(compare([40, 31], 0.51)).toHaveLength(1);
    expect(compare([40, 31], 0.5)).toEqual([]);
    expect(compare([40, 30], 0.51)).toEqual([]);
    expect(compare([121, 0], 0.51, { livenessCode: 5 })).toEqual([]);
    expect(compare([121, 0], 0.51, { tiers: [{ key: 'region', value: 'elsewhere' }] })).toEqual([]);
  });

  test('of a hotspot compares no CPU that a node which starts has not measured', () => {
    const unmeasured = metrics({ 'sys.cpu.combined.percent-normalized': 0, 'sys.rss': 0 });
    expect(compare([121, 0], 0.51, {}, unmeasured)).toEqual([]);
  });

  test('of a hotspot compares nodes of the same first tier, where none is a region', () => {
    const [one, others] = ['1', '2'].map((rack) => ({
      tiers: [
        { key: 'hall', value: 'a' },
        { key: 'rack', value: rack },
      ],
    }));
    expect(compare([121, 0], 0.51, one, others)).toHaveLength(1);
  });

  test('of a hot range goes by CPU where the servers send it, else by queries', () => {
    const queries = { isDetailed: false, maxQueries: 2_501 };
    expect(textsOf({ ...queries, maxQueries: 2_500 })).toEqual([]);
    expect(textsOf(queries)).toEqual(['A range has 2,501 queries per second.']);
    expect(textsOf({ ...queries, isDetailed: true, maxCpuNanos: 75e7 })).toEqual([]);
    expect(textsOf({ isDetailed: true, maxCpuNanos: 76e7 })).toEqual([
      'A range has 0.76 CPU seconds per second.',
    ]);
  });

  test('of many under-replicated ranges begins above a tenth of all, in clusters that can have three replicas', () => {
    expect(many(10)).toEqual([['CrdbRangesUnderreplicated', 'warning']]);
    expect(many(11)).toEqual([['CrdbRangesUnderreplicated', 'critical']]);
    expect(many(11, 2)).toEqual([[undefined, 'info']]);
  });

  test('of an old backup counts from its end', () => {
    const anHourAgo = new Date(NOW_MS - 3_600_000).toISOString();
    expect(ended(27)).toMatchObject([{ alert: 'CrdbBackupTooOld', since: anHourAgo }]);
    expect(ended(25)).toEqual([]);
  });

  test('of sessions compares them with their node', () => {
    const listed = nodesResult(node(0, { memoryBytes: 100, cpus: 8, isFresh: false }));
    const of = (tally: Parameters<typeof sessionsResult>[0]) =>
      check({ nodes: listed, sessions: sessionsResult(tally) }).map(({ alert }) => alert);
    expect(of({ app: { allocBytes: 21 } })).toEqual(['CrdbSessionMemoryHigh']);
  });
});
