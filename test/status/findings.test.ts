import { describe, expect, test } from 'vitest';
import { DEFAULT_THRESHOLDS } from '../../src/alerts/thresholds.ts';
import { type Api, type FailureReason, PROBLEMS } from '../../src/base/vocabulary.ts';
import { RequestError } from '../../src/cockroach/http/errors.ts';
import type { CollectorState } from '../../src/exporter/observation.ts';
import { pollProblems } from '../../src/exporter/poll-problems.ts';
import { nodeProblems, describeNodes } from '../../src/status/findings/node-problems.ts';
import { toFindings } from '../../src/status/findings/problem.ts';
import { rangeProblems } from '../../src/status/findings/range-problems.ts';
import {
  missingSessions,
  readSessions,
  sessionProblems,
} from '../../src/status/findings/session-problems.ts';
import type { RangesStatus } from '../../src/status/findings/status.ts';
import { unreadNodes } from '../../src/status/findings/unread-nodes.ts';
import { expectGolden } from '../support/golden.ts';
import {
  collectorState,
  node,
  nodesResult,
  RANGES,
  sessionsResult,
  UNREAD,
  unreadScan,
  VERIFIED,
} from './results.ts';

const NOW = '2026-03-01T12:00:00.000Z';
const NOW_MS = Date.parse(NOW);

function failing(name: string, reason: FailureReason, more: Partial<CollectorState> = {}) {
  const error = new RequestError(reason, `${name} failed`);
  const failure = { error, rule: `${name} is broken`, remedy: `repair ${name}` };
  return collectorState(name, { failure, state: 'failing', ...more });
}

/** The problems of polls while these APIs are down. */
function polled(collectors: readonly CollectorState[], ...down: readonly Api[]) {
  const apis = down.map((api) => ({ api, isUp: false }));
  const found = pollProblems({ name: 'shop', collectors, apis }, []);
  return found.map(({ downApi: _api, cause: _cause, failures: _failures, ...problem }) => problem);
}

/** This many ranges with each problem, of which this many are listed. */
function rangesWith(counts: Readonly<Record<string, readonly [number, number]>>): RangesStatus {
  const listed = Object.entries(counts).flatMap(([problem, [, shown]]) =>
    Array.from({ length: shown }, (_, at) => ({
      problem,
      rangeId: 10 + at,
      nodeId: 1 + at,
      storeId: 1,
      table: ['movr.public.users', '', '112', 'x'][at] ?? '',
      index: '',
      firstSeenAt: new Date(NOW_MS - 60_000 * (10 - at)).toISOString(),
    })),
  );
  return {
    ...RANGES,
    problems: Object.fromEntries(
      Object.entries(counts).map(([problem, [count]]) => [problem, count]),
    ),
    oldest: listed,
  };
}

test('every finding that there is matches the golden file', async () => {
  const nodes = [0, 1, 2, 3, 4, 5, 6, 7].map((livenessCode) =>
    node(livenessCode + 1, {
      livenessCode,
      isFresh: livenessCode !== 1 && livenessCode < 6,
      buildTag: `v25.4.${livenessCode}`,
      updatedSeconds: NOW_MS / 1000 - 100 + livenessCode,
    }),
  );
  const problems = rangesWith(
    Object.fromEntries(PROBLEMS.map((problem, at) => [problem, [1_000 * at + 1, at % 5]])),
  );
  // No range needs the dead node 2; one may need the node 6, which died while it left.
  const evidence = {
    ...UNREAD,
    replicas: new Map([
      [2, 0],
      [6, 186],
    ]),
    doubt: undefined,
  };
  const issues = [
    ...nodeProblems(describeNodes(nodesResult(...nodes)), evidence, DEFAULT_THRESHOLDS),
    ...rangeProblems(problems),
    ...unreadNodes(unreadScan(3, { 2: 'timeout', 3: 'timeout' })),
    ...rangeProblems({
      ...problems,
      problems: { no_live_replica: 1, circuit_breaker_error: 2 },
      oldest: problems.oldest.flatMap((range) =>
        range.problem === 'no_live_replica' ? { ...range, lastNodes: [4, 5, 6] } : [],
      ),
      verification: { ...VERIFIED, servingNothing: 2, stuck: 2 },
    }),
    ...rangeProblems({
      ...RANGES,
      verification: {
        ...VERIFIED,
        keySpace: 'gap',
        descriptors: 'refused',
        reason: 'they are refused',
      },
    }),
    ...sessionProblems(
      readSessions(sessionsResult({ a: { oldestIdleTransactionSeconds: 301 } })),
      'shop one',
      NOW,
      DEFAULT_THRESHOLDS,
    ),
    ...missingSessions(readSessions(sessionsResult({}, [3, 2]))),
    ...polled(
      [
        failing('nodes', 'breaker_open'),
        failing('ranges', 'timeout', { hasData: false, limits: ['duration'] }),
        collectorState('sessions', { limits: ['bytes', 'series'] }),
        failing('cloud', 'auth', { api: 'cloud' }),
      ],
      'cluster',
      'cloud',
    ),
    ...polled([failing('nodes', 'http'), failing('users', 'http', { hasData: false })]),
  ];
  const findings = toFindings(issues, () => NOW_MS - 3_600_000);
  await expectGolden(`${JSON.stringify(findings, undefined, 2)}\n`, 'test/golden/findings.json');
});

describe('a finding', () => {
  const issue = { key: 'k', about: 'nodes', text: 'Text.', next: 'Next.' } as const;

  test.each([
    [{}, 'info'],
    [{ alert: 'CrdbNodeDead' }, 'warning'],
    [{ alert: 'CrdbNodeDead', level: 'critical' }, 'critical'],
    [{ level: 'critical', since: '2026-03-01T11:59:00.001Z' }, 'critical'],
  ] as const)('with %j is %s', (more, level) => {
    const [finding] = toFindings([{ ...issue, ...more }], () => NOW_MS - 60_000);
    const since = 'since' in more ? more.since : '2026-03-01T11:59:00.000Z';
    expect(finding).toMatchObject({
      ...issue,
      ...('alert' in more && { alert: more.alert }),
      level,
      since,
    });
  });
});

test('a problem of ranges is as old as the oldest of them', () => {
  const [problem] = rangeProblems(rangesWith({ underreplicated: [3, 3] }));
  expect(problem?.since).toBe(new Date(NOW_MS - 600_000).toISOString());
});

test('several nodes of one state are one problem, in the plural', () => {
  const list = describeNodes(
    nodesResult(node(1), ...[2, 3].map((id) => node(id, { livenessCode: 6 }))),
  );
  const [draining] = nodeProblems(list, UNREAD, DEFAULT_THRESHOLDS);
  expect(draining?.text).toMatch(/^Nodes 2 and 3 are draining/);
});

function textsOf(status: RangesStatus): readonly string[] {
  const texts = rangeProblems(status).map(({ text }) => text);
  return texts.map((text) => text.replace(/^.*?: requests wait\. /, ''));
}

/** The nodes 1 to 3, of which the last one has this liveness. */
function listNodes(livenessCode: number) {
  return describeNodes(nodesResult(node(1), node(2), node(3, { livenessCode }))).list;
}

function quorumText(status: RangesStatus): string | undefined {
  return rangeProblems(status).find(({ key }) => key === 'ranges unavailable')?.text;
}

/** The keys and severities of what a scan finds that proves this. */
function provenBy(more: Partial<typeof VERIFIED>): readonly string[] {
  const status = { ...RANGES, verification: { ...VERIFIED, ...more } };
  const findings = toFindings(rangeProblems(status), () => NOW_MS);
  return findings.map(({ key, level }) => `${key}: ${level}`);
}

describe('findings of ranges', () => {
  test.each([
    [1, 1, 'r10 of movr.public.users on node 1.'],
    [3, 3, 'r10 of movr.public.users on node 1, r11 on node 2 and r12 of table 112 on node 3.'],
    [
      4,
      3,
      'r10 of movr.public.users on node 1, r11 on node 2, r12 of table 112 on node 3 and 1 more.',
    ],
    [
      4,
      4,
      'r10 of movr.public.users on node 1, r11 on node 2, r12 of table 112 on node 3 and 1 more.',
    ],
    [2, 0, '2 ranges without a quorum of replicas: requests wait.'],
  ])('name three of %d ranges, if %d are listed', (count, listed, text) => {
    expect(textsOf(rangesWith({ unavailable: [count, listed] }))).toEqual([text]);
  });

  test('name the system ranges first, and say what they mean, where they serve nothing', () => {
    const status = rangesWith({ unavailable: [6, 4] });
    const [first, ...others] = status.oldest;
    if (first === undefined) throw new Error('no range');
    const system = [
      { ...first, rangeId: 1, table: '', nodeId: 3 },
      { ...first, rangeId: 31, table: 'system.public.web_sessions', nodeId: 3 },
      { ...first, rangeId: 35, table: '39', nodeId: 3 },
    ];
    const oldest = [first, ...others, ...system];
    const [text] = rangeProblems({ ...status, oldest }).map((problem) => problem.text);
    expect(text).toBe(
      'No statement and no login works without the system ranges among these. 6 ranges without a quorum of replicas: requests wait. r1 (system: meta ranges) on node 3, r31 of system.public.web_sessions on node 3, r35 of table 39 on node 3 and 3 more.',
    );
    const busy = oldest.map((range) => ({ ...range, problem: 'raft_log_too_large' }));
    const [other] = rangeProblems({ ...status, problems: { raft_log_too_large: 6 }, oldest: busy });
    expect(other?.text).toContain('too large. r10 of movr.public.users on node 1, ');
  });

  test('count a range without a quorum once: that it has no leader and no lease follows', () => {
    const status = rangesWith({ unavailable: [3, 3], no_raft_leader: [3, 3], no_lease: [4, 4] });
    const keysOf = (stuck: number): readonly string[] => {
      const verification = { ...VERIFIED, servingNothing: 3 + stuck, stuck };
      const found = rangeProblems({ ...status, verification });
      return found.map(({ key, text }) => (key.endsWith('nothing') ? text : key));
    };
    expect(keysOf(0)).toEqual(['ranges unavailable', 'ranges no_lease']);
    expect(keysOf(1)).toEqual([
      'ranges unavailable',
      'ranges no_lease',
      '1 range serves nothing: requests wait or fail. Reported by r13 of x on node 4.',
    ]);
  });

  test('serve nothing in fewer ranges than replicas report, and the text says so', () => {
    const verification = { ...VERIFIED, servingNothing: 2, stuck: 2 };
    const status = { ...rangesWith({ no_raft_leader: [5, 5] }), verification };
    expect(JSON.stringify(rangeProblems(status))).toMatch(/more report it: .* and 2 more/);
  });

  test('are critical as replicas report them, where none could be asked again', () => {
    const status = rangesWith({ no_raft_leader: [3, 3] });
    const alertWhile = (servingNothing: number | undefined) =>
      rangeProblems({ ...status, verification: { ...VERIFIED, servingNothing } }).map(
        ({ alert }) => alert,
      );
    expect(alertWhile(0)).toEqual(['CrdbRangeProblemPersistent']);
    expect(alertWhile(undefined)).toEqual(['CrdbRangesWithoutLease']);
  });

  test('call a number a lower bound where more replicas report it than are asked again', () => {
    const verification = { ...VERIFIED, servingNothing: 1_000, stuck: 1_000 };
    const textOf = (servingNothingAtLeast?: true) =>
      rangeProblems({ ...RANGES, verification: { ...verification, servingNothingAtLeast } })
        .map(({ text }) => text)
        .join();
    expect(textOf()).toMatch(/^1,000 ranges serve nothing: /);
    expect(textOf(true)).toMatch(/^At least 1,000 ranges serve nothing: /);
  });

  test('name the URLs that ignore `ranges=`', () => {
    const verification = { ...VERIFIED, ignoringUrls: ['crdb-1:8080', 'crdb-2:8080'] };
    const problems = rangeProblems({ ...RANGES, verification });
    expect(problems.find(({ key }) => key === 'ignored ranges')?.text).toMatch(
      /^crdb-1:8080 and crdb-2:8080 ignore `ranges=` and list all ranges of a node/,
    );
  });

  test('count ranges that no node reports among those without a quorum, and disputed ones apart', () => {
    const withoutQuorum = { ...RANGES.withoutQuorum, unreportedRanges: 2 };
    const status = rangesWith({ unavailable: [3, 3] });
    const found = (more: object) =>
      rangeProblems({ ...status, ...more }).map(({ text, alert }) => `${alert}: ${text}`);
    expect(found({ withoutQuorum })[0]).toMatch(
      /^CrdbRangesUnavailable: 5 ranges without a quorum .* No node reports 2 of them: by the descriptors no majority of the voters is live\.$/,
    );
    expect(rangeProblems({ ...RANGES, withoutQuorum })[0]?.text).toBe(
      '2 ranges without a quorum of replicas: requests wait. No node reports it: by the descriptors no majority of the voters is live.',
    );
    const [certain, disputed] = found({ disputed: { ranges: 2, nodeIds: [6, 7] } });
    expect(certain).toMatch(/^CrdbRangesUnavailable: 1 range without a quorum/);
    expect(disputed).toMatch(
      /^CrdbRangesUnavailable: Only nodes 6 and 7 report 2 ranges as without/,
    );
  });

  test('advise to start nodes only while some are down, whatever the scan before says', () => {
    const status = {
      ...rangesWith({ no_live_replica: [1, 1], unavailable: [3, 3] }),
      verification: { ...VERIFIED, keySpace: 'gap' },
    } as const;
    const nextOf = (...list: Parameters<typeof rangeProblems>[1][]) =>
      rangeProblems(status, ...list).map(({ next }) => next);
    for (const next of [...nextOf(), ...nextOf(listNodes(1))])
      expect(next).toMatch(/^Start the nodes/);
    for (const next of nextOf(listNodes(3)))
      expect(next).toMatch(/^No node is down now: the next scan/);
    expect(nextOf(listNodes(3))).toHaveLength(3);
  });

  test('advise to start nodes that went down after the list of nodes', () => {
    const status = rangesWith({ unavailable: [3, 3] });
    const nextOf = (skipped: number, isListOlder: boolean) => {
      const nodes = { ...status.nodes, skipped };
      return rangeProblems({ ...status, nodes }, listNodes(3), false, isListOlder)[0]?.next;
    };
    expect(nextOf(2, true)).toMatch(/^Start the nodes/);
    // By the later list they are up again.
    expect(nextOf(2, false)).toMatch(/^No node is down now: the next scan/);
    expect(nextOf(0, true)).toMatch(/^No node is down now: the next scan/);
  });

  test('count ranges without a quorum beside those that are lost', () => {
    const unavailable = rangesWith({ unavailable: [3, 0] });
    const gap = { ...VERIFIED, keySpace: 'gap' } as const;
    expect(quorumText(unavailable)).toMatch(/^3 ranges without a quorum/);
    expect(quorumText({ ...unavailable, verification: gap })).toMatch(/^3 other ranges without/);
    const open = { ...VERIFIED, keySpace: 'incomplete', lost: undefined } as const;
    expect(quorumText({ ...unavailable, verification: open })).toMatch(/^3 ranges without/);
    const lost = rangesWith({ no_live_replica: [1, 0], unavailable: [1, 0] });
    expect(quorumText(lost)).toMatch(/^1 other range without/);
  });

  test('tell of open keys as information until three scans prove a gap, where ranges may be lost', () => {
    expect(provenBy({ keySpace: 'incomplete', lost: undefined })).toEqual(['open keys: info']);
    expect(provenBy({ keySpace: 'gap', lost: undefined })).toEqual(['key space gap: critical']);
    // Every member that is down was read before: the keys of a split or a merge are open.
    expect(provenBy({ keySpace: 'incomplete', lost: 0 })).toEqual([]);
    expect(provenBy({ keySpace: 'complete' })).toEqual([]);
  });
});

/** The alerts of findings by key while this API is down. */
function alertsOf(api: Api, ...all: readonly CollectorState[]) {
  return polled(all, api).map(({ key, alert }) => [key, alert]);
}

describe('findings of collectors', () => {
  test('are one for each cause, and the first of an API that is down is about the API', () => {
    expect(alertsOf('cluster', collectorState('nodes'))).toEqual([]);
    expect(alertsOf('cluster', failing('nodes', 'timeout'))).toEqual([
      ['cluster is silent', 'CrdbClusterApiDown'],
    ]);
    for (const reason of ['auth', 'forbidden'] as const) {
      const all = [failing('nodes', 'breaker_open'), failing('ranges', reason)];
      expect(alertsOf('cluster', ...all)).toEqual([
        [`cluster ${reason} ranges is broken`, 'CrdbAccessRejected'],
      ]);
    }
    const others = [failing('users', 'decode'), failing('cloud', 'http', { api: 'cloud' })];
    expect(alertsOf('cluster', failing('nodes', 'http'), ...others)).toEqual([
      ['cluster http nodes is broken', 'CrdbClusterApiDown'],
      ['cluster decode users is broken', undefined],
      ['cloud http cloud is broken', undefined],
    ]);
  });

  test('of a Cloud API that is down have the alert of its data', () => {
    const [shown, none] = [true, false].map((hasData) =>
      alertsOf('cloud', failing('cloud', 'http', { api: 'cloud', hasData })),
    );
    const key = 'cloud http cloud is broken';
    expect([shown, none]).toEqual([[[key, undefined]], [[key, 'CrdbDataStale']]]);
  });
});
