import { describe, expect, test } from 'vitest';
import type { Simulator } from '../../../simulator/index.ts';
import { formatList } from '../../../src/base/format.ts';
import type { Status } from '../../../src/status/findings/status.ts';
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

/** Only some replicas vote: those on the first nodes. */
function placeVoters({ world }: Simulator, voters: readonly number[], others: readonly number[]) {
  for (let id = 1; id <= 60; id += 1) world.placeRange(id, voters, others);
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
    title: 'a member that no range needs has been dead since before the exporter started',
    open: () => openLate(5, ({ world }) => world.killNode(5), { placed: [1, 2, 3] }),
    nodes: [1, 2, 3, 4],
  },
  {
    title: 'the node itself is draining',
    open: () => openChanged(5, ({ world }) => world.drainNode(4)),
    nodes: [4],
  },
  {
    title: 'one of three replicas votes, on another node',
    open: () => openLate(3, (simulator) => placeVoters(simulator, [1], [2, 3])),
    nodes: [2, 3],
  },
  {
    title: 'another node is being decommissioned, and its replicas have not left it yet',
    open: () => openChanged(5, ({ world }) => world.beginDecommission(1), { placed: [1, 2, 3] }),
    nodes: [2, 3, 4, 5],
  },
  {
    title: 'of one index most ranges have 5 voters, and one 3, of which one is dead',
    open: () =>
      openChanged(
        6,
        ({ world }) => {
          world.placeRange(30, [1, 2, 5], [3, 4]);
          world.killNode(5);
        },
        { placed: [1, 2, 3, 4, 6] },
      ),
    nodes: [3, 4, 6],
  },
  {
    title: 'a follower is stuck for good beside two replicas that serve',
    open: () =>
      openChanged(
        5,
        (simulator) => {
          const node = simulator.truth().nodes.find(({ nodeId }) => nodeId === 3);
          simulator.world.setProblem(12, 'circuit_breaker_error', true, node?.storeIds[0]);
        },
        { placed: [1, 2, 3] },
      ),
    nodes: [3, 4, 5],
  },
  {
    title: 'merges left replicas behind that report what they can',
    open: () =>
      openChanged(
        5,
        ({ world }) => {
          world.leaveBehind(40, [2], { problems: ['unavailable', 'no_raft_leader'] });
          world.leaveBehind(20, [3], { knowsLease: true });
        },
        { placed: [1, 2, 3] },
      ),
    nodes: [1, 2, 3, 4, 5],
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
    title: 'one follower claims that a range has no quorum',
    open: () =>
      openChanged(
        5,
        (simulator) => {
          const node = simulator.truth().nodes.find(({ nodeId }) => nodeId === 3);
          simulator.world.setProblem(12, 'unavailable', true, node?.storeIds[0]);
        },
        { placed: [1, 2, 3] },
      ),
    reason: 'only node 3 reports ranges as without a quorum',
  },
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
    title: 'two of five voters are dead and are being decommissioned, and no range is flagged',
    open: () =>
      openChanged(
        5,
        ({ world }) => {
          for (const id of [4, 5]) {
            world.beginDecommission(id);
            world.killNode(id);
          }
        },
        { placed: [1, 2, 3, 4, 5] },
      ),
    reason: 'each live node holds ranges that depend on it',
  },
  {
    title: 'a table falls to one replica on each node',
    open: () =>
      openChanged(3, ({ world }) => {
        for (let id = 1; id <= 60; id += 1) world.placeRange(id, [1 + (id % 3)]);
      }),
    reason: 'each live node holds ranges that depend on it',
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
    reason: '1 range has no live replica',
  },
  {
    title: 'a range was lost before the exporter started, and the gap is confirmed',
    open: () =>
      openLate(5, ({ world }) => world.killNode(4), { placed: [1, 2, 3], alone: { 12: [4] } }),
    reason: 'ranges are missing that no node reports',
  },
  ...(['circuit_breaker_error', 'no_raft_leader', 'no_lease'] as const).map((problem) => ({
    title: `5 ranges report ${problem}, and repeat it`,
    open: () =>
      openChanged(3, ({ world }) => {
        for (let id = 1; id <= 5; id += 1) world.setProblem(id, problem);
      }),
    reason: '5 ranges serve nothing',
  })),
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

const REFUSED =
  'descriptors of ranges are refused (403): GRANT SYSTEM VIEWCLUSTERMETADATA to the user, and let the path /_status/ranges/ pass through proxies';

/** A cluster of 5 nodes whose server refuses descriptors. */
function openRefused(change: (simulator: Simulator) => void): Promise<Scene> {
  const demo = {
    nodes: 5,
    ranges: 60,
    faultyNodes: false,
    quirks: { rangeDescriptors: 'forbidden' },
  } as const;
  return openChanged(5, change, { clusters: { demo } });
}

/** Worlds in which nobody can tell. */
const UNKNOWN: readonly (World & { readonly reason: string })[] = [
  {
    title: 'descriptors are refused, and one replica votes',
    open: () => openRefused((simulator) => placeVoters(simulator, [1], [2, 3])),
    reason: REFUSED,
  },
  {
    title: 'descriptors are not to be read',
    open: () => open(3, changing('ranges', { descriptor_max_age: 0 })),
    reason: 'descriptors of ranges are not read: set descriptor_max_age of the collector ranges',
  },
  {
    title: 'two live nodes do not reach each other, and the third one reaches both',
    open: () => openChanged(3, ({ world }) => world.partitionPair(2, 3)),
    reason: 'nodes 2 and 3 do not reach each other',
  },
  {
    title: 'nodes cannot be asked for their connections',
    open: () =>
      openChanged(3, (simulator) => {
        simulator.fault({ endpoint: 'connectivity', kind: 'status', status: 500 });
      }),
    reason: 'there is no current list of the connections between nodes',
  },
  {
    title: 'a node has gone down since the scan',
    open: () =>
      openChanged(5, ({ world }) => world.killNode(5), changing('ranges', { interval: 600 })),
    reason: 'node 5 went down after the last range scan; the next one tells more',
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
    title: 'the ranges of a node cannot be read, and others report that they have no quorum',
    open: () =>
      openChanged(
        5,
        (simulator) => {
          simulator.world.setProblem(12, 'unavailable');
          simulator.fault({ endpoint: 'node_ranges', node: 5, kind: 'status', status: 500 });
        },
        { placed: [1, 2, 3] },
      ),
    reason: 'the ranges of node 5 could not be read; ranges are without a quorum',
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
  test.each(WORLDS)('$answer: $title', { timeout: 120_000 }, async (world) => {
    const { answer, nodes, reason } = world;
    await using scene = await world.open();
    const decide = async () => {
      const { safeToStop } = await readCluster(scene);
      return { answer: safeToStop.answer, nodes: safeToStop.nodes, reason: safeToStop.reason };
    };
    await expect.poll(decide, LOOKS).toEqual({ answer, nodes, reason });
    expect(await readPanel(scene)).toContain(world.told);
    // A poll may end between the status and the scrape that are compared.
    const compare = async () => {
      const { at, clusters } = await readStatus(scene);
      const decisions = clusters[0]?.safeToStop.decisions ?? [];
      return checkDecisions(scene, Date.parse(at), decisions);
    };
    await expect.poll(compare, { interval: 500 }).toContain('SUCCESS');
  });
});

test('each node has its own reason', async () => {
  await using scene = await openChanged(5, ({ world }) => world.drainNode(4));
  const reasons = async () =>
    (await readCluster(scene)).safeToStop.decisions.map((one) => one.reason ?? one.answer);
  const other = 'node 4 is draining';
  await expect.poll(reasons, LOOKS).toEqual([other, other, other, 'yes', other]);
});
