import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Config } from '../../../src/config/keys-and-flags.ts';
import { rangeProblems } from '../../../src/status/findings/range-problems.ts';
import { openScene, SCENES } from '../../browser/scenes.ts';
import { readCluster, readStatus } from '../read-status.ts';
import { RANGES } from '../results.ts';
import { openWithLostRange } from './worlds.ts';

const DASHBOARDS = path.join(import.meta.dirname, '../../../dashboards');

test('commands name the cluster where several are configured', async () => {
  await using scene = await openScene(SCENES['two clusters']);
  const commandsOf = async () =>
    (await readStatus(scene)).clusters.flatMap(({ name, findings }) =>
      findings.flatMap(({ next }) =>
        [...next.matchAll(/`(crdb-exporter [^`]+)`/g)].map(([, words = '']) => [name, words]),
      ),
    );
  await expect.poll(async () => (await commandsOf()).length).toBeGreaterThan(0);
  for (const [name = '', words] of await commandsOf()) expect(words).toContain(`--cluster ${name}`);
});

test('the first ranges of a cluster are named, not those of tables', () => {
  const range = { problem: 'unavailable', nodeId: 1, storeId: 1, index: '', firstSeenAt: '' };
  const oldest = [
    { ...range, rangeId: 2, table: '' },
    { ...range, rangeId: 3, table: 'movr.public.users' },
    { ...range, rangeId: 9, table: '' },
  ];
  const [problem] = rangeProblems({ ...RANGES, problems: { unavailable: 3 }, oldest });
  expect(problem?.text).toContain(
    'r2 (system: node liveness) on node 1, r3 of movr.public.users on node 1 and r9 on node 1.',
  );
});

test('a lost range is named with its id and with all nodes that held it', async () => {
  await using scene = await openWithLostRange();
  const read = async () => {
    const { findings, ranges } = await readCluster(scene);
    const lost = findings.find(({ alert }) => alert === 'CrdbRangesLost');
    return {
      next: lost?.next,
      text: lost?.text,
      nodes: ranges?.oldest.find(({ problem }) => problem === 'no_live_replica')?.lastNodes,
    };
  };
  await expect.poll(read).toEqual({
    next: 'Start the nodes that held them: a range serves again when most of its voters are live. Do not decommission them and do not wipe their disks.',
    text: '1 range without a live replica: all nodes that held them are down. r12 of movr.public.users was on node 4.',
    nodes: [4],
  });
});

function addLinks(config: Config): Config {
  const links = {
    runbook_url: 'https://wiki.example/crdb',
    dashboard_url: 'https://grafana.example',
  };
  const console_url = 'https://db.example:8080/';
  return { ...config, links, clusters: config.clusters.map((one) => ({ ...one, console_url })) };
}

describe('links of findings', () => {
  const clusters = { demo: { faultyNodes: true, frozen: true } };

  test('are those of the runbook, the dashboard and the reports on ranges that are configured', async () => {
    await using scene = await openScene({ clusters, intervalSeconds: 600, adapt: addLinks });
    const { findings } = await readCluster(scene);
    const unavailable = findings.find(({ key }) => key === 'ranges unavailable');
    expect(unavailable).toMatchObject({
      runbookUrl: 'https://wiki.example/crdb/CrdbRangesUnavailable.md',
      dashboardUrl: 'https://grafana.example/d/crdb-ranges?var-cluster=demo',
      rangeReports: [{ rangeId: 7, url: 'https://db.example:8080/#/reports/range/7' }],
    });
    const boards = readdirSync(DASHBOARDS);
    for (const { dashboardUrl = '' } of findings) {
      expect(boards).toContain(`${/\/d\/([\w-]+)\?/.exec(dashboardUrl)?.[1]}.json`);
    }
    const { text } = await scene.exporter.get('/');
    expect(text).toContain('<a href="https://wiki.example/crdb/CrdbRangesUnavailable.md">Runbook');
    expect(text).toContain('<a href="https://db.example:8080/#/reports/range/7">r7</a>');
  });

  test('are absent without the settings, but for the runbooks that the exporter serves', async () => {
    await using scene = await openScene({ clusters, intervalSeconds: 600 });
    const { findings } = await readCluster(scene);
    for (const finding of findings) {
      expect(finding.runbookUrl).toBe(finding.alert && `../runbooks/${finding.alert}`);
      expect(finding).not.toHaveProperty('dashboardUrl');
      expect(finding).not.toHaveProperty('rangeReports');
    }
    const { text } = await scene.exporter.get('/');
    expect(text).toContain('<small class="alert">CrdbRangesUnavailable fires after 5 min</small>');
    expect(text).toContain('<a href="runbooks/CrdbRangesUnavailable">Runbook</a>');
    expect(text).not.toMatch(/<a href="https?:/);
  });
});
