import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../../simulator/index.ts';
import { configFlag, runHere } from '../run.ts';

/** As if the system ranges were elsewhere. */
const RESPONDS = { quirks: { systemRangesLost: 'works' } } as const;
const QUIET = { frozen: true, faultyNodes: false, metricKeys: 'useful', seed: 7 } as const;

function anHourAgo(): number {
  return Date.now() - 3_600_000;
}

describe('nodes --safe-to-stop', () => {
  test('lists the nodes without which no range loses its quorum', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 5, ranges: 60 });
    const config = await configFlag(simulator);
    const { code, out, err } = await runHere(['nodes', '--safe-to-stop', '-o', 'ndjson', config]);
    expect([code, err]).toMatchObject([0, expect.stringContaining('reads all ranges of 5 nodes')]);
    const ids = out
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    expect(ids).toMatchObject([1, 2, 3, 4, 5].map((id) => ({ node_id: id, dependent_ranges: 0 })));
  });

  test('names the nodes that must not stop, and why', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 4, ranges: 60 });
    for (let id = 1; id <= 60; id += 1) simulator.world.placeRange(id, [1, 2, 3]);
    simulator.world.placeRange(12, [1, 4]);
    const config = await configFlag(simulator);
    const { code, out, err } = await runHere(['nodes', '--safe-to-stop', '-o', 'ndjson', config]);
    expect([code, out.match(/"node_id":\d/g)]).toEqual([0, [2, 3].map((id) => `"node_id":${id}`)]);
    const { stores } = simulator.truth();
    const replicas = stores.reduce((sum, store) => sum + store.replicas, 0);
    expect(err)
      .toBe(`crdb-exporter: reads all ranges of 4 nodes: about ${replicas} replicas, 262 KiB, and 60 descriptors, 234 KiB; Ctrl-C cancels
crdb-exporter: do not stop any of nodes 1 and 4: 1 range would lose the quorum
`);
  });

  test('answers beside a member that has been dead for long, which no range needs', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 4, ranges: 60 });
    for (let id = 1; id <= 60; id += 1) simulator.world.placeRange(id, [1, 2, 3]);
    simulator.world.killNode(4);
    const config = await configFlag(simulator);
    const { code, out } = await runHere(['nodes', '--safe-to-stop', '-o', 'ndjson', config]);
    expect([code, out.match(/"node_id":\d/g)]).toEqual([
      0,
      [1, 2, 3].map((id) => `"node_id":${id}`),
    ]);
  });

  test.each([
    ['one of three', [3], 'do not stop any of nodes 1 and 2: 60 ranges would lose the quorum\n'],
    ['two of three', [3, 2], 'no node may stop now: ranges are without a quorum\n'],
  ])('says no while %s nodes are down', async (_, down, told) => {
    await using simulator = await startSimulator({ ...QUIET, ...RESPONDS, nodes: 3, ranges: 60 });
    for (const node of down) simulator.world.killNode(node);
    const config = await configFlag(simulator);
    const run = await runHere(['nodes', '--safe-to-stop', config]);
    expect(run).toMatchObject({ code: 1, out: '', err: expect.stringContaining(told) });
    const json = await runHere(['nodes', '--safe-to-stop', '-o', 'json', config]);
    expect(json).toMatchObject({ code: 1, out: '{"nodes": [\n]}\n' });
  });

  test('says no for a node whose decommissioning is stuck with replicas', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 5, ranges: 60 });
    for (let id = 1; id <= 60; id += 1) simulator.world.placeRange(id, [1, 2, 3]);
    simulator.world.beginDecommission(1);
    const config = await configFlag(simulator);
    const { out, err } = await runHere(['nodes', '--safe-to-stop', '-o', 'ndjson', config]);
    expect(out).not.toContain('"node_id":1,');
    expect(err).toContain('do not stop node 1: 60 replicas have not left it yet\n');
  });

  test('knows a voter that alone votes among others, and says so when descriptors are refused', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 3, ranges: 60 });
    for (let id = 1; id <= 60; id += 1) simulator.world.placeRange(id, [1], [2, 3]);
    const config = await configFlag(simulator);
    const run = await runHere(['nodes', '--safe-to-stop', '-o', 'ndjson', config]);
    expect(run.err).toContain('do not stop node 1: 60 ranges would lose the quorum\n');
    expect(run.out.match(/"node_id":\d/g)).toEqual(['"node_id":2', '"node_id":3']);
    simulator.setQuirk('rangeDescriptors', 'forbidden');
    const refused = await runHere(['nodes', '--safe-to-stop', config]);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain(
      'not known: descriptors of ranges are refused (403): GRANT SYSTEM',
    );
  });

  test('says no for each node while a range serves nothing', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 5, ranges: 60 });
    for (const id of [12, 13]) simulator.world.setProblem(id, 'no_lease');
    const config = await configFlag(simulator);
    const { code, err } = await runHere(['nodes', '--safe-to-stop', config]);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        /cancels\ncrdb-exporter: no node may stop now: 2 ranges serve nothing\n$/,
      ),
    ]);
  });

  test('says that it is not known while two live nodes do not reach each other', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 3, ranges: 60 });
    simulator.world.partitionPair(2, 3);
    const config = await configFlag(simulator);
    const { code, err } = await runHere(['nodes', '--safe-to-stop', config]);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('not known: nodes 2 and 3 do not reach each other\n'),
    ]);
  });

  test.each([
    ['connectivity', 1, 'works', '', 'do not reach each other\n'],
    // The lists of nodes before and after the scan count connections that fail.
    ['nodes', 1, 'missing', '', 'do not reach all nodes that are up\n'],
    [
      'nodes',
      2,
      'missing',
      'nodes 1, 2, 3 and 4 have written no record meanwhile, ',
      'do not reach all nodes that are up\n',
    ],
  ] as const)(
    'asks two URLs who reaches whom, as one may repeat old answers: %s at URL %i',
    async (endpoint, gateway, connectivity, before, told) => {
      let now = Date.now();
      const world = { ...QUIET, frozen: false, nodes: 4, gateways: 2, ranges: 60, now: () => now };
      await using simulator = await startSimulator({ ...world, quirks: { connectivity } });
      simulator.fault({ endpoint, gateway, kind: 'old' });
      const args = ['nodes', '--safe-to-stop', await configFlag(simulator)];
      const sleep = async (ms: number): Promise<number> => (now += ms);
      const first = await runHere(args, {}, { sleep });
      expect([first.code, first.err]).toEqual([
        before === '' ? 0 : 1,
        expect.stringContaining(before),
      ]);
      simulator.world.partitionPair(3, 4);
      now += 20_000;
      const { code, err } = await runHere(args, {}, { sleep });
      expect([code, err]).toEqual([1, expect.stringContaining(`not known: nodes 3 and 4 ${told}`)]);
    },
  );

  test('waits for the next records where only they count connections that have just failed', async () => {
    let now = Date.now();
    const world = { ...QUIET, frozen: false, nodes: 3, ranges: 60, now: () => now };
    const quirks = { connectivity: 'missing' } as const;
    await using simulator = await startSimulator({ ...world, quirks });
    const args = ['nodes', '--safe-to-stop', await configFlag(simulator)];
    const waits: number[] = [];
    const sleep = async (ms: number): Promise<void> => {
      waits.push(ms);
      now += ms;
    };
    expect(await runHere(args, {}, { sleep })).toMatchObject({ code: 0 });
    simulator.world.partitionPair(2, 3);
    const { code, err } = await runHere(args, {}, { sleep });
    const told = 'not known: nodes 2 and 3 do not reach all nodes that are up\n';
    expect([code, err]).toEqual([1, expect.stringContaining(told)]);
    expect(waits).toEqual([12_000, 12_000]);
  });

  test('says yes where nothing tells who reaches whom, and says so', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 3, ranges: 60 });
    simulator.fault({ endpoint: 'connectivity', kind: 'status', status: 404 });
    const nodes = [1, 2, 3].map((node_id) => ({ node_id, liveness_status: 3 }));
    const body = JSON.stringify({ nodes });
    simulator.fault({ endpoint: 'nodes', kind: 'status', status: 200, body });
    const config = await configFlag(simulator);
    const { code, err } = await runHere(['nodes', '--safe-to-stop', config]);
    expect([code, err]).toEqual([0, expect.stringContaining('connections not checked: ')]);
  });

  test('reads the descriptor of each range', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 3, ranges: 60 });
    const config = await configFlag(simulator);
    await runHere(['nodes', '--safe-to-stop', config]);
    const asked = simulator.requests.entries.flatMap(
      ({ path }) => path.match(/range_ids=\d+/g) ?? [],
    );
    expect(new Set(asked).size).toBe(60);
  });

  test('lists the nodes once before the scan, which lists them itself', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 3, ranges: 60 });
    await runHere(['nodes', '--safe-to-stop', await configFlag(simulator)]);
    const paths = simulator.requests.entries.map(({ path }) => path);
    const before = paths.slice(
      0,
      paths.findIndex((path) => path.includes('/ranges/')),
    );
    expect(before.filter((path) => /\/nodes\/\?limit=\d00&/.test(path))).toHaveLength(2);
  });

  test('sees a node go down while it reads the others', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 3, ranges: 60 });
    simulator.fault({ endpoint: 'node_ranges', kind: 'slow', ms: 300 });
    const config = await configFlag(simulator);
    const running = runHere(['nodes', '--safe-to-stop', config]);
    const isReading = () => simulator.requests.entries.some(({ path }) => path.includes('ranges'));
    await expect.poll(isReading).toBe(true);
    simulator.world.killNode(3, 'unavailable');
    const { code, out, err } = await running;
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('not known: ');
  });

  test.each([
    ['a node is draining', [4], 'do not stop any of nodes 1, 2, 3 and 5: node 4 is draining\n'],
    ['all are', [1, 2, 3, 4, 5], 'no node may stop now: nodes 1, 2, 3, 4 and 5 are draining\n'],
  ])('lists a draining node alone: %s', async (_, draining, told) => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 5, ranges: 60 });
    for (const node of draining) simulator.world.drainNode(node);
    const config = await configFlag(simulator);
    const { code, out, err } = await runHere(['nodes', '--safe-to-stop', '-o', 'ndjson', config]);
    expect([code, out.match(/"node_id":\d/g) ?? []]).toEqual(
      draining.length === 1 ? [0, ['"node_id":4']] : [1, []],
    );
    expect(err).toContain(told);
  });

  test.each(['nodes --safe-to-stop', 'ranges --problems'])(
    '%s fails where no node is live, as no ranges can be read',
    async (command) => {
      await using simulator = await startSimulator({ ...QUIET, nodes: 3, ranges: 60 });
      const nodes = [1, 2, 3].map((node_id) => ({ node_id, liveness_status: 0 }));
      const body = JSON.stringify({ nodes });
      simulator.fault({ endpoint: 'nodes', kind: 'status', status: 200, body });
      const config = await configFlag(simulator);
      const { code, out, err } = await runHere([...command.split(' '), config]);
      expect([code, out]).toEqual([1, '']);
      expect(err).toContain('no node is live, draining or decommissioning');
    },
  );

  test('says what the scan of one node costs', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 1, ranges: 60 });
    const { err } = await runHere(['nodes', '--safe-to-stop', await configFlag(simulator)]);
    expect(err).toContain('reads all ranges of 1 node: about ');
  });

  test('calls no node safe by responses that a cache has kept together with their Date', async () => {
    const world = { ...QUIET, frozen: false, nodes: 3, ranges: 60, now: anHourAgo };
    await using simulator = await startSimulator(world);
    const config = await configFlag(simulator);
    const { code, out, err } = await runHere(['nodes', '--safe-to-stop', config]);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(
      /a response is 1 h( \d s)? old by the clock of this host: correct the clock/,
    );
    expect(err).toMatch(/not known: no node has written its record for 1 h( \d+ s)?: the list/);
  });

  test.each(['nodes', 'sessions', 'jobs', 'tables', 'users', 'network', 'ranges'])(
    '%s notes that a cache has kept its responses together with their Date',
    async (command) => {
      const world = { ...QUIET, frozen: false, nodes: 3, ranges: 60, now: anHourAgo };
      await using simulator = await startSimulator(world);
      const { code, err } = await runHere([command, await configFlag(simulator)]);
      expect([code, err]).toEqual([0, expect.stringContaining('old by the clock of this host')]);
    },
  );

  test('calls no node safe while one cannot be read, and says what helps', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 3, ranges: 60 });
    simulator.fault({ endpoint: 'node_ranges', node: 2, kind: 'status', status: 403 });
    const config = await configFlag(simulator);
    const { code, out, err } = await runHere(['nodes', '--safe-to-stop', config]);
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('node 2 are missing: run GRANT SYSTEM VIEWCLUSTERMETADATA TO exporter;');
    expect(err).toContain('not known: the ranges of node 2 could not be read\n');
  });
});
