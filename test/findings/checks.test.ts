import { expect, test } from 'vitest';
import { nodes } from '../../src/collectors/nodes/collector.ts';
import { sessions } from '../../src/collectors/sessions/collector.ts';
import { loadConfig } from '../../src/config/load.ts';
import {
  type WatchProblem,
  checkUrls,
  createSessionsCheck,
} from '../../src/findings/watch-problems.ts';
import { RequestError } from '../../src/http/errors.ts';
import { node, nodesResult, polledCluster, sessionsResult } from '../web/status/results.ts';

/** Without a user there is no login. */
async function prepare(username?: string) {
  const { config } = await loadConfig({
    flags: {
      'cluster.url': ['http://127.0.0.1:9'],
      ...(username !== undefined && { 'cluster.username': username }),
    },
    env: username === undefined ? {} : { CRDB_EXPORTER_CLUSTER_PASSWORD: 'secret' },
    collectors: [nodes, sessions],
  });
  const [cluster] = config.clusters;
  if (cluster === undefined) throw new Error('no cluster');
  return cluster;
}

/** What the polls found: connections of nodes, sessions of users and nodes whose sessions are missing. */
function found(
  connections: readonly (number | undefined)[],
  users: Readonly<Record<string, number>>,
  missing: readonly number[] = [],
) {
  const applications = Object.keys(users).map((user) => [user, { idle: users[user] ?? 0 }]);
  const result = sessionsResult(Object.fromEntries(applications), missing);
  const list = connections.map((count, at) =>
    node(at, { metrics: new Map(count === undefined ? [] : [['sql.conns', count]]) }),
  );
  const stale = node(99, { isFresh: false, metrics: new Map([['sql.conns', 1_000]]) });
  return polledCluster({
    pollers: [],
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

const BLIND = found([700, undefined, 534], { watcher: 2, other: 0 });

test('a user that sees only its own sessions is reported at the third contradiction in a row', async () => {
  const check = createSessionsCheck(await prepare('Watcher'));
  const contradicting = [BLIND, BLIND, found([1], { watcher: 1, other: 1 }), BLIND, BLIND];
  expect(contradicting.flatMap(check)).toEqual([]);
  const problem = {
    key: 'own sessions',
    alert: 'CrdbSessionsHidden',
    affects: [],
    message:
      'sessions: the user watcher sees only its own sessions, although the nodes count 1,234 connections',
    remedy: 'run GRANT SYSTEM VIEWACTIVITYREDACTED TO Watcher;',
  };
  expect(check(BLIND)).toEqual([problem]);
  // Without data nothing is known.
  expect(check(polledCluster({ pollers: [], isUp: true }))).toEqual([problem]);
  expect(check(found([0], { watcher: 1 }))).toEqual([]);
});

test.each([
  ['nobody is connected', found([0, undefined], { watcher: 1 })],
  ['the sessions of a node are missing', found([9], { watcher: 1 }, [3])],
  ['others have sessions', found([9], { watcher: 1, other: 1, third: 0 })],
  [
    'only nodes are known',
    polledCluster({ pollers: [], isUp: true, results: { nodes: nodesResult() } }),
  ],
])('nothing is reported while %s', async (_what, cluster) => {
  const check = createSessionsCheck(await prepare('Watcher'));
  for (let poll = 0; poll < 5; poll += 1) expect(check(cluster)).toEqual([]);
});

test('without the name of the user an empty list is reported, and no other one', async () => {
  const check = createSessionsCheck(await prepare());
  for (let poll = 0; poll < 5; poll += 1) expect(check(BLIND)).toEqual([]);
  const empty = found([700], {});
  expect([...check(empty), ...check(empty)]).toEqual([]);
  expect(check(empty).map(({ message }) => message)).toEqual([
    'sessions: the list is empty, although the nodes count 700 connections',
  ]);
});

test('a URL that fails is reported while another one works', async () => {
  const cluster = await prepare('Watcher');
  let problems: readonly WatchProblem[] = [];
  const lastFailure = new RequestError('network', 'nodes at b: connect ECONNREFUSED');
  const states = (a: 'closed' | 'open' | 'half_open', b: 'closed' | 'open' | 'half_open') => {
    const upstreams = [
      { name: 'a', state: a, lastFailure: undefined },
      { name: 'b', state: b, lastFailure },
    ];
    problems = checkUrls(nodes, { upstreams: () => upstreams }, cluster, problems);
    return problems.map(({ key, message }) => [key, message]);
  };
  const text = 'one of 2 URLs fails, the others are used: nodes at b: connect ECONNREFUSED';
  expect(states('closed', 'closed')).toEqual([]);
  expect(states('closed', 'half_open')).toEqual([['URL b', text]]);
  expect(states('open', 'open')).toEqual([['URL b', text]]);
  expect(states('closed', 'closed')).toEqual([]);
  // Nothing is known of its failure.
  expect(states('open', 'closed')).toEqual([]);
});
