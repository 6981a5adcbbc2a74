import { expect, test } from 'vitest';
import { node, nodesResult, sessionsResult } from '../results.ts';
import { check, found, levels, metrics, NOW_MS, store } from './found.ts';

// Findings whose condition is more than one value over a limit.

/** The severities of a paused job that keeps old data. */
function paused(job: string) {
  return levels(
    found(
      metrics({ [`jobs.${job}.currently_paused`]: 1, [`jobs.${job}.protected_age_sec`]: 3_601 }),
    ),
  );
}

test('a paused changefeed is critical, another job is not', () => {
  expect(paused('changefeed')).toEqual(['critical']);
  expect(paused('restore')).toEqual(['warning']);
});

test.each([
  [{}, [undefined]],
  [{ 'sql.service.latency-p99': 1e9 }, [undefined]],
  [{ 'sql.service.latency-p99': 1.1e9 }, ['critical']],
  [{ 'requests.slow.distsender': 1 }, ['critical']],
])('a partition with the metrics %j has the severities %j', (more, severities) => {
  const apart = { 'rpc.connection.unhealthy': 2, 'rpc.connection.healthy': 1 };
  const parted = found(metrics({ ...apart, ...more }), [node(2), node(3)]).filter(
    ({ alert }) => alert === 'CrdbPartitionSuspected',
  );
  expect(parted.map(({ level }) => level)).toEqual(severities);
});

test.each([
  [[], /If it is not finalized then, see SHOW CLUSTER SETTING cluster\.auto_upgrade\.enabled/],
  [[node(2, { buildTag: 'v25.2.9' })], /once all nodes run the same build/],
  [
    [node(2, { livenessCode: 1, serverVersion: '25.2' })],
    /Even then the upgrade cannot be finalized while node 2, which last ran an older release, is a dead member: start it/,
  ],
])('an upgrade that a setting holds has what would hold it next: %#', (others, next) => {
  const held = { 'cluster.preserve-downgrade-option.last-updated': NOW_MS / 1000 - 8 * 86_400 };
  const problem = found(metrics(held), others).find(({ key }) => key === 'upgrade');
  expect(problem?.next).toMatch(/When the new version works, RESET/);
  expect(problem?.next).toMatch(next);
});

const IDLE =
  'CrdbIdleTransactions: 31 % of the sessions are idle in a transaction, and 21 requests wait for locks. Most: shop (user of shop) 31.';

test.each([
  [20, 31, []],
  [21, 30, []],
  [21, 31, [IDLE]],
])(
  '%i requests wait for locks, and %i of 100 sessions are idle in a transaction',
  (waiters, idle, texts) => {
    const problems = check({
      nodes: nodesResult(node(1, store({ 'kv.concurrency.lock_wait_queue_waiters': waiters }))),
      sessions: sessionsResult({ shop: { idle_in_transaction: idle, idle: 100 - idle } }),
    });
    expect(problems.map(({ alert, text }) => `${alert}: ${text}`)).toEqual(texts);
  },
);
