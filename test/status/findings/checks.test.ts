import { expect, test } from 'vitest';
import { createLog } from '../../../src/base/log.ts';
import { COLLECTORS } from '../../../src/collectors/all-collectors.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { Observation } from '../../../src/exporter/observation.ts';
import { CLUSTER_CHECKS } from '../../../src/status/findings/check-cluster.ts';
import { PARTITION } from '../../../src/status/findings/check-network.ts';
import { RANGE_CHECKS } from '../../../src/status/findings/check-ranges.ts';
import { FIGURES } from '../../../src/status/findings/figures.ts';
import { ClusterHistory } from '../../../src/status/findings/history.ts';
import { createStatus } from '../../../src/status/status-routes.ts';
import { PLAIN_FORM } from '../command-form.ts';
import { DEFAULT_FINDING_SETTINGS } from '../finding-settings.ts';
import {
  clusterConfig,
  node,
  nodesResult,
  polledCluster,
  pollersOf,
  sessionsResult,
} from '../results.ts';

const POLLERS = await pollersOf({ nodes: 'ok', sessions: 'ok' });

/** What the polls found: connections of nodes, sessions of users and nodes whose sessions are missing. */
function found(
  connections: readonly (number | undefined)[],
  users: Readonly<Record<string, number>>,
  missing: readonly number[] = [],
): Observation {
  const applications = Object.keys(users).map((user) => [user, { idle: users[user] ?? 0 }]);
  const result = sessionsResult(Object.fromEntries(applications), missing);
  const list = connections.map((count, at) =>
    node(at, { metrics: new Map(count === undefined ? [] : [['sql.conns', count]]) }),
  );
  const stale = node(99, { isFresh: false, metrics: new Map([['sql.conns', 1_000]]) });
  return polledCluster({
    pollers: POLLERS,
    isUp: true,
    results: {
      nodes: nodesResult(...list, stale),
      sessions: {
        ...result,
        applications: result.applications.map((one) => ({ ...one, user: one.application })),
      },
    },
  });
}

/** The connections of the last node are not counted: its sessions are missing. */
const BLIND = found([700, undefined, 534, 9], { watcher: 2, other: 0 }, [3]);

/** Records polls of sessions of this user, or without a login, and reads what is wrong with the list after each. */
async function prepare(username?: string) {
  const config = await clusterConfig(username);
  const history = new ClusterHistory(
    () => DEFAULT_FINDING_SETTINGS,
    () => 0,
  );
  return (cluster: Observation): readonly string[] => {
    history.record({ ...cluster, config }, 'sessions', 1);
    const problems = history.problems.filter(({ key }) => key === 'own sessions');
    return problems.map(({ alert, text, next }) => `${alert}: ${text} ${next}`);
  };
}

test('a user that sees only its own sessions is reported at the third contradiction in a row', async () => {
  const check = await prepare('Watcher');
  const contradicting = [BLIND, BLIND, found([1], { watcher: 1, other: 1 }), BLIND, BLIND];
  expect(contradicting.flatMap(check)).toEqual([]);
  const problem =
    'CrdbSessionsHidden: The user watcher sees only its own sessions, although the nodes count 1,234 connections. Run GRANT SYSTEM VIEWACTIVITYREDACTED TO Watcher;';
  expect(check(BLIND)).toEqual([problem]);
  // Without data nothing is known.
  expect(check(polledCluster({ pollers: POLLERS, isUp: true }))).toEqual([problem]);
  expect(check(found([0], { watcher: 1 }))).toEqual([]);
});

test.each(['nodes', 'sessions'])(
  'hidden sessions are no problem any more when the collector %s is disabled',
  async (disabled) => {
    const check = await prepare('Watcher');
    expect([BLIND, BLIND, BLIND].flatMap(check)).toHaveLength(1);
    const pollers = POLLERS.filter(({ collector }) => collector.name !== disabled);
    expect(check(polledCluster({ pollers, isUp: true }))).toEqual([]);
  },
);

test('hidden sessions of one cluster are logged once, and once when others are seen', async () => {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const { config } = await loadConfig({
    flags: { 'cluster.url': ['http://127.0.0.1:9'] },
    env: {},
    collectors: COLLECTORS,
  });
  const status = createStatus(
    {
      version: '0.0.0',
      clusters: () => [],
      config: () => config,
      reloads: () => 0,
      problems: () => [],
      startedMs: 0,
      wallMs: () => 0,
      monotonicMs: () => 0,
    },
    createLog({ level: 'info', format: 'json', destination }),
    PLAIN_FORM,
  );
  const seen = found([9], { watcher: 1, other: 1 });
  const hidden = found([450], { monitoring: 2 });
  const other = { ...hidden, identity: Symbol('another cluster at the same addresses') };
  for (const cluster of [seen, hidden, hidden, hidden, hidden, seen, seen, hidden, hidden, other]) {
    status.polled(cluster, 'sessions');
  }
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', cluster: 'shop', msg: expect.stringContaining('has only the 2 of the user') },
    { level: 'info', cluster: 'shop', msg: expect.stringMatching(/^recovered after .* has only /) },
  ]);
});

test.each([
  ['nobody is connected', found([0, undefined], { watcher: 1 })],
  ['the sessions of the node with connections are missing', found([0, 9], { watcher: 1 }, [1])],
  ['others have sessions', found([9], { watcher: 1, other: 1, third: 0 })],
  [
    'only nodes are known',
    polledCluster({ pollers: POLLERS, isUp: true, results: { nodes: nodesResult() } }),
  ],
])('nothing is reported while %s', async (_what, cluster) => {
  const check = await prepare('Watcher');
  for (let poll = 0; poll < 5; poll += 1) expect(check(cluster)).toEqual([]);
});

test.each([
  ['a fifth of the connections, of one user', found([10], { monitoring: 2 })],
  ['few, of two users', found([450], { monitoring: 1, root: 1 })],
])('without the name of the user nothing is reported while it sees %s', async (_what, cluster) => {
  const check = await prepare();
  for (let poll = 0; poll < 5; poll += 1) expect(check(cluster)).toEqual([]);
});

test('without the name of the user an empty list is reported, and few sessions of one user', async () => {
  const check = await prepare();
  const own = found([150, 150, 150], { monitoring: 2 });
  expect([...check(own), ...check(own)]).toEqual([]);
  expect(check(own)).toEqual([
    expect.stringContaining(
      ': The list of sessions has only the 2 of the user monitoring, although the nodes count 450 connections. ',
    ),
  ]);
  expect(check(found([0], {}))).toEqual([]);
  const empty = found([700], {});
  expect([...check(empty), ...check(empty)]).toEqual([]);
  expect(check(empty)).toEqual([
    expect.stringContaining(
      ': The list of sessions is empty, although the nodes count 700 connections. ',
    ),
  ]);
});

test('each figure and check has a key of its own, by which its problem is known for as long as it lasts', () => {
  const checks = [...CLUSTER_CHECKS, PARTITION, ...RANGE_CHECKS];
  const all = [...Object.values(FIGURES).flat(), ...checks];
  const keys = all.map(({ key, alert }) => key ?? alert);
  expect(keys).not.toContain('');
  expect(keys.filter((key, at) => keys.indexOf(key) !== at)).toEqual([]);
});
