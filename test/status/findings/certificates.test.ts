import { expect, test } from 'vitest';
import { followCertificates } from '../../../src/status/findings/certificate-lives.ts';
import { CERTIFICATES } from '../../../src/status/findings/certificates.ts';
import { runChecks } from '../../../src/status/findings/check.ts';
import { toFindings } from '../../../src/status/findings/problem.ts';
import { node, nodesResult, observeAt, polledCluster } from '../results.ts';

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
const HOUR = 3_600;
const DAY = 24 * HOUR;

/** Nodes, the first of which has certificates with this many seconds left. */
function nodesWith(certificates: Readonly<Record<string, number>>, nowMs = NOW_MS) {
  const metrics = Object.entries(certificates).map(
    ([name, left]) => [`security.certificate.expiration.${name}`, nowMs / 1000 + left] as const,
  );
  return nodesResult(node(1, { metrics: new Map(metrics) }), node(2));
}

/** The finding of certificates that were renewed before with this life, where one is given. */
function found(certificates: Readonly<Record<string, number>>, life?: number) {
  const nodes = nodesWith(certificates);
  const cluster = polledCluster({ pollers: [], isUp: true, results: { nodes } });
  const renewed = Object.keys(certificates).map((name) => [name, { expiry: 0, life }] as const);
  const evidence = observeAt(NOW_MS, cluster, { certificates: new Map(renewed) });
  const problems = runChecks(CERTIFICATES, evidence);
  return toFindings(problems, () => NOW_MS).map(({ level, text }) => `${level}: ${text}`);
}

test('a certificate that may live a day, and be renewed in time, is no more than a warning', () => {
  const text = 'Certificates expire: node in 5 d (node 1).';
  expect(found({ node: 5 * DAY })).toEqual([`warning: ${text}`]);
  expect(found({ ca: 25 * DAY })).toEqual(['warning: Certificates expire: ca in 25 d (node 1).']);
  expect(found({ node: DAY - 1 })[0]).toMatch(/^warning/);
  expect(found({ node: DAY })[0]).toMatch(/^critical/);
});

test('an end within 21 days is information, before the charts of the vendor renew', () => {
  expect(found({ node: 6 * DAY, ui: 21 * DAY - 1, ca: 26 * DAY })).toEqual([
    'info: Certificates expire: node in 6 d and ui in 20 d 23 h (node 1).'.replace(
      '6 d and',
      '6 d (node 1) and',
    ),
  ]);
  expect(found({ node: 21 * DAY, ca: 26 * DAY })).toEqual([]);
  expect(found({ node: 10 * DAY, ui: 2 * DAY, ca: 27 * DAY }, 28 * DAY)).toEqual([]);
});

test('it is critical for the last days, and soon for the last hours', () => {
  expect(found({ node: 1.5 * DAY })).toEqual([
    'warning: Certificates expire: node in 1 d 12 h (node 1).',
  ]);
  expect(found({ node: 1.5 * DAY - 1, ui: 4 * DAY })).toEqual([
    'critical: Certificates expire: node in 1 d 11 h (node 1) and ui in 4 d (node 1).',
  ]);
  expect(found({ ca: 21 * DAY - 1 })[0]).toMatch(/^critical/);
  expect(found({ node: 6 * HOUR })).toEqual([
    'critical: Certificates expire: node in 6 h (node 1).',
  ]);
  expect(found({ node: -HOUR })).toEqual([
    'critical: Certificates expire: node has expired (node 1).',
  ]);
});

test('one that was renewed, and lives shortly, expires soon by hours or by a share of its life', () => {
  expect(found({ node: 6 * HOUR }, DAY)).toEqual([]);
  expect(found({ node: 5.9 * HOUR }, DAY)).toHaveLength(1);
  expect(found({ node: 2 * HOUR }, DAY)[0]).toMatch(/^critical/);
  expect(found({ ui: 36 * HOUR }, 28 * DAY)).toEqual([]);
  expect(found({ ui: 36 * HOUR - 1 }, 28 * DAY)[0]).toMatch(/^warning/);
  expect(found({ ui: 12 * HOUR }, 28 * DAY)[0]).toMatch(/^warning/);
  expect(found({ ui: 12 * HOUR - 1 }, 28 * DAY)[0]).toMatch(/^critical/);
  expect(found({ node: 5 * DAY }, 31 * DAY)[0]).toMatch(/^warning/);
});

test('a year of renewals as the charts make them is no finding above information, a missed one is', () => {
  const lifeOf = { node: 365 * DAY, ui: 28 * DAY, ca: 1825 * DAY };
  const renewsBefore = { node: 7 * DAY, ui: 2 * DAY, ca: 27 * DAY };
  const names = ['node', 'ui', 'ca'] as const;
  const ends = { node: 100 * DAY, ui: 28 * DAY, ca: 60 * DAY };
  let lives = new Map() as ReturnType<typeof followCertificates>;
  const levelsFound = new Set<string>();
  const play = (hour: number): readonly string[] => {
    const nowMs = NOW_MS + hour * HOUR * 1000;
    const left = Object.fromEntries(names.map((name) => [name, ends[name] - hour * HOUR]));
    const nodes = nodesWith(left, nowMs);
    lives = followCertificates(lives, nodes.nodes, nowMs);
    const cluster = polledCluster({ pollers: [], isUp: true, results: { nodes } });
    const problems = runChecks(CERTIFICATES, observeAt(nowMs, cluster, { certificates: lives }));
    return toFindings(problems, () => 0).map(({ level }) => level);
  };
  const year = 366 * 24;
  for (let hour = 0; hour < year; hour += 6) {
    for (const name of names) {
      if (ends[name] - hour * HOUR <= renewsBefore[name]) ends[name] = hour * HOUR + lifeOf[name];
    }
    // The first certificate of 28 days looks like one of a year.
    for (const level of play(hour))
      if (hour > 27 * 24 || level === 'critical') levelsFound.add(level);
  }
  expect([...levelsFound]).toEqual(['info']);
  const end = ends.ui / HOUR;
  expect(play(end - 37)).not.toContain('warning');
  expect(play(end - 35)).toContain('warning');
  expect(play(end - 11)).toContain('critical');
});

test('a later expiry is a renewal, the longest one shows the life', () => {
  const follow = (...lefts: readonly number[]) =>
    lefts
      .reduce(
        (lives, left, day) => {
          const nowMs = NOW_MS + day * DAY * 1000;
          return followCertificates(lives, nodesWith({ node: left }, nowMs).nodes, nowMs);
        },
        followCertificates(new Map(), [], NOW_MS),
      )
      .get('node')?.life;
  expect(follow(3 * DAY, 2 * DAY)).toBeUndefined();
  expect(follow(3 * DAY, 2 * DAY, 7 * DAY, 6 * DAY, 6.5 * DAY)).toBe(7 * DAY);
});

test('the lives of certificates that no node has any more are forgotten', () => {
  let lives = new Map() as ReturnType<typeof followCertificates>;
  for (let day = 0; day < 365; day += 1) {
    const { nodes } = nodesWith({ node: DAY, [`ca-${day}`]: DAY }, NOW_MS + day * DAY * 1000);
    lives = followCertificates(lives, nodes, NOW_MS + day * DAY * 1000);
  }
  expect([...lives.keys()]).toEqual(['node', 'ca-364']);
  expect(lives.get('node')?.life).toBe(DAY);
  const [first, ...others] = nodesWith({ node: DAY }).nodes;
  if (first === undefined) throw new Error('no node');
  const stale = { ...first, isFresh: false };
  expect(followCertificates(lives, [stale], NOW_MS).get('node')?.life).toBe(DAY);
  expect(followCertificates(lives, [stale, ...others], NOW_MS).get('node')).toBeUndefined();
});
