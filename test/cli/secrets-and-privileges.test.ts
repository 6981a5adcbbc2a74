import { expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { clusterYaml } from '../support/exporter.ts';
import { configFlag, runHere, writeTemporary } from './run.ts';

/** A cluster whose secrets exist only on another machine. */
const OTHER = `  - name: other
    cluster_api:
      urls: ["https://other:8080"]
      username: exporter
      password_file: /nowhere/password
      tls: { ca_file: /nowhere/ca.crt }
    cloud_api: { cluster_id: "35c4", token_env: NOWHERE_TOKEN }
`;

test('a command needs the secrets of its own cluster only', async () => {
  await using simulator = await startSimulator({ nodes: 3, ranges: 20, metricKeys: 'useful' });
  const file = await writeTemporary('two.yml', `clusters:\n${clusterYaml(simulator)}${OTHER}`);
  const flag = `--config.file=${file}`;
  const own = await runHere(['nodes', flag, '--cluster', 'sim']);
  expect({ code: own.code, err: own.err }).toEqual({ code: 0, err: '' });
  const other = await runHere(['nodes', flag, '--cluster', 'other']);
  expect(other.code).toBe(2);
  expect(other.err).toContain('/nowhere/password');
  const mistyped = await runHere(['nodes', flag, '--cluster', 'siim']);
  expect(mistyped).toMatchObject({ code: 2, err: expect.stringContaining('did you mean sim?') });
});

test.each([
  [
    'watcher',
    'watcher-demo',
    /the list has only sessions of the user watcher: to see those of others, run GRANT/,
  ],
  ['monitor', 'monitor-demo', /^$/],
])('a list of sessions says whether it is only that of %s', async (user, password, expected) => {
  await using simulator = await startSimulator({
    nodes: 3,
    ranges: 20,
    sessions: 30,
    metricKeys: 'useful',
    users: [
      { name: 'watcher', password: 'watcher-demo', privileges: ['VIEWCLUSTERMETADATA'] },
      {
        name: 'monitor',
        password: 'monitor-demo',
        privileges: ['VIEWCLUSTERMETADATA', 'VIEWACTIVITYREDACTED'],
      },
    ],
  });
  const clusterApi = `username: ${user}, password: ${password}`;
  const flag = await configFlag(simulator, { clusterApi });
  const { code, err } = await runHere(['sessions', flag]);
  expect({ code, err: err.replaceAll(/^hidden columns.*\n/gm, '') }).toEqual({
    code: 0,
    err: expect.stringMatching(expected),
  });
});
