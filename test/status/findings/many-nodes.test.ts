import { expect, test } from 'vitest';
import type { ClusterScan } from '../../../src/collectors/ranges/scan-result.ts';
import type { Observation } from '../../../src/exporter/observation.ts';
import { judge } from '../../../src/status/findings/judge.ts';
import {
  node,
  nodesResult,
  observeAt,
  pollersOf,
  polledCluster,
  scannedRanges,
  scannedStore,
  WHOLE_SCAN,
} from '../results.ts';

const NOW_MS = 1_700_000_200_000;
const FEW = 200;
const TIMES = 16;
const ROUNDS = 4;
/** A cluster of 3,200 nodes is about as much work as 16 clusters of 200; pairs of nodes would be 16 times as much. */
const MAX_RATIO = 4;

function isDead(id: number): boolean {
  return id % 10 === 0;
}

/** All ranges are verified. Those of node 1 depend on it; the others may stop, as far as their ranges tell. */
function scanOf(ids: readonly number[], localities: ReadonlySet<string>): ClusterScan {
  const live = ids.filter((id) => !isDead(id));
  return {
    ...WHOLE_SCAN,
    dependence: {
      nodes: new Map(
        live.map((id) => [
          id,
          { quorum: id === 1 ? 7 : 0, allReplicas: 0, withoutQuorum: 0, named: 0, missing: 0 },
        ]),
      ),
      localities: Array.from(localities, (locality) => ({
        tier: 'tier0',
        locality,
        quorum: 7,
        allReplicas: 0,
      })),
      downReplicas: new Map(ids.filter(isDead).map((id) => [id, 7])),
      mostVoters: 3,
    },
  };
}

/** A tenth of the nodes is dead; each live node has some leases and queries. */
async function clusterOf(nodes: number, tiersOf: (id: number) => readonly string[]) {
  const ids = Array.from({ length: nodes }, (_, at) => at + 1);
  const listed = ids.map((id) =>
    node(id, {
      livenessCode: isDead(id) ? 1 : 3,
      isFresh: !isDead(id),
      tiers: tiersOf(id).map((value, at) => ({ key: `tier${at}`, value })),
      metrics: new Map([['sys.cpu.combined.percent-normalized', 0.5]]),
    }),
  );
  const localities = new Set(ids.flatMap((id) => tiersOf(id).slice(0, 1)));
  const cluster = scanOf(ids, new Set([...localities].map((value) => `tier0=${value}`)));
  const scanned = ids.filter((id) => !isDead(id)).map((id) => scannedStore(id, 200 + (id % 7), id));
  return polledCluster({
    pollers: await pollersOf({ nodes: 'ok', ranges: 'ok' }),
    isUp: true,
    results: { nodes: nodesResult(...listed), ranges: scannedRanges({ cluster }, scanned) },
  });
}

function readAll(cluster: Observation) {
  return judge(observeAt(NOW_MS, cluster), () => NOW_MS);
}

/** Microseconds of CPU time of this thread. */
function costOf(cluster: Observation, reads: number): number {
  const before = process.threadCpuUsage();
  for (let read = 0; read < reads; read += 1) readAll(cluster);
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}

test.each([
  ['without locality', () => []],
  ['with one region', () => ['a']],
  ['with a region of their own', (id: number) => [`${id}`]],
  ['with five tiers of their own', (id: number) => [1, 2, 3, 4, 5].map((at) => `${at}-${id}`)],
  ['with a rack of twenty', (id: number) => ['a', `${id % 3}`, `${Math.floor(id / 20)}`]],
])('the work grows with the nodes, not with their pairs: %s', async (_what, tiersOf) => {
  const few = await clusterOf(FEW, tiersOf);
  expect(readAll(few).safeToStop.decisions).toHaveLength(0.9 * FEW);
  const many = await clusterOf(TIMES * FEW, tiersOf);
  let [ofFew, ofMany] = [0, 0];
  costOf(few, TIMES);
  for (let round = 0; round < ROUNDS; round += 1) {
    ofFew += costOf(few, TIMES);
    ofMany += costOf(many, 1);
  }
  expect(ofMany / ofFew).toBeLessThan(MAX_RATIO);
});
