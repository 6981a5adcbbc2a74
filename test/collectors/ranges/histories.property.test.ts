import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { RequestError } from '../../../src/http/errors.ts';
import {
  type FakeCluster,
  type FakeNode,
  fakeCluster,
  type Polled,
  pollRanges,
  replica,
} from './cluster.ts';

const NODES = 7;
/** Elements of the first page; the second one has the rest. A dropped range shifts the border, a new one does not. */
const PAGE = 2;
const DEAD = 1;
/** Dead while it was being decommissioned. */
const DECOMMISSIONED = 5;
/** Decommissioned to the end: no longer listed. */
const GONE = -1;

/** A step in the life of a cluster; the numbers choose the range and the nodes. */
const steps = fc.record({
  act: fc.constantFrom('split', 'drop', 'move', 'move', 'repair', 'kill', 'revive', 'decommission'),
  a: fc.nat(1_000),
  b: fc.nat(1_000),
});
type Step = typeof steps extends fc.Arbitrary<infer S> ? S : never;
/** What happens before a scan, at its requests, and what goes wrong with it. */
const scans = fc.record({
  before: fc.array(steps, { maxLength: 4 }),
  during: fc.array(steps, { maxLength: 6 }),
  failing: fc.option(fc.integer({ min: 1, max: NODES }), { freq: 6 }),
  restart: fc.integer({ min: 0, max: 9 }).map((value) => value === 0),
});

class World {
  /** Nodes that hold a replica, by range id; the replicas of a dead node stay. */
  readonly ranges = new Map<number, { readonly factor: number; members: number[] }>();
  readonly status = new Map<number, number | undefined>();
  readonly moved = new Set<number>();
  /** Ranges that were dropped or have moved since the last complete scan: if their nodes die now, nobody can know. */
  readonly changed = new Set<number>();
  #nextId = 1;

  constructor(factors: readonly number[]) {
    for (let node = 1; node <= NODES; node += 1) this.status.set(node, undefined);
    for (const [at, factor] of factors.entries()) {
      this.#add(
        factor,
        Array.from({ length: factor }, (_, index) => ((at + index) % NODES) + 1),
      );
    }
  }

  isLive(node: number): boolean {
    return this.status.get(node) === undefined;
  }

  liveOf({ members }: { readonly members: readonly number[] }): readonly number[] {
    return members.filter((node) => this.isLive(node));
  }

  /** What does not happen in a real cluster is ignored: a range without a quorum does not change. */
  apply({ act, a, b }: Step, isDuring: boolean): void {
    const ids = [...this.ranges.keys()];
    const id = ids[a % ids.length];
    const range = id === undefined ? undefined : this.ranges.get(id);
    const node = (b % NODES) + 1;
    if (act === 'kill' || act === 'revive' || act === 'decommission') {
      if (!isDuring) this.#change(act, node);
      return;
    }
    if (id === undefined || range === undefined) return;
    const live = this.liveOf(range);
    if (live.length <= range.factor / 2) return;
    if (act === 'split') this.#add(range.factor, [...range.members]);
    else if (act === 'drop') {
      if (isDuring && this.moved.has(id)) return;
      this.ranges.delete(id);
      this.changed.add(id);
    } else if (this.isLive(node) && !range.members.includes(node)) {
      const dead = range.members.find((member) => !this.isLive(member));
      const leaving = act === 'repair' ? dead : live[b % live.length];
      // The scan cannot tell a replica that moves in each scan from one that is not there.
      if (leaving === undefined || this.moved.has(id)) return;
      this.moved.add(id);
      this.changed.add(id);
      range.members = range.members.map((member) => (member === leaving ? node : member));
    }
  }

  #change(act: string, node: number): void {
    const status = this.status.get(node);
    if (act === 'kill' && status === undefined) this.status.set(node, DEAD);
    const isDown = status === DEAD || status === DECOMMISSIONED;
    if (act === 'revive' && isDown) this.status.set(node, undefined);
    if (act === 'decommission' && isDown) {
      const holds = [...this.ranges.values()].some(({ members }) => members.includes(node));
      this.status.set(node, holds ? DECOMMISSIONED : GONE);
    }
  }

  #add(factor: number, members: number[]): void {
    this.ranges.set(this.#nextId, { factor, members });
    this.#nextId += 1;
  }

  elementsOf(node: number): unknown[] {
    return [...this.ranges].flatMap(([rangeId, range]) => {
      if (!range.members.includes(node)) return [];
      const live = this.liveOf(range);
      const problems: Record<string, boolean> = {};
      if (node === Math.min(...live)) {
        if (live.length < range.factor) problems['underreplicated'] = true;
        if (live.length <= range.factor / 2) problems['unavailable'] = true;
      }
      return [replica({ rangeId, nodeId: node, storeId: node, problems })];
    });
  }

  show(cluster: FakeCluster, failing: number | null): void {
    const listed = [...this.status].filter(([, status]) => status !== GONE);
    cluster.nodes = listed.map(([nodeId, status]): FakeNode => {
      const node = { nodeId, locality: localityOf(nodeId), ...(status && { status }) };
      if (nodeId === failing) return { ...node, ranges: new RequestError('http', 'HTTP 500') };
      const elements = this.elementsOf(nodeId);
      return { ...node, pages: [elements.slice(0, PAGE), elements.slice(PAGE)] };
    });
  }
}

function localityOf(node: number): string {
  return `region=r${node % 2},zone=z${node % 4}`;
}

/** Sample values by the value of a label. */
function valuesOf({ of }: Polled, family: string, label: string): Map<string, number> {
  return new Map(
    of(family)
      .filter((line) => line.includes('effect="quorum"'))
      .map((line) => [
        new RegExp(`[{,]${label}="([^"]*)"`).exec(line)?.[1] ?? '',
        Number(line.split(' ')[1]),
      ]),
  );
}

/** Ranges that lose their quorum with these nodes. */
function dependentOn(world: World, nodes: ReadonlySet<number>): number {
  return [...world.ranges.values()].filter((range) => {
    const live = world.liveOf(range);
    const left = live.filter((node) => !nodes.has(node));
    return live.length > range.factor / 2 && left.length <= range.factor / 2;
  }).length;
}

type FigureError = readonly [found: number, expected: number, domain: number | string];

/** Nodes and localities whose figures are not those of the world. */
function findErrors(polled: Polled, world: World): readonly FigureError[] {
  const live = [...world.status.keys()].filter((node) => world.isLive(node));
  const ofNode = valuesOf(polled, 'crdb_node_dependent_ranges', 'node_id');
  const ofLocality = valuesOf(polled, 'crdb_locality_dependent_ranges', 'locality');
  const byZone = [...Map.groupBy(live, localityOf)];
  const figures: readonly FigureError[] = [
    ...live.map((node): FigureError => [
      ofNode.get(String(node)) ?? NaN,
      dependentOn(world, new Set([node])),
      node,
    ]),
    ...byZone.map(([zone, nodes]): FigureError => [
      ofLocality.get(zone) ?? NaN,
      dependentOn(world, new Set(nodes)),
      zone,
    ]),
  ];
  return figures.filter(([found, expected]) => found !== expected);
}

test('no history makes a range look lost or dependent that is not', async () => {
  const property = fc.asyncProperty(
    fc.array(fc.constantFrom(1, 3, 3, 5), { minLength: 1, maxLength: 6 }),
    fc.array(scans, { minLength: 1, maxLength: 12 }),
    async (factors, history) => {
      const world = new World(factors);
      const cluster = fakeCluster([]);
      let state = ranges.createState();
      /** Holders of the ranges in the last complete scan, as they were while nothing changed. */
      let settled = new Map<number, string>();
      let known = new Set<number>();
      let movedBefore = new Set<number>();
      let wasQuiet = true;
      let wasWhole = true;
      for (const { before, during, failing, restart } of history) {
        if (restart) {
          state = ranges.createState();
          settled = new Map();
        }
        for (const step of before) world.apply(step, false);
        world.moved.clear();
        for (const id of movedBefore) world.moved.add(id);
        const isDown = (members: readonly number[]) => world.liveOf({ members }).length === 0;
        const lost = new Set(
          [...world.ranges].filter(([, { members }]) => isDown(members)).map(([id]) => id),
        );
        const isWhole = [...world.status.values()].every((status) => status === undefined);
        const isFirst = !state.hasCompleteScan;
        const visible = new Set(
          [...world.ranges].filter(([, { members }]) => !isDown(members)).map(([id]) => id),
        );
        const queue = [...during];
        cluster.hold = async () => {
          const step = queue.shift();
          if (step !== undefined) world.apply(step, true);
          world.show(cluster, failing);
        };
        world.show(cluster, failing);
        const options = { problem_ranges: 1_000, concurrency: 2 };
        const polled = await pollRanges(cluster.api, { state, options });
        const isComplete = polled.of('crdb_ranges').length > 0;
        const isQuiet = queue.length === during.length || during.length === 0;

        const [count] = polled.of('crdb_ranges_without_live_replica');
        const listed = polled
          .of('crdb_problem_range_first_seen_timestamp_seconds')
          .filter((line) => line.includes('no_live_replica'))
          .map((line) => Number(/range_id="(\d+)"/.exec(line)?.[1]));
        expect(listed.filter((id) => !lost.has(id) && !world.changed.has(id))).toEqual([]);
        expect(listed).toHaveLength(Number(count ?? 0));
        const isKnown = (id: number): boolean =>
          count !== undefined && settled.get(id) === String(world.ranges.get(id)?.members);
        expect([...lost].filter((id) => isKnown(id) && !listed.includes(id))).toEqual([]);
        // A new range with one holder counts from its second scan on: it may have been split off.
        const isNew = [...world.ranges].some(([id, { factor }]) => factor === 1 && !known.has(id));
        const isExact = isComplete && isQuiet && (isFirst || !isNew);
        const errors = isExact ? findErrors(polled, world) : [];
        // A replica that moved in the last scan was counted twice: the range may seem to miss one for another scan.
        const isCareful = ([found, expected]: FigureError): boolean => found > expected;
        expect(errors.filter((error) => wasQuiet || !isCareful(error))).toEqual([]);
        // The first scan cannot tell a range that was split off from one with a single replica, and no scan whether a
        // replica that was missing is still missing or has moved.
        const isJudged = isComplete && isWhole && (isQuiet || (!isFirst && wasWhole));
        const found = [...valuesOf(polled, 'crdb_node_dependent_ranges', 'node_id').values()];
        expect(isJudged && !factors.includes(1) ? found.filter((value) => value > 0) : []).toEqual(
          [],
        );
        if (isComplete) {
          wasQuiet = isQuiet;
          settled = isQuiet
            ? new Map(
                [...world.ranges]
                  .filter(([id, { factor }]) => factor > 1 || isFirst || known.has(id))
                  .filter(([, { members }]) => !isDown(members) || settled.size > 0)
                  .filter(([id, { members }]) => !isDown(members) || settled.has(id))
                  .map(([id, { members }]) => [id, String(members)]),
              )
            : new Map();
          known = isQuiet ? visible : new Set();
          wasWhole = isWhole;
          movedBefore = new Set(isQuiet ? [] : world.moved);
          for (const id of world.changed) {
            if (isQuiet && count !== undefined && !listed.includes(id)) world.changed.delete(id);
          }
        }
      }
    },
  );
  const scan = { before: [], during: [], failing: null, restart: false };
  const kill = { act: 'kill', a: 0, b: 0 } as const;
  const split = { act: 'split', a: 0, b: 0 } as const;
  // The replica that reports the missing ones moves while the scan runs, and nobody reports them.
  const movesReporter: [number[], (typeof scans extends fc.Arbitrary<infer S> ? S : never)[]] = [
    [5, 1],
    [
      { ...scan, before: [kill, { ...kill, b: 1 }] },
      { ...scan, during: [split, split, { act: 'move', a: 0, b: 741 }] },
      scan,
      scan,
    ],
  ];
  // Of other histories one in some thousand cannot be told from another with other figures: a range was split off, moved
  // and lost its nodes within two scans that also missed a page or a node.
  await fc.assert(property, { numRuns: 120, seed: 1, examples: [movesReporter] });
}, 120_000);
