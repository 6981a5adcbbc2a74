import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../../simulator/index.ts';
import { configFlag, runHere } from '../run.ts';

/** As if the system ranges were elsewhere. */
const RESPONDS = { quirks: { systemRangesLost: 'works' } } as const;
const QUIET = { frozen: true, faultyNodes: false, metricKeys: 'useful', seed: 7 } as const;

describe('range', () => {
  test('shows what each node knows of a range, its leases and the next step', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 5, ranges: 60 });
    simulator.world.placeRange(12, [2, 4, 5]);
    simulator.world.killNode(5);
    const config = await configFlag(simulator);
    const { code, out, err } = await runHere(['range', '12', config]);
    expect([code, err]).toEqual([0, 'crdb-exporter: skipped, because not live: node 5\n']);
    expect(out).toContain('Range 12: table movr.public.users, index 1\n');
    const replicas = out.split('\n').filter((line) => / ticking /.test(line));
    expect(replicas.map((line) => line.trim().split(/ +/)[0])).toEqual(['2', '4']);
    expect(out).toMatch(/SINCE +NODE +STORE +SEQUENCE\n\d{4}-\d\d-\d\dT/);
    expect(out).toContain('underreplicated: with fewer live replicas than configured. If');
    expect(out).toContain('\nVoter on nodes 2, 4 and 5; not live: node 5.\n');
    expect(out).not.toContain('/Table/');
  });

  test('without a quorum tells only how to get it back', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 5, ranges: 60 });
    simulator.world.placeRange(12, [2, 4, 5]);
    simulator.world.killNode(4);
    simulator.world.killNode(5);
    const { out } = await runHere(['range', '12', await configFlag(simulator)]);
    expect(out.slice(out.indexOf('\nunavailable: ')).trim().split('\n')).toEqual([
      'unavailable: without a quorum of replicas: requests wait. Start the nodes that are down: they hold the other replicas. Do not decommission them and do not wipe their disks.',
      // The network between the nodes is well, and nothing is rebuilt.
      'no_raft_leader: with a replica that knows no Raft leader. It follows from the lost quorum.',
      'underreplicated: with fewer live replicas than configured. It follows from the lost quorum.',
    ]);
  });

  test('without a quorum although no node is down, advises to start none', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 3, ranges: 60 });
    simulator.world.setProblem(12, 'unavailable', true);
    const { out } = await runHere(['range', '12', await configFlag(simulator)]);
    expect(out).toContain('requests wait. No node is down now: the next scan tells more.');
  });

  test('names the ranges of the system', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 3, ranges: 60 });
    const { out } = await runHere(['range', '1', await configFlag(simulator)]);
    expect(out).toMatch(/^Range 1: system: meta ranges\n/);
  });

  test('asks only for these ranges', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 3, ranges: 60 });
    const config = await configFlag(simulator);
    await runHere(['range', '12', '13', '12', config]);
    const paths = simulator.requests.entries
      .map(({ path }) => path)
      .filter((path) => path.includes('/ranges/'));
    const lists = paths.filter((path) => path.includes('/api/v2/'));
    expect(lists).toHaveLength(3);
    expect(lists.every((path) => path.endsWith('ranges=12,13'))).toBe(true);
    const asked = paths.filter((path) => path.includes('/_status/')).join(' ');
    expect(asked.match(/range_ids=\d+/g)?.toSorted()).toEqual(['range_ids=12', 'range_ids=13']);
  });

  test('as JSON holds every replica and every problem', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 3, ranges: 60 });
    simulator.world.setProblem(20, 'no_lease');
    const config = await configFlag(simulator);
    const { out } = await runHere(['range', '20', '21', '-o', 'json', config]);
    const { ranges }: { ranges: Record<string, unknown>[] } = JSON.parse(out);
    expect(ranges).toMatchObject([
      {
        range_id: 20,
        problems: [{ name: 'no_lease' }],
        descriptor: { replicas: [1, 2, 3].map((id) => ({ node_id: id, type: 'voter' })) },
      },
      { range_id: 21, problems: [], descriptor: { is_from_leaseholder: true } },
    ]);
    const lines = (await runHere(['range', '20', '21', '-o', 'ndjson', config])).out.trim();
    expect(lines.split('\n').map((line): unknown => JSON.parse(line))).toEqual(ranges);
  });

  test('that nobody holds is reported, and a failure', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 3, ranges: 60 });
    const config = await configFlag(simulator);
    expect(await runHere(['range', '9999', config])).toMatchObject({
      code: 1,
      err: 'crdb-exporter: no live node reports range 9999: it was merged or dropped, or never existed\n',
    });
    simulator.world.placeRange(20, [3]);
    const failure = simulator.fault({
      endpoint: 'node_ranges',
      node: 3,
      kind: 'status',
      status: 500,
    });
    expect((await runHere(['range', '20', config])).err).toContain(
      'no live node reports range 20: merged or dropped, or only node 3 holds it, which could not be read',
    );
    failure.remove();
    simulator.world.killNode(3);
    expect((await runHere(['range', '20', config])).err).toContain(
      'no live node reports range 20: merged, dropped, or lost with node 3, which is not live: the status page names the nodes that held a lost range',
    );
    expect((await runHere(['range', 'x', config])).code).toBe(2);
  });

  test('says who does not vote, and what a replica without the lease knows', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 5, ranges: 60 });
    simulator.world.placeRange(12, [1, 2, 3], [4, 5]);
    const config = await configFlag(simulator);
    const { out } = await runHere(['range', '12', config]);
    expect(out).toContain('\nVoter on nodes 1, 2 and 3, non-voter on nodes 4 and 5.\n');
  });

  test('says why it is not known who votes', async () => {
    await using simulator = await startSimulator({
      ...QUIET,
      nodes: 3,
      ranges: 60,
      quirks: { rangeDescriptors: 'forbidden' },
    });
    const { code, out, err } = await runHere(['range', '12', await configFlag(simulator)]);
    expect([code, out]).toMatchObject([0, expect.not.stringContaining('Voter on')]);
    expect(err).toMatch(
      /^crdb-exporter: who votes is not known: .*403.*GRANT SYSTEM VIEWCLUSTERMETADATA/,
    );
  });

  test('is called free of problems only as far as nodes were read', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 5, ranges: 60 });
    simulator.world.placeRange(20, [1, 2, 3]);
    simulator.fault({ endpoint: 'node_ranges', node: 3, kind: 'status', status: 500 });
    const config = await configFlag(simulator);
    const { code, out } = await runHere(['range', '20', config]);
    expect(code).toBe(0);
    expect(out).toContain('No replica that was read reports a problem; not read: node 3.\n');
    simulator.fault({ endpoint: 'node_ranges', node: 2, kind: 'status', status: 500 });
    const { out: less } = await runHere(['range', '20', config]);
    expect(less).toContain('reports a problem; not read: nodes 2 and 3.\n');
    const json = await runHere(['range', '20', '--output', 'json', config]);
    expect(JSON.parse(json.out)).toMatchObject({ ranges: [{ unread_nodes: [2, 3] }] });
  });

  test('is watched until no problem is left', async () => {
    await using simulator = await startSimulator({ ...QUIET, nodes: 3, ranges: 60 });
    simulator.world.setProblem(20, 'no_lease');
    const config = await configFlag(simulator);
    const watched = runHere(['range', '20', '--watch', config]);
    await expect.poll(() => simulator.requests.entries.length).toBeGreaterThan(4);
    simulator.world.setProblem(20, 'no_lease', false);
    const { code, out } = await watched;
    expect(code).toBe(0);
    expect(out).toContain('no_lease: without a valid lease');
    expect(out).toContain('No replica reports a problem.');
  });
});

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
    ['connectivity', 1, 'works', 'do not reach each other\n'],
    // The lists of nodes before and after the scan count connections that fail.
    ['nodes', 1, 'missing', 'do not reach all nodes that are up\n'],
    ['nodes', 2, 'missing', 'do not reach all nodes that are up\n'],
  ] as const)(
    'asks two URLs who reaches whom, as one may repeat old answers: %s at URL %i',
    async (endpoint, gateway, connectivity, told) => {
      let now = Date.now();
      const world = { ...QUIET, frozen: false, nodes: 4, gateways: 2, ranges: 60, now: () => now };
      await using simulator = await startSimulator({ ...world, quirks: { connectivity } });
      simulator.fault({ endpoint, gateway, kind: 'old' });
      const args = ['nodes', '--safe-to-stop', await configFlag(simulator)];
      expect(await runHere(args)).toMatchObject({ code: 0 });
      simulator.world.partitionPair(3, 4);
      now += 20_000;
      const { code, err } = await runHere(args);
      expect([code, err]).toEqual([1, expect.stringContaining(`not known: nodes 3 and 4 ${told}`)]);
    },
  );

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

test('ranges reads each node at itself, and through the gateway where servers cannot', async () => {
  const listed: string[][] = [];
  for (const ignoreRemoteNode of [false, true]) {
    await using simulator = await startSimulator({
      ...QUIET,
      nodes: 3,
      ranges: 60,
      quirks: { ignoreRemoteNode },
    });
    const { code, out } = await runHere(['ranges', '-o', 'ndjson', await configFlag(simulator)]);
    expect(code).toBe(0);
    const replicas = out.trim().split('\n');
    const ids = replicas.map((line) => {
      const { range_id, node_id, store_id } = JSON.parse(line);
      return `${range_id} ${node_id} ${store_id}`;
    });
    expect(new Set(ids).size).toBe(ids.length);
    const paths = simulator.requests.entries.map(({ path }) => path);
    const ofNode3 = ignoreRemoteNode ? '/nodes/3/ranges/' : 'remote_node_id=3';
    expect(paths.some((path) => path.includes(ofNode3))).toBe(true);
    listed.push(ids.toSorted());
  }
  expect(listed[0]).toEqual(listed[1]);
});

test.each([
  ['ranges', []],
  ['tables', ['--load']],
  ['nodes', ['--safe-to-stop']],
  ['diagnose', ['--scan']],
])('%s %j reads each node in one response, whatever page_limit is', async (name, flags) => {
  const stores = { storesPerNode: 3, faultyNodes: false, frozen: true };
  await using simulator = await startSimulator({ nodes: 3, ranges: 60, ...stores });
  const more = 'collectors: { ranges: { page_limit: 5 } }\n';
  const { code } = await runHere([name, ...flags, await configFlag(simulator, { more })]);
  expect(code).toBe(0);
  // `diagnose` asks for a single range, too.
  const read = simulator.requests.entries.filter(
    ({ endpoint, path }) => endpoint === 'node_ranges' && !/[?&]ranges=/.test(path),
  );
  expect(read).toHaveLength(3);
  expect(new Set(read.map(({ node }) => node))).toEqual(new Set([1, 2, 3]));
  expect(read.filter(({ path }) => /limit=|offset=/.test(path))).toEqual([]);
});
