import { expect, test } from 'vitest';
import type { Quirks } from '../../../simulator/index.ts';
import { judge } from '../../../src/status/findings/judge.ts';
import { lastKnownLosses, remember } from '../../../src/status/findings/last-known.ts';
import { openScene, type Scene } from '../../browser/scenes.ts';
import { withCollectors } from '../../support/exporter.ts';
import { measureSlowness } from '../../support/slowness.ts';
import { readCluster } from '../read-status.ts';
import { observeAt, polledCluster, pollersOf, RANGES, VERIFIED } from '../results.ts';
import { openWithLostRange, simulatorOf } from './worlds.ts';

/** A cluster of nine nodes whose data expires soon, but not between two polls. */
function openShortLived(quirks: Partial<Quirks> = {}): Promise<Scene> {
  const pace = Math.floor(measureSlowness());
  const times = { timeout: 2 * pace, max_age: 4 * pace };
  return openScene({
    clusters: { demo: { nodes: 9, faultyNodes: false, frozen: true, quirks } },
    intervalSeconds: pace,
    adapt: (config) => withCollectors(config, (each) => ({ ...each, ...times })),
  });
}

/** Nodes 8 and 9 go down, and with them the quorum of range 6. */
async function loseTwoNodes(scene: Scene): Promise<void> {
  const { world } = simulatorOf(scene);
  world.placeRange(6, [1, 8, 9]);
  world.killNode(8, 'unavailable');
  world.killNode(9, 'unavailable');
  const seen = async () => {
    const { nodes, ranges } = await readCluster(scene);
    const isListed = ranges?.oldest.some(({ rangeId }) => rangeId === 6);
    return [nodes?.byStatus['unavailable'], isListed, ranges?.nodes.failed];
  };
  await expect.poll(seen).toEqual([2, true, 0]);
  // A scan during which they went down sees half of it.
  let last: readonly unknown[] = [];
  const isSettled = async () => {
    const { ranges, collectors } = await readCluster(scene);
    const at = collectors.find(({ name }) => name === 'ranges')?.lastSuccessAt;
    const [lastAt, lastUnavailable] = last;
    if (at === lastAt) return false;
    const unavailable = ranges?.problems['unavailable'];
    last = [at, unavailable];
    return unavailable === lastUnavailable;
  };
  await expect.poll(isSettled).toBe(true);
}

/** More nodes go down between two scans, until liveness has no quorum. */
async function loseLiveness(scene: Scene): Promise<void> {
  const { world } = simulatorOf(scene);
  const isScanning = async () =>
    (await readCluster(scene)).collectors.find(({ name }) => name === 'ranges')?.isPolling;
  await expect.poll(isScanning).toBe(false);
  const holders = world.state.ranges.get(2)?.replicas ?? [];
  for (const { nodeId } of holders.filter((each) => each.nodeId !== 1).slice(0, 3)) {
    world.killNode(nodeId);
  }
}

async function pageOf({ exporter }: Scene): Promise<string> {
  const { text } = await exporter.get('/');
  return text.slice(text.indexOf('class="headline'), text.indexOf('id="collectors"'));
}

test(
  'what was last seen is all that is left of a cluster without its system ranges',
  { timeout: 600_000 },
  async () => {
    await using scene = await openShortLived();
    const simulator = simulatorOf(scene);
    await loseTwoNodes(scene);
    const before = await readCluster(scene);
    expect(before.lastKnown).toBeUndefined();
    expect(await pageOf(scene)).not.toContain('last known');
    const unavailable = before.ranges?.problems['unavailable'] ?? 0;
    expect([before.state, before.findings[0]?.level]).toEqual(['problems', 'critical']);

    await loseLiveness(scene);
    await scene.exporter.until(
      (scrape) =>
        scrape.value('crdb_up', { api: 'cluster' }) === 0 &&
        ['crdb_node_liveness', 'crdb_range_replicas', 'crdb_sessions'].every(
          (name) => scrape.all(name).length === 0,
        ),
    );
    const during = await readCluster(scene);
    expect(during).toMatchObject({
      state: 'unknown',
      safeToStop: { answer: 'unknown', nodes: [] },
    });
    expect([during.nodes, during.ranges, during.sessions]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    const { nodes, ranges, worst } = during.lastKnown ?? {};
    expect(worst).toMatchObject({ level: 'critical', since: before.since });
    expect(
      nodes?.list.filter(({ status }) => status === 'unavailable').map(({ id }) => id),
    ).toEqual([8, 9]);
    expect(ranges?.problems).toMatchObject({ unavailable });
    expect(Object.keys(ranges ?? {}).toSorted()).toEqual(['nodes', 'oldest', 'problems', 'seenAt']);
    const [first, ...others] = during.findings.filter(({ about }) => about !== 'assistant');
    expect(first).toMatchObject({ alert: 'CrdbClusterApiDown', level: 'critical' });
    expect(first?.text).toMatch(
      new RegExp(
        String.raw`Last seen [\d mins]+ ago: 7 of 9 nodes live, nodes 8 and 9 down\. Ranges, last read [\d mins]+ ago: ${unavailable} had no quorum\.$`,
      ),
    );
    expect(others).toEqual([]);
    const page = await pageOf(scene);
    for (const title of ['Nodes, last known', 'Problem ranges, last known']) {
      expect(page).toMatch(new RegExp(`class="panel \\w+ past"[^>]*>\\s*<h3[^>]*>${title}</h3>`));
    }
    expect(page).toMatch(/unavailable, <time/);
    const listed = ranges?.oldest.find(({ problem }) => problem === 'unavailable')?.rangeId;
    expect(page).toMatch(new RegExp(`<th[^>]*>r${listed}<`));
    expect(page).not.toMatch(/class="(?:icon )?(?:live|healthy)"/);
    expect(page).not.toMatch(/decommission|may stop now|crdb-exporter ranges?\b/);

    await using restarted = await openScene({
      simulators: scene.simulators,
      intervalSeconds: 0.5,
      adapt: (config) => withCollectors(config, (each) => ({ ...each, timeout: 1 })),
    });
    await expect.poll(async () => (await readCluster(restarted)).state).toBe('unknown');
    expect((await readCluster(restarted)).lastKnown).toBeUndefined();

    for (let id = 1; id <= 9; id += 1) simulator.world.reviveNode(id);
    const isSeen = async () => (await readCluster(scene)).nodes?.byStatus['live'];
    await expect.poll(isSeen).toBe(9);
    expect((await readCluster(scene)).lastKnown).toBeUndefined();
    expect(await pageOf(scene)).not.toContain('last known');
  },
);

test(
  'of what was last seen the system ranges come first, by name',
  { timeout: 300_000 },
  async () => {
    await using scene = await openShortLived({ systemRangesLost: 'works' });
    const simulator = simulatorOf(scene);
    await loseTwoNodes(scene);
    simulator.world.placeRange(2, [1, 8, 9]);
    const isListed = async () =>
      (await readCluster(scene)).ranges?.oldest.some(
        ({ rangeId, problem }) => rangeId === 2 && problem === 'unavailable',
      );
    await expect.poll(isListed).toBe(true);
    simulator.setQuirk('systemRangesLost', 'hang');
    const text = async () => (await readCluster(scene)).findings[0]?.text;
    await expect
      .poll(text)
      .toMatch(
        / Last seen .* had no quorum, system ranges among them: r2 \(system: node liveness\)\.$/,
      );
    const page = await pageOf(scene);
    expect(page.slice(page.indexOf('id="problem-ranges"'))).toMatch(
      /<tbody>\s*<tr>\s*<th[^>]*>r2<\/th><td[^>]*>unavailable<\/td><td[^>]*>system: node liveness</,
    );
  },
);

test(
  'ranges that were lost are not forgotten while another node is not read',
  { timeout: 300_000 },
  async () => {
    await using scene = await openWithLostRange();
    const lost = async () =>
      (await readCluster(scene)).findings.find(({ alert }) => alert === 'CrdbRangesLost');
    const text = async () => (await lost())?.text;
    await expect.poll(text).toMatch(/^1 range without a live replica/);
    const { key, since } = (await lost()) ?? {};
    simulatorOf(scene).fault({ kind: 'status', status: 500, node: 5 });
    await expect
      .poll(text)
      .toMatch(
        /^Not known now, last known .* ago: 1 range without a live replica.* was on node 4\./,
      );
    expect(await lost()).toMatchObject({ key, since, level: 'critical' });
    const { state, ranges } = await readCluster(scene);
    expect([state, ranges?.problems['no_live_replica']]).toEqual(['problems', undefined]);
    const { text: page } = await scene.exporter.get('/');
    expect(page).toMatch(/Tables without quorum<\/span><b>not known</);
    simulatorOf(scene).world.reviveNode(4);
    await expect
      .poll(text)
      .toMatch(/^Not known now, .* Since then node 4 came up and may have what was missing\.$/);
    expect(await lost()).toMatchObject({ key, since, level: 'warning' });
    simulatorOf(scene).clearFaults();
    await expect.poll(lost).toBeUndefined();
  },
);

test('of the ranges that were last seen the counts are those of the findings, with what is in doubt', async () => {
  const polled = polledCluster({ pollers: await pollersOf({ ranges: 'ok' }), isUp: true });
  const reading = judge(observeAt(0, polled), () => 0);
  const seen = (more: object) => {
    const ranges = { ...RANGES, verification: VERIFIED, ...more };
    return remember({}, 'ranges', { ...reading, ranges }).ranges;
  };
  const disputed = { ranges: 2, nodeIds: [6] };
  const withoutQuorum = { ...RANGES.withoutQuorum, unreportedRanges: 3 };
  expect(seen({})).toMatchObject({ problems: {}, doubt: undefined });
  expect(seen({ withoutQuorum })?.problems).toEqual({ unavailable: 3 });
  const mixed = seen({ withoutQuorum, disputed, problems: { unavailable: 2, other: 1 } });
  expect(mixed).toMatchObject({ problems: { unavailable: 3, other: 1 }, disputed });
  const claimed = seen({ disputed, problems: { unavailable: 2 } });
  expect([claimed?.problems, claimed?.disputed]).toEqual([{}, disputed]);
  expect(seen({ verification: { ...VERIFIED, keySpace: 'gap' } })?.doubt).toMatch(
    /^Ranges are missing that no node reports/,
  );
});

test('a node that is up by a later list, and that the scan did not read, may have what was lost', async () => {
  await using scene = await openWithLostRange();
  const { nodes, collectors, findings, ...view } = await readCluster(scene);
  const [known, ...others] = nodes?.list ?? [];
  const [finding] = findings;
  if (nodes === undefined || known === undefined || finding === undefined) throw new Error('none');
  const told = (time: string, status: 'live' | 'dead') => {
    const lastSuccessAt = `2026-01-01T${time}:00.000Z`;
    const up = others.map((node) => ({ ...node, status: 'live' as const }));
    const list = [...up, { ...known, id: 7, status }];
    const losses = {
      problems: [{ ...finding, level: 'critical' as const }],
      seenAt: '2026-01-01T12:01:00.000Z',
      read: others.map(({ id }) => id),
    };
    const given = {
      ...view,
      nodes: { ...nodes, list },
      collectors: collectors.map((each) => ({
        ...each,
        isOld: false,
        failure: undefined,
        lastSuccessAt,
      })),
      ranges: undefined,
    };
    const [problem] = lastKnownLosses(losses, given, Date.parse('2026-01-01T12:04:00.000Z'));
    const isStart = problem?.next.startsWith('Start the nodes that are down');
    return [problem?.level, problem?.text.includes('Since then node 7 came up'), isStart];
  };
  expect(told('12:03', 'live')).toEqual(['warning', true, false]);
  expect(told('12:03', 'dead')).toEqual(['critical', false, true]);
  // That it was down was in no list: only the scan has left it out.
  expect(told('12:00', 'live')).toEqual(['critical', false, true]);
});
