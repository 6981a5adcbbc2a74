import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../../simulator/index.ts';
import { configFlag, runHere } from '../run.ts';

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
    simulator.world.killNode(2);
    expect((await runHere(['range', '20', config])).err).toContain(
      'no live node reports range 20: merged or dropped, or only node 3 holds it, which could not be read, or lost with node 2, which is not live: the status page names',
    );
    failure.remove();
    simulator.world.reviveNode(2);
    simulator.world.killNode(3);
    expect((await runHere(['range', '20', config])).err).toContain(
      'no live node reports range 20: merged or dropped, or lost with node 3, which is not live: the status page names the nodes that held a lost range',
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
    const sleep = async (): Promise<void> => simulator.world.setProblem(20, 'no_lease', false);
    const { code, out } = await runHere(['range', '20', '--watch', config], {}, { sleep });
    expect(code).toBe(0);
    expect(out).toContain('no_lease: without a valid lease');
    expect(out).toContain('No replica reports a problem.');
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
