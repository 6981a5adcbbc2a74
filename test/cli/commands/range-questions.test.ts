import { describe, expect, onTestFinished, test } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/index.ts';
import { openProxy } from '../../support/changing-proxy.ts';
import { configFlag, runHere } from '../run.ts';

const QUIET = { frozen: true, faultyNodes: false, metricKeys: 'useful', seed: 7 } as const;

async function open(nodes: number): Promise<Simulator> {
  const simulator = await startSimulator({ ...QUIET, nodes, ranges: 60 });
  onTestFinished(() => simulator.close());
  return simulator;
}

/** The listing after these nodes went down, which alone held the range 12. */
async function listWithout(...nodeIds: readonly number[]) {
  const simulator = await open(5);
  for (let id = 1; id <= 60; id += 1) simulator.world.placeRange(id, [1, 2, 3]);
  simulator.world.placeRange(12, [4, 5]);
  for (const id of nodeIds) simulator.world.killNode(id);
  return ['ranges', '--problems', await configFlag(simulator)];
}

/** The ids of the ranges of a table. */
function rangesOf(simulator: Simulator, name: string): number[] {
  const { tables, ranges } = simulator.world.state;
  const table = tables.find((each) => each.name === name);
  return [...ranges.values()].filter(({ tableId }) => tableId === table?.id).map(({ id }) => id);
}

describe('ranges --few-voters', () => {
  test('lists ranges with fewer voters than the zone of their table wants, non-voters apart', async () => {
    const simulator = await open(5);
    const [first = 0, second = 0] = rangesOf(simulator, 'users');
    const [inherited = 0] = rangesOf(simulator, 'daily_rides');
    simulator.world.placeRange(first, [2, 4]);
    simulator.world.placeRange(second, [1], [2, 3]);
    // Its table does not say how many replicas it wants.
    simulator.world.placeRange(inherited, [1]);
    const args = ['ranges', '--few-voters', await configFlag(simulator)];
    const { code, out, err } = await runHere(args);
    const lines = out.trimEnd().split('\n');
    const cells = lines.map((line) => line.trim().split(/ {2,}/));
    expect(cells).toEqual([
      ['RANGE', 'TABLE', 'VOTERS', 'WANTED', 'NODES'],
      [String(second), 'movr.public.users', '1', '3', '1'],
      [String(first), 'movr.public.users', '2', '3', '2, 4'],
    ]);
    const unknown =
      [...simulator.world.state.ranges.values()].filter(({ tableId }) => tableId === undefined)
        .length + rangesOf(simulator, 'daily_rides').length;
    expect(code).toBe(0);
    expect(err).toMatch(
      /^crdb-exporter: reads all ranges of 5 nodes: about \d+ replicas, .*, and \d+ descriptors, .*, and the zones of up to \d+ tables one by one; Ctrl-C cancels$/m,
    );
    expect(err).toContain(`compared ${60 - unknown} ranges`);
    expect(err).toContain(`not known: ${unknown}, outside of tables`);
  });

  test('needs no flag of the server: it wants fewer voters while nodes leave', async () => {
    const simulator = await open(3);
    const [first = 0] = rangesOf(simulator, 'users');
    simulator.world.placeRange(first, [1, 2]);
    simulator.world.setZone([first], { voters: 2, nonVoters: 0 });
    expect(simulator.truth().ranges.problems['underreplicated']).toBe(0);
    const args = ['ranges', '--few-voters', '--output', 'json', await configFlag(simulator)];
    expect(JSON.parse((await runHere(args)).out)).toMatchObject({
      ranges: [{ range_id: first, voters: 2, wanted_voters: 3, voter_nodes: [1, 2] }],
      skipped_nodes: [],
      failed_nodes: [],
    });
  });

  test('reads zones for no more than max_duty of the time', async () => {
    const simulator = await open(3);
    simulator.fault({ kind: 'slow', ms: 40, endpoint: 'table' });
    const startedMs = performance.now();
    const { code } = await runHere(['ranges', '--few-voters', await configFlag(simulator)]);
    const zones = simulator.requests.count('table');
    expect([code, zones > 3]).toEqual([0, true]);
    expect(performance.now() - startedMs).toBeGreaterThan((zones * 40) / 0.25);
  });

  test('says why zones or descriptors are not known, and compares nothing', async () => {
    const simulator = await open(3);
    const config = await configFlag(simulator);
    simulator.setQuirk('rangeDescriptors', 'forbidden');
    expect((await runHere(['ranges', '--few-voters', config])).err).toMatch(
      /who votes is not known: .*\n.*compared 0 ranges/,
    );
    simulator.setQuirk('rangeDescriptors', 'works');
    simulator.fault({ kind: 'status', status: 403, endpoint: 'table' });
    expect((await runHere(['ranges', '--few-voters', config])).err).toMatch(
      /the zones of some tables are not known: .*\n.*compared 0 ranges/,
    );
  });

  test('warns of descriptors with fields of another form', async () => {
    const simulator = await open(3);
    const origin = new URL(simulator.clusterUrl).origin;
    await using proxy = await openProxy(origin, (url, text) =>
      url.includes('/_status/ranges/')
        ? text.replaceAll('"leaseValid":true', '"leaseValid":1')
        : text,
    );
    const config = await configFlag({ ...simulator, clusterUrls: [`${proxy.url}/api/v2`] });
    const { err } = await runHere(['ranges', '--few-voters', config]);
    expect(err).toContain(
      'responses of range_descriptors: some fields or elements have an unexpected form',
    );
  });

  test('is about all ranges', async () => {
    const config = await configFlag(await open(3));
    for (const more of [['1'], ['--hot', '3'], ['--problems']]) {
      const { code, err } = await runHere(['ranges', ...more, '--few-voters', config]);
      expect([code, err]).toEqual([2, expect.stringContaining('--few-voters is about all ranges')]);
    }
  });
});

describe('ranges --problems', () => {
  const MISSING =
    'ranges may be missing that no node reports: the keys of those that were read do not join';

  test('says that ranges are missing, which no live node can list', async () => {
    const args = await listWithout(4, 5);
    const { code, err } = await runHere(args);
    expect(code).toBe(0);
    expect(err).toContain(MISSING);
    expect(err).toContain('start nodes 4 and 5, and do not decommission them');
    const { out } = await runHere([...args, '--output', 'json']);
    expect(JSON.parse(out)).toMatchObject({ key_space: 'incomplete', skipped_nodes: [4, 5] });
  });

  test('says that none is missing, whatever is down', async () => {
    const none = 'no range is missing: the keys of those that were read join';
    expect((await runHere(await listWithout())).err).toContain(none);
    const args = await listWithout(5);
    expect((await runHere(args)).err).toContain(none);
    const { out } = await runHere([...args, '--output', 'json']);
    expect(JSON.parse(out)).toMatchObject({ key_space: 'complete', skipped_nodes: [5] });
  });

  test('does not know it from some of the nodes', async () => {
    const args = await listWithout();
    const { out, err } = await runHere([...args, '1', '--output', 'json']);
    expect(JSON.parse(out)).toMatchObject({ key_space: 'unknown' });
    expect(err).toBe('');
  });
});

/** All ranges are on nodes 1, 2 and 3. */
async function openPlaced(): Promise<Simulator> {
  const simulator = await open(5);
  const { world } = simulator;
  for (const id of world.state.ranges.keys()) world.placeRange(id, [1, 2, 3]);
  return simulator;
}

describe('ranges --problems, of ranges of which nodes say different things,', () => {
  test('names what a merge left behind, and speaks of no missing range', async () => {
    const simulator = await openPlaced();
    simulator.world.leaveBehind(30, [2]);
    const args = ['ranges', '--problems', await configFlag(simulator)];
    const { err } = await runHere(args);
    expect(err).toContain('r30 on node 2 lies over the keys of others, which join without it');
    expect(err).not.toContain('missing');
    const { out } = await runHere([...args, '--output', 'json']);
    expect(JSON.parse(out)).toMatchObject({
      key_space: 'overlap',
      overlapping: [{ range_id: 30, node_ids: [2] }],
      disputed: [],
    });
  });

  test('says what only one node claims, as `range` does', async () => {
    const simulator = await openPlaced();
    const { world } = simulator;
    const [store] = world.state.nodes.get(3)?.stores ?? [];
    for (const id of [30, 31]) world.setProblem(id, 'unavailable', true, store?.id);
    const config = await configFlag(simulator);
    const { err } = await runHere(['ranges', '--problems', config]);
    expect(err).toContain('only node 3 reports 2 ranges as unavailable: the nodes that hold');
    const { out } = await runHere(['ranges', '--problems', config, '--output', 'json']);
    expect(JSON.parse(out)).toMatchObject({
      disputed: [
        { range_id: 30, node_ids: [3] },
        { range_id: 31, node_ids: [3] },
      ],
    });
    const report = (await runHere(['range', '30', config])).out;
    expect(report).toContain('unavailable: only node 3 reports it: the holder of the lease lists');
    expect(report).not.toMatch(/disk|Start/);
    world.killNode(2);
    expect((await runHere(['range', '30', config])).out).toContain(
      'unavailable: without a quorum of replicas',
    );
  });
});

describe('ranges NODE --still-after', () => {
  test('lists what has not left the node in this time, and how fast the rest goes', async () => {
    const simulator = await open(5);
    const { world } = simulator;
    const held = () => simulator.truth().stores.filter(({ nodeId }) => nodeId === 5);
    const before = held().reduce((sum, { replicas }) => sum + replicas, 0);
    const on5 = [...world.state.ranges.values()]
      .filter(({ replicas }) => replicas.some(({ nodeId }) => nodeId === 5))
      .map(({ id }) => id);
    const [moving = 0, ...staying] = on5;
    world.beginDecommission(5);
    const config = await configFlag(simulator);
    const running = runHere(['ranges', '5', '--still-after', '1s', '-o', 'json', config]);
    const isListed = () =>
      simulator.requests.entries.some(
        ({ path, endMs }) => path.includes('/ranges/') && endMs !== undefined,
      );
    await expect.poll(isListed).toBe(true);
    // One leaves, and another one arrives.
    world.placeRange(moving, [1, 2, 3]);
    const [arrived = 0] = [...world.state.ranges.keys()].filter((id) => !on5.includes(id));
    world.placeRange(arrived, [1, 2, 5]);
    const { out, err } = await running;
    const { ranges, ...counts }: { ranges: { range_id: number }[] } = JSON.parse(out);
    expect(ranges.map((range) => range.range_id).toSorted((a, b) => a - b)).toEqual(staying);
    expect(counts).toMatchObject({
      ranges_before: before,
      ranges_now: before,
      stayed: before - 1,
    });
    expect(err).toContain(
      `node 5 held ${before} ranges, and ${before} after 1s: ${before - 1} did not move`,
    );
  });

  test('needs a node', async () => {
    const { code, err } = await runHere([
      'ranges',
      '--still-after',
      '1s',
      await configFlag(await open(3)),
    ]);
    expect([code, err]).toEqual([2, expect.stringContaining('--still-after needs the id')]);
  });
});

test('range says who votes also where a proxy refuses long paths', async () => {
  const quirks = { maxDescriptorIds: 30, tooManyIds: 414 } as const;
  await using simulator = await startSimulator({ ...QUIET, nodes: 3, ranges: 150, quirks });
  const ids = Array.from({ length: 120 }, (_, index) => String(index + 1));
  const { out, err } = await runHere(['range', ...ids, await configFlag(simulator)]);
  expect(err).toBe('');
  expect(out.match(/^Voter on /gm)).toHaveLength(120);
});

interface SentReplica {
  readonly desc: { readonly range_id: number };
  readonly source_node_id: number;
  readonly problems: unknown;
}

/** The configuration of a server that sends the problems of some replicas by another name. */
async function openNewer(isNewer: (sent: SentReplica) => boolean = () => true): Promise<string> {
  const simulator = await open(3);
  simulator.world.setProblem(12, 'no_lease');
  const proxy = await openProxy(new URL(simulator.clusterUrl).origin, (url, text) => {
    if (!/\/nodes\/\w+\/ranges\//.test(url)) return text;
    const page: { readonly ranges: readonly SentReplica[] } = JSON.parse(text);
    const ranges = page.ranges.map((one) => {
      const { problems, ...others } = one;
      return isNewer(one) ? { ...others, problem_flags: problems } : one;
    });
    return JSON.stringify({ ...page, ranges });
  });
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  simulator.setQuirk('ignoreRangeIds', true);
  return configFlag({ ...simulator, clusterUrls: [`${proxy.url}/api/v2`] });
}

describe('where a release sends problems by another name', () => {
  const NOT_READ =
    /^crdb-exporter: the problems of \d+ replicas could not be read: the release may be newer than this exporter$/m;

  test('`ranges --problems` says that they could not be read', async () => {
    const args = ['ranges', '--problems', await openNewer()];
    expect((await runHere(args)).err).toMatch(NOT_READ);
    const { ranges, replicas_without_problems: count } = JSON.parse(
      (await runHere([...args, '--output', 'json'])).out,
    );
    expect(ranges).toEqual([]);
    expect(count).toBeGreaterThanOrEqual(180);
  });

  test('`range` does not know whether it has one, and fails', async () => {
    const args = ['range', '12', await openNewer()];
    const { code, out, err } = await runHere(args);
    expect([code, err]).toEqual([1, expect.stringMatching(NOT_READ)]);
    expect(out).toContain('Whether it has a problem is not known.');
    const [range] = JSON.parse((await runHere([...args, '--output', 'json'])).out).ranges;
    expect(range.problems).toBeNull();
    expect(range.replicas.map((replica: { problems: unknown }) => replica.problems)).toEqual([
      null,
      null,
      null,
    ]);
  });

  test('`range` says what other replicas report, and that this may not be all', async () => {
    const flag = await openNewer(({ source_node_id: node }) => node === 3);
    const { code, out, err } = await runHere(['range', '12', flag, '--output', 'json']);
    const [range] = JSON.parse(out).ranges;
    expect(range.problems).toMatchObject([{ name: 'no_lease' }]);
    expect([code, err]).toEqual([1, expect.stringMatching(/problems of 1 replica could not/)]);
  });

  test('`range` does not care for ranges that it was not asked for', async () => {
    const flag = await openNewer(({ desc }) => desc.range_id !== 12);
    const { code, err } = await runHere(['range', '12', flag]);
    expect([code, err]).toEqual([0, '']);
  });

  test('`diagnose` warns', async () => {
    const { out } = await runHere(['diagnose', '--output', 'json', await openNewer()]);
    expect(JSON.parse(out).clusters[0].findings).toContainEqual(
      expect.objectContaining({
        verdict: 'warning',
        detail: expect.stringMatching(/; the problems of \d+ replicas could not be read/),
      }),
    );
  });
});
