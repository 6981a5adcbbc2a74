import { expect, test } from 'vitest';
import type { Finding } from '../../../src/status/findings/status.ts';
import { Html } from '../../../src/status/page/html.ts';
import { sessionTables, userFigures } from '../../../src/status/page/panels.ts';
import {
  hotRanges,
  lastKnownRanges,
  loadedTables,
  problemRanges,
  safeToStop,
} from '../../../src/status/page/range-panels.ts';
import { CALM } from '../page-clusters.ts';
import { RANGES, VERIFIED } from '../results.ts';

const NOW = '2026-03-01T12:00:00.000Z';
const NOW_MS = Date.parse(NOW);

/** The text of some markup, without its tags. */
function textOf({ text }: Html): string {
  return text
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** The matches of the group of an expression. */
function all({ text }: Html, expression: RegExp): readonly string[] {
  return Array.from(text.matchAll(expression), ([, found = '']) => found);
}

const commandFor = (words: string): string => `crdb-exporter ${words}`;
const PLACE = { nodeId: 1, storeId: 2, table: '', index: '' };

function findingOf(key: string, level: Finding['level']): Finding {
  return { key, about: 'ranges', alert: undefined, level, text: '', next: '', since: NOW };
}

test('the worst problem ranges come first, and the oldest of them', () => {
  const findings = [
    findingOf('ranges unavailable', 'critical'),
    findingOf('ranges no_live_replica', 'critical'),
    findingOf('ranges overreplicated', 'info'),
  ];
  const names = [
    'overreplicated',
    'underreplicated',
    'unavailable',
    'underreplicated',
    'unavailable',
    'no_live_replica',
  ];
  const oldest = names.map((problem, at) => ({ ...PLACE, problem, rangeId: at, firstSeenAt: NOW }));
  const problems = {
    overreplicated: 1,
    underreplicated: 2_000,
    unavailable: 2,
    no_live_replica: 1,
  };
  const drawn = problemRanges({ ...RANGES, problems, oldest }, findings, NOW_MS, { commandFor });
  // r2 is a system range.
  expect(all(drawn, /<th scope="row"[^>]*>(r\d)</g)).toEqual(['r2', 'r5', 'r4', 'r1', 'r3', 'r0']);
  expect(all(drawn, /<li class="(\w+)">/g)).toEqual(['critical', 'critical', 'warning', 'info']);
  expect(textOf(drawn)).toMatch(
    /^1 no live replica 2 unavailable 2,000 underreplicated 1 overreplicated /,
  );
  // The command knows nothing of a lost range.
  expect(textOf(drawn)).toContain('Details of r2: crdb-exporter range 2');
});

test.each([
  [3, 'The keys of the ranges do not join: 3 ranges are lost.'],
  [0, 'The keys of the ranges do not join: some may be missing.'],
  [undefined, 'The keys of the ranges do not join: some may be missing.'],
])('of an incomplete key space with %s lost ranges it says "%s"', (lost, text) => {
  const verification = { ...VERIFIED, keySpace: 'incomplete', lost } as const;
  const drawn = safeToStop(
    { answer: 'no', nodes: [], decisions: [] },
    { ...RANGES, dependent: [], verification },
  );
  expect(textOf(drawn)).toContain(`minute. ${text}`);
});

test('what has no quorum begins with the ranges of the system, by name', () => {
  const oldest = [
    { ...PLACE, problem: 'unavailable', rangeId: 9, firstSeenAt: NOW },
    { ...PLACE, problem: 'unavailable', rangeId: 2, firstSeenAt: NOW },
  ];
  const rides = { id: '104', name: 'movr.public.rides', ranges: 3 };
  const withoutQuorum = { tables: [rides], otherRanges: 2, unnamedRanges: 1, unreportedRanges: 0 };
  const ofScan = { problems: { unavailable: 5 }, oldest, withoutQuorum };
  const status = { ...RANGES, ...ofScan, verification: VERIFIED };
  expect(textOf(problemRanges(status, [], NOW_MS, { commandFor }))).toContain(
    'Without quorum: r2 (system: node liveness), movr.public.rides (3 ranges), 1 range outside of tables and 1 range whose table is not known.',
  );
});

test('only ranges that one node alone calls unavailable are said to be claimed by it', () => {
  const problems = { unavailable: 5, underreplicated: 7 };
  const disputed = { ranges: 4, nodeIds: [6] };
  const status = { ...RANGES, problems, disputed, verification: VERIFIED };
  const drawn = textOf(problemRanges(status, [], NOW_MS, { commandFor }));
  expect(drawn).toMatch(/5 unavailable \(4 by node 6 alone\)/);
  expect(drawn).toMatch(/7 underreplicated(?! \()/);
});

test('the bars of hot ranges are shares of the hottest, or of one query where all have less', () => {
  const widths = [[200, 50], [0.5, 0], [0]].map((queries) => {
    const hottest = queries.map((queriesPerSecond, rangeId) => {
      return {
        ...PLACE,
        rangeId,
        queriesPerSecond,
        writesPerSecond: 0,
        cpuSecondsPerSecond: undefined,
      };
    });
    return all(hotRanges({ ...RANGES, hottest }, { commandFor }), /<rect width="(\w+)"/g);
  });
  expect(widths).toEqual([['100', '25'], ['50', '0'], ['0']]);
});

/** What is said beside the latency of the slowest of three nodes, while these write no records. */
function slowestBeside(...stale: readonly number[]): string | undefined {
  const list = [1, 2, 3].map((id) => {
    const record = { locality: '', build: '', recordAt: NOW, isStale: stale.includes(id) };
    return { id, status: 'live', ...record };
  });
  const nodes = { byStatus: {}, builds: [], list };
  const sqlLoad = { latencyP99Seconds: 0.012, slowestNodeId: 1 };
  const figures = userFigures({ ...CALM, nodes, sqlLoad });
  const markup = figures === false ? '' : figures.text;
  return /slowest node<\/span><b>[^<]*<\/b><small>(.*?)<\/small>/s.exec(markup)?.[1];
}

test('the latency of the slowest node says of how many live ones it is not known', () => {
  expect(slowestBeside()).toBe('node 1');
  expect(slowestBeside(2)).toBe('node 1; not known of 1 live node');
  expect(slowestBeside(2, 3)).toBe('node 1; not known of 2 live nodes');
});

const OTHER_RANGES = '✕ critical: and 2 ranges outside of tables';

test.each<{ count: string; more: string; damage?: object; scan?: object }>([
  { count: '0', more: '' },
  { count: '0', more: OTHER_RANGES, damage: { otherRanges: 2 } },
  {
    count: 'not known',
    more: '✕ critical: and 1 range whose table is not known',
    damage: { unnamedRanges: 1 },
  },
  {
    count: '0',
    more: '✕ critical: only node 6 reports 200 ranges',
    scan: { disputed: { ranges: 200, nodeIds: [6] } },
  },
  // Nobody knows of which tables the missing ranges are, and what the loss of node 4 has cost.
  { count: 'not known', more: '', scan: { verification: { ...VERIFIED, keySpace: 'gap' } } },
  { count: 'not known', more: '', scan: { downSinceScan: [4] } },
  { count: 'not known', more: '', scan: { withoutProblems: 12 } },
])(
  'the tables without a quorum are $count, with the text "$more", for $damage $scan',
  ({ count, more, damage, scan }) => {
    const withoutQuorum = { ...RANGES.withoutQuorum, ...damage };
    const ranges = { ...RANGES, withoutQuorum, verification: VERIFIED, ...scan };
    const figures = userFigures({ ...CALM, ranges });
    const [, found = '', rest = ''] =
      /Tables without quorum<\/span><b>([^<]*)<\/b><small>(.*?)<\/small>/s.exec(
        figures === false ? '' : figures.text,
      ) ?? [];
    expect([found, textOf(new Html(rest))]).toEqual([count, more]);
  },
);

test('problems that were last known are counted in a sentence, the worst first, without a level', () => {
  const { nodes } = RANGES;
  const seen = { seenAt: NOW, nodes, problems: { unavailable: 2_000, no_live_replica: 1 } };
  const place = { ...PLACE, firstSeenAt: NOW };
  const oldest = ['unavailable', 'no_live_replica'].map((problem, at) => {
    return { ...place, problem, rangeId: 8 + at };
  });
  const drawn = lastKnownRanges({ ...seen, oldest }, NOW_MS);
  expect(textOf(drawn)).toMatch(/^1 no live replica and 2,000 unavailable /);
  expect(all(drawn, /<th scope="row"[^>]*>(r\d)</g)).toEqual(['r9', 'r8']);
  const none = { ...seen, problems: {}, oldest: [] };
  expect(textOf(lastKnownRanges(none, NOW_MS))).toMatch(/^The last scan found no problem\./);
  const disputed = { ranges: 200, nodeIds: [6] };
  expect(textOf(lastKnownRanges({ ...none, disputed }, NOW_MS))).toMatch(
    /^200 unavailable by node 6 alone /,
  );
});

/** The panel without and with problems, up to the line about the nodes. */
function panelsOf(more: object): readonly string[] {
  return [{}, { problems: { underreplicated: 2 } }].map((listed) => {
    const ranges = { ...RANGES, verification: VERIFIED, ...more, ...listed };
    const text = textOf(problemRanges(ranges, [], NOW_MS, { commandFor }));
    return text.replace(/ ?Read from .*/, '');
  });
}

const GAP =
  'Ranges are missing that no node reports: three scans in a row found the same gap in the keys.';
const OPEN =
  'Ranges may be missing that no node reports: the keys of those that were read do not join. The same gap in three scans in a row proves it.';
const UNREAD =
  'The problems of 12 replicas could not be read: the release may be newer than this exporter.';

test.each<{ doubt: string; scan: object }>([
  { doubt: GAP, scan: { verification: { ...VERIFIED, keySpace: 'gap', lost: 0 } } },
  { doubt: GAP, scan: { verification: { ...VERIFIED, keySpace: 'gap', lost: undefined } } },
  { doubt: OPEN, scan: { verification: { ...VERIFIED, keySpace: 'incomplete', lost: undefined } } },
  {
    doubt: 'Some ranges lie over the keys of others: which of them are real is not known.',
    scan: { verification: { ...VERIFIED, keySpace: 'overlap', lost: undefined } },
  },
  {
    doubt: 'This exporter did not read every node that is up.',
    scan: { verification: undefined },
  },
  { doubt: UNREAD, scan: { withoutProblems: 12 } },
  {
    doubt: `${UNREAD} ${GAP}`,
    scan: { withoutProblems: 12, verification: { ...VERIFIED, keySpace: 'gap' } },
  },
])('of a scan that may not list all problems it says "$doubt"', ({ doubt, scan }) => {
  const [none, some] = panelsOf(scan);
  expect(none).toBe(`? No replica that was read reports a problem. ${doubt}`);
  expect(some).toMatch(new RegExp(`^2 underreplicated .* ${doubt}$`));
});

test.each([
  { keySpace: 'complete', lost: 0 },
  // A range was split or merged during the scan.
  { keySpace: 'incomplete', lost: 0 },
])('with the verification $keySpace and $lost lost ranges a scan lists all problems', (proof) => {
  const [none, some] = panelsOf({ verification: { ...VERIFIED, ...proof } });
  expect(none).toBe('The last scan found no problem.');
  expect(some).not.toMatch(/missing|not read/);
});

test('no session of some nodes is not none of the cluster', () => {
  const none = { active: 0, idleInTransaction: 0, idle: 0, applications: [] };
  expect(textOf(sessionTables({ ...none, missingNodes: [] }, []))).toBe('No session is open.');
  expect(textOf(sessionTables({ ...none, missingNodes: [2, 4] }, []))).toBe(
    '! Sessions of nodes 2 and 4 are missing. The other nodes have no session.',
  );
});

test('no session of the own user is not none of the cluster', () => {
  const none = { active: 0, idleInTransaction: 0, idle: 0, applications: [], missingNodes: [] };
  const alert = 'CrdbSessionsHidden' as const;
  const hidden = [{ ...findingOf('own sessions', 'warning'), alert }];
  expect(textOf(sessionTables(none, hidden))).toBe(
    '! Sessions of other users are not seen. No session is listed.',
  );
  expect(textOf(sessionTables({ ...none, missingNodes: [2] }, hidden))).toBe(
    '! Sessions of node 2 are missing.! Sessions of other users are not seen. No session is listed.',
  );
});

const NOT_READ = '? Not known: most of the nodes that were up could not be read.';

test('a scan that could not read most nodes says nothing of tables and load', () => {
  const ranges = { ...RANGES, tables: [], hottest: [], verification: undefined };
  const details = { commandFor, isPartial: true };
  expect(textOf(loadedTables(ranges, details))).toBe(NOT_READ);
  expect(textOf(hotRanges(ranges, details))).toBe(NOT_READ);
  // An option may be 0: then no table and no range is listed.
  expect(textOf(loadedTables(ranges, { commandFor }))).toMatch(/^No table is listed\./);
});

test.each([
  {
    nodes: { scanned: 3, failed: 1, skipped: 1 },
    read: 'Read from 3 of 5 nodes; 1 not known to be up, and not asked.',
  },
  {
    nodes: { scanned: 3, failed: 0, skipped: 0 },
    read: 'Read from 3 of the 3 nodes that this exporter scans.',
  },
])('load that was read in part is at least that: $read', ({ nodes, read }) => {
  const hot = { queriesPerSecond: 9, writesPerSecond: 0, cpuSecondsPerSecond: undefined };
  const hottest = [{ ...PLACE, rangeId: 9, ...hot }];
  const ranges = { ...RANGES, nodes, hottest, verification: undefined };
  expect(textOf(loadedTables(ranges, { commandFor }))).toContain(
    `! ${read} The figures are lower bounds.`,
  );
  expect(textOf(hotRanges(ranges, { commandFor }))).toContain(`! ${read} Others may be hotter.`);
  expect(textOf(problemRanges(ranges, [], NOW_MS, { commandFor }))).toContain(read);
  const live = { scanned: 3, failed: 0, skipped: 1 };
  const whole = { ...ranges, nodes: live, verification: VERIFIED };
  expect(textOf(hotRanges(whole, { commandFor }))).not.toContain('may be hotter');
});

test('all nodes that went down since a scan are named', () => {
  const ranges = { ...RANGES, downSinceScan: [2, 4], verification: VERIFIED };
  expect(textOf(problemRanges(ranges, [], NOW_MS, { commandFor }))).toContain(
    'Read before nodes 2 and 4 went down: the next scan shows the effect.',
  );
});
