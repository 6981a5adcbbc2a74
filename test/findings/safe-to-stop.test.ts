import { describe, expect, test } from 'vitest';
import type { Simulator } from '../../simulator/index.ts';
import type { Status } from '../../src/findings/status.ts';
import { formatList } from '../../src/format.ts';
import type { Scene } from '../browser/scenes.ts';
import { hasProgram } from '../support/programs.ts';
import { readCluster, readStatus } from '../web/status/read-status.ts';
import {
  changing,
  checkRule,
  open,
  openAged,
  openChanged,
  openLate,
  openWithLostRange,
} from './worlds.ts';

const RULE = 'crdb_cluster_node_id:crdb_safe_to_stop:bool';

type SafeToStop = Status['clusters'][number]['safeToStop'];

/** What promtool finds when it decides as the page did. */
function checkDecisions(
  scene: Scene,
  nowMs: number,
  decisions: SafeToStop['decisions'],
): Promise<string> {
  const known = decisions.filter(({ answer }) => answer !== 'unknown');
  const expected = known.map(({ nodeId, answer }) => ({
    labels: `${RULE}{crdb_cluster="demo",node_id="${nodeId}"}`,
    value: answer === 'yes' ? 1 : 0,
  }));
  return checkRule(scene, RULE, nowMs, expected);
}

/** The panel of the page. */
async function readPanel({ exporter }: Scene): Promise<string> {
  const { text } = await exporter.get('/');
  const [panel = ''] = /id="safe-to-stop".*?<\/section>/s.exec(text) ?? [];
  return panel.replaceAll(/\s+/g, ' ');
}

interface World {
  readonly title: string;
  readonly open: () => Promise<Scene>;
}

/** Worlds in which one of some nodes may stop. */
const SAFE: readonly (World & { readonly nodes: readonly number[] })[] = [
  { title: 'all nodes are live', open: () => open(3), nodes: [1, 2, 3] },
  {
    title: 'another node is dead, on whose ranges these do not depend',
    open: () => openChanged(5, ({ world }) => world.killNode(5), { placed: [1, 2, 5] }),
    nodes: [3, 4],
  },
  {
    title: 'the node itself is draining',
    open: () => openChanged(5, ({ world }) => world.drainNode(4)),
    nodes: [4],
  },
  { title: 'the scan is nearly too old', open: () => openAged(1_220), nodes: [1, 2, 3] },
];

function loseQuorum({ world }: Simulator): void {
  world.killNode(3);
  world.killNode(2, 'unavailable');
}

/** Worlds in which no node may stop. */
const UNSAFE: readonly (World & { readonly reason: string })[] = [
  {
    title: 'all ranges have lost their quorum, and one node is left',
    open: () => openChanged(3, loseQuorum),
    reason: 'ranges are without a quorum',
  },
  {
    title: 'they had lost it when the exporter started',
    open: () => openLate(3, loseQuorum),
    reason: 'ranges are without a quorum',
  },
  {
    title: 'the cluster has one node',
    open: () =>
      open(1, { clusters: { demo: { nodes: 1, ranges: 60, replication: 1, faultyNodes: false } } }),
    reason: 'each live node holds ranges that depend on it',
  },
  {
    title: 'a range has no live replica',
    open: openWithLostRange,
    reason: '1 range without a live replica',
  },
  {
    title: 'two nodes are draining',
    open: () =>
      openChanged(5, ({ world }) => {
        world.drainNode(4);
        world.drainNode(5);
      }),
    reason: 'nodes 4 and 5 are draining',
  },
];

/** Worlds in which nobody can tell. */
const UNKNOWN: readonly (World & { readonly reason: string })[] = [
  {
    title: 'a node was down before the exporter started',
    open: () => openLate(5, ({ world }) => world.killNode(5), { placed: [1, 2, 3] }),
    reason: 'ranges may be lost that no node reports',
  },
  {
    title: 'the voters of under-replicated ranges are not known',
    open: () =>
      openChanged(5, ({ world }) => world.killNode(5), {
        clusters: {
          demo: {
            nodes: 5,
            ranges: 60,
            replication: 5,
            faultyNodes: false,
            quirks: { rangeDescriptors: 'forbidden' },
          },
        },
      }),
    reason: 'the voters of 60 ranges are not known',
  },
  {
    title: 'a node has gone down since the scan',
    open: () =>
      openChanged(5, ({ world }) => world.killNode(5), changing('ranges', { interval: 600 })),
    reason: 'node 5 went down after the last range scan: wait for the next one',
  },
  {
    title: 'the ranges of a node cannot be read',
    open: () =>
      openChanged(5, (simulator) => {
        simulator.fault({ endpoint: 'node_ranges', node: 3, kind: 'status', status: 500 });
      }),
    reason: 'the ranges of node 3 could not be read',
  },
  {
    title: 'the nodes are not polled',
    open: () => open(3, changing('nodes', { enabled: false })),
    reason: 'there is no current list of nodes',
  },
  {
    title: 'the scan is too old',
    open: () => openAged(1_260),
    reason: 'the last range scan ended 21 min ago',
  },
  {
    title: 'the exporter is one of several shards',
    open: () =>
      open(5, { adapt: (config) => ({ ...config, shard: { ...config.shard, count: 2 } }) }),
    reason: 'no exporter alone reads the ranges of all nodes',
  },
];

const WORLDS = [
  ...SAFE.map((world) => ({
    ...world,
    answer: 'yes' as const,
    reason: undefined,
    told: `losing its quorum: <b>${formatList(world.nodes)}</b>`,
  })),
  ...UNSAFE.map((world) => ({
    ...world,
    answer: 'no' as const,
    nodes: [],
    told: `No node may stop now: ${world.reason}.`,
  })),
  ...UNKNOWN.map((world) => ({
    ...world,
    answer: 'unknown' as const,
    nodes: [],
    told: `Not known: ${world.reason}.`,
  })),
];

describe.skipIf(!hasProgram('promtool'))('page, JSON and rule agree which nodes may stop', () => {
  test.each(WORLDS)('$answer: $title', { timeout: 60_000 }, async (world) => {
    const { answer, nodes, reason } = world;
    await using scene = await world.open();
    const decide = async () => {
      const { safeToStop } = await readCluster(scene);
      return { answer: safeToStop.answer, nodes: safeToStop.nodes, reason: safeToStop.reason };
    };
    await expect.poll(decide, { timeout: 20_000 }).toEqual({ answer, nodes, reason });
    expect(await readPanel(scene)).toContain(world.told);
    // A poll may end between the status and the scrape that are compared.
    const compare = async () => {
      const { at, clusters } = await readStatus(scene);
      const decisions = clusters[0]?.safeToStop.decisions ?? [];
      return checkDecisions(scene, Date.parse(at), decisions);
    };
    await expect.poll(compare, { timeout: 20_000, interval: 500 }).toContain('SUCCESS');
  });
});

test('each node has its own reason', async () => {
  await using scene = await openChanged(5, ({ world }) => world.drainNode(4));
  const reasons = async () =>
    (await readCluster(scene)).safeToStop.decisions.map((one) => one.reason ?? one.answer);
  const other = 'node 4 is draining';
  await expect.poll(reasons).toEqual([other, other, other, 'yes', other]);
});
