import { describe, expect, test } from 'vitest';
import type { Simulator } from '../../../simulator/index.ts';
import { describeRemoval } from '../../../src/status/findings/dead-nodes.ts';
import type { Scene } from '../../browser/scenes.ts';
import { hasProgram } from '../../support/programs.ts';
import { readCluster, readStatus } from '../read-status.ts';
import {
  changing,
  checkRule,
  LOOKS,
  open,
  openAged,
  openChanged,
  openLate,
  openWithLostRange,
} from './worlds.ts';

const RULE = 'crdb_cluster:crdb_may_decommission:bool';

/** The ranges are on nodes 1 to 3, and the last of five nodes dies. */
function killLast({ world }: Simulator): void {
  world.killNode(5);
}

function killTwo({ world }: Simulator): void {
  world.killNode(2);
  world.killNode(3);
}

interface World {
  readonly title: string;
  readonly open: () => Promise<Scene>;
  readonly next: string;
}

const KEEP = 'Start it again; do not decommission it:';

const FORBIDDEN: readonly World[] = [
  {
    title: 'ranges still have a replica on the dead node',
    open: () => openChanged(5, killLast, { placed: [1, 2, 5] }),
    next: `${KEEP} 60 ranges still have a replica there. The cluster began to replace them when the node was declared dead: enough nodes are live.`,
  },
  {
    title: 'ranges are without a quorum',
    open: () => openChanged(5, killTwo, { placed: [1, 2, 3] }),
    next: 'Start them again; do not decommission them: ranges are without a quorum, and 60 ranges still have a replica on node 2.',
  },
  {
    title: 'a range has no live replica',
    open: openWithLostRange,
    next: `${KEEP} 1 range has no live replica, and 1 range still has a replica there.`,
  },
  {
    title: 'the scan began before the death',
    open: () => openChanged(5, killLast, changing('ranges', { interval: 600 })),
    next: `${KEEP} node 5 went down after the last range scan; the next one tells more.`,
  },
  {
    title: 'no ranges are read',
    open: () => openChanged(5, killLast, changing('ranges', { enabled: false })),
    next: `${KEEP} there is no current range scan.`,
  },
  {
    title: 'a part of the ranges cannot be read',
    open: () =>
      openChanged(
        5,
        (simulator) => {
          killLast(simulator);
          simulator.fault({ endpoint: 'node_ranges', node: 3, kind: 'status', status: 500 });
        },
        { placed: [1, 2, 4] },
      ),
    next: `${KEEP} the ranges of node 3 could not be read.`,
  },
  {
    title: 'a region died before the exporter started, and the ranges that are left are verified',
    open: () => openLate(5, killLast, { placed: [1, 2, 3], alone: { 12: [5] } }),
    next: `${KEEP} ranges are missing that no node reports.`,
  },
  {
    title: 'the exporter is one of several shards',
    open: () =>
      openChanged(5, killLast, {
        adapt: (config) => ({ ...config, shard: { ...config.shard, count: 2 } }),
        placed: [1, 2, 3],
      }),
    next: `${KEEP} no exporter alone reads the ranges of all nodes.`,
  },
];

const REMOVE =
  'Start it again. If it will not come back: `cockroach node decommission 5` only removes it from the list.';

const ALLOWED: readonly World[] = [
  {
    title: 'all ranges are complete without it',
    open: () => openChanged(5, killLast, { placed: [1, 2, 3] }),
    next: REMOVE,
  },
  {
    title: 'it died before the exporter started, and no range needs it',
    open: () => openLate(5, killLast, { placed: [1, 2, 3] }),
    next: REMOVE,
  },
];

describe.skipIf(!hasProgram('promtool'))('page and rule agree whether a dead node may go', () => {
  const worlds = [
    ...FORBIDDEN.map((world) => ({ ...world, answer: 'no' })),
    ...ALLOWED.map((world) => ({ ...world, answer: 'yes' })),
  ];

  test.each(worlds)('$answer: $title', { timeout: 600_000 }, async ({ next, answer, ...world }) => {
    await using scene = await world.open();
    const advice = async () =>
      (await readCluster(scene)).findings.find(({ key }) => key.startsWith('nodes dead'))?.next;
    await expect.poll(advice, LOOKS).toBe(next);
    const { at } = await readStatus(scene);
    const expected = answer === 'yes' ? [{ labels: `${RULE}{crdb_cluster="demo"}`, value: 1 }] : [];
    expect(await checkRule(scene, RULE, Date.parse(at), expected)).toContain('SUCCESS');
  });

  test('no: the scan is too old', async () => {
    await using scene = await openAged(1_260);
    const { at } = await readStatus(scene);
    expect(await checkRule(scene, RULE, Date.parse(at), [])).toContain('SUCCESS');
  });
});

test('a node that has just crashed is named before its liveness expires', async () => {
  await using scene = await openChanged(5, ({ world }) => world.crashNode(5));
  const found = async () => {
    const { nodes, findings } = await readCluster(scene);
    const silent = findings.find(({ key }) => key === 'partition');
    return [nodes?.byStatus['live'], silent?.text, silent?.nodeIds];
  };
  await expect.poll(found, LOOKS).toEqual([5, 'Node 5 does not answer its peers.', [5]]);
});

test('a node that has been away for seconds is not advised to be removed', async () => {
  await using scene = await openChanged(5, ({ world }) => world.killNode(5, 'unavailable'));
  const next = async () =>
    (await readCluster(scene)).findings.find(({ key }) => key === 'nodes unavailable')?.next;
  await expect.poll(next, LOOKS).toContain('Check that the process and the machine are up.');
  expect(JSON.stringify(await readStatus(scene))).not.toContain('decommission`');
});

test('nothing is said of removal while all nodes are live', async () => {
  await using scene = await open(3);
  expect(JSON.stringify((await readCluster(scene)).findings)).not.toContain('decommission');
});

describe('a member that has been dead for more than a week', () => {
  const clusters = { demo: { nodes: 3, ranges: 60, faultyNodes: false, frozen: true, relics: 2 } };

  test('is information while no range needs it: the cluster is healthy', async () => {
    await using scene = await open(3, { clusters });
    const read = async () => {
      const { state, safeToStop, nodes, findings } = await readCluster(scene);
      const about = findings.filter(({ key }) => /node|build/.test(key));
      return {
        state,
        stop: safeToStop.nodes,
        builds: nodes?.builds.length,
        retired: nodes?.list.filter(({ isRetired }) => isRetired).map(({ id }) => id),
        about: about.map(({ key, level, next }) => [key, level, next]),
      };
    };
    await expect.poll(read, LOOKS).toEqual({
      state: 'healthy',
      stop: [1, 2, 3],
      builds: 1,
      retired: [4, 5],
      about: [
        [
          'retired nodes',
          'info',
          '`cockroach node decommission 4 5` only removes them from the list.',
        ],
      ],
    });
    const { text } = await scene.exporter.get('/');
    const page = text.replaceAll(/\s+/g, ' ');
    expect(page).toContain('dead, gone for good');
    expect(page).toContain(
      'The upgrade cannot be finalized while node 5, which last ran an older release, is a dead member.',
    );
  });

  test('holds no upgrade where it ran this release', async () => {
    await using scene = await open(3, { clusters: { demo: { ...clusters.demo, relics: 1 } } });
    const read = async () =>
      (await readCluster(scene)).findings.find(({ key }) => key === 'retired nodes')?.text;
    await expect
      .poll(read, LOOKS)
      .toBe('Node 4 has been dead for more than a week, and no range needs it.');
  });

  test('is a problem while it is not known whether a range needs it', async () => {
    await using scene = await open(3, { clusters, ...changing('ranges', { enabled: false }) });
    const levels = async () =>
      (await readCluster(scene)).findings.flatMap(({ alert = '', level }) =>
        alert.includes('Node') ? [[alert, level]] : [],
      );
    await expect.poll(levels, LOOKS).toContainEqual(['CrdbNodeDead', 'warning']);
  });
});

test('an old record without a liveness is information, and counts as no build', async () => {
  await using scene = await open(3);
  const [simulator] = scene.simulators.values();
  const seconds = Math.floor(Date.now() / 1000);
  const nodes = [3, 3, 3, 0].map((liveness_status, at) => ({
    node_id: at + 1,
    liveness_status,
    build_tag: at < 3 ? 'v25.4.3' : 'v20.1.0',
    updated_at: (at < 3 ? seconds : seconds - 5_000) * 1e9,
  }));
  const body = JSON.stringify({ nodes });
  simulator?.fault({ endpoint: 'nodes', kind: 'status', status: 200, body });
  const read = async () => {
    const { findings, nodes: list } = await readCluster(scene);
    const found = findings.find(({ key }) => key === 'records without liveness');
    return { text: found?.text, level: found?.level, builds: list?.builds };
  };
  await expect.poll(read, LOOKS).toEqual({
    text: 'Node 4 has an old record and no liveness.',
    level: 'info',
    builds: ['v25.4.3'],
  });
});

test('the command that removes nodes names up to twenty', () => {
  const ids = Array.from({ length: 21 }, (_, at) => at + 1);
  expect(describeRemoval(ids.slice(0, 20))).toContain(
    `decommission ${ids.slice(0, 20).join(' ')}\``,
  );
  expect(describeRemoval(ids)).toBe(
    '`cockroach node decommission` only removes them from the list.',
  );
  expect(describeRemoval([7])).toBe(
    '`cockroach node decommission 7` only removes it from the list.',
  );
});
