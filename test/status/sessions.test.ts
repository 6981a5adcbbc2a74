import { describe, expect, test } from 'vitest';
import { DEFAULT_THRESHOLDS } from '../../src/alerts/thresholds.ts';
import { formatDuration } from '../../src/base/format.ts';
import { describeNodes } from '../../src/status/findings/node-problems.ts';
import {
  missingSessions,
  readSessions,
  sessionProblems,
} from '../../src/status/findings/session-problems.ts';
import type { Problem } from '../../src/status/findings/status.ts';
import { node, nodesResult, sessionsResult } from './results.ts';

const NOW = '2026-03-01T12:00:00.000Z';

/** With applications whose oldest idle transactions have these ages. */
function issuesOf(ages: readonly number[]): readonly Problem[] {
  const tallies = ages.map((age, at) => [`app${at}`, { oldestIdleTransactionSeconds: age }]);
  const sessions = readSessions(sessionsResult(Object.fromEntries(tallies)));
  return sessionProblems(sessions, 'shop', NOW, DEFAULT_THRESHOLDS);
}

function oldTransaction(name: string): string {
  return `Application ${name} of user user of ${name} has kept a transaction open without a query for more than 5 min.`;
}

test('sessions are summed by state, and applications ordered by their oldest transaction', () => {
  const a = { active: 1, idle_in_transaction: 2, idle: 4, explicit: 3, implicit: 2 };
  const b = { active: 8, idle_in_transaction: 16, idle: 32, oldestTransactionSeconds: 70 };
  const { applications, ...total } = readSessions(sessionsResult({ a, b }, [12, 3]));
  expect(total).toEqual({ active: 9, idleInTransaction: 18, idle: 36, missingNodes: [3, 12] });
  expect(applications.map(({ application }) => application)).toEqual(['b', 'a']);
  expect(applications[1]).toEqual({
    application: 'a',
    user: 'user of a',
    active: 1,
    idleInTransaction: 2,
    idle: 4,
    openTransactions: 5,
    oldestTransactionSeconds: 0,
    oldestIdleTransactionSeconds: 0,
  });
});

describe('findings of sessions', () => {
  test('that are missing of a node which was live a moment ago are the first sign that it is down', () => {
    const status = readSessions(sessionsResult({}, [2]));
    const nextOf = (livenessCode: number) => {
      const { list } = describeNodes(nodesResult(node(1), node(2, { livenessCode })));
      return missingSessions(status, list).map(({ next }) => next);
    };
    expect(nextOf(3)).toEqual([
      'Node 2 may have just gone down: stop no other node in the first minute. If a later list of nodes still has it as live, it is up and does not respond: check for overload there.',
    ]);
    expect(nextOf(2)).toEqual(['Expected while a node is down.']);
    expect(missingSessions(readSessions(sessionsResult({})))).toEqual([]);
  });

  test('name the application with the oldest idle transaction of more than five minutes', () => {
    expect(issuesOf([300])).toEqual([]);
    expect(issuesOf([300, 301, 0]).map((one) => [one.text, one.since])).toEqual([
      // Since it is too old, not since it began.
      [oldTransaction('app1'), '2026-03-01T11:59:59.000Z'],
    ]);
    expect(issuesOf([400, 500, 301]).map((one) => one.text)).toEqual([
      `${oldTransaction('app1')} 2 more have an old one.`,
    ]);
  });

  test.each([
    ['shop', 'transaction_age'],
    ['pg_dump', 'batch_transaction_age'],
  ] as const)('name a transaction of %s that runs a query after its %s', (name, threshold) => {
    const limit = DEFAULT_THRESHOLDS[threshold];
    const textAt = (oldestTransactionSeconds: number) => {
      const sessions = readSessions(sessionsResult({ [name]: { oldestTransactionSeconds } }));
      return sessionProblems(sessions, 'shop', NOW, DEFAULT_THRESHOLDS)[0]?.text;
    };
    expect(textAt(limit)).toBeUndefined();
    expect(textAt(limit + 1)).toBe(
      `Application ${name} of user user of ${name} has kept a transaction open for more than ${formatDuration(limit)}.`,
    );
  });
});
