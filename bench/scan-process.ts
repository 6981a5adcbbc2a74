import { inSlices } from '#base';
import { createPollStats, warningText } from '#cockroach';
// Scans of all nodes of a cluster by the ranges collector, from the sockets to the samples.
import { ranges } from '#collectors';
import { SampleSet } from '#metrics';
import { bytesOf, contextOf } from '../test/collectors/ranges/cluster.ts';
import { createTestClient } from '../test/support/cluster.ts';
import { type Cost, measure, residentMib, settle } from './cost.ts';
import { serveCalls } from './process.ts';
import type { ServedCluster } from './scale-server.ts';

/** Result and cost of one scan. */
export interface Scanned {
  readonly cost: Cost;
  readonly bytes: number;
  readonly replicas: number;
  readonly series: number;
  /** Bytes of the table of ranges. */
  readonly knownBytes: number;
  readonly knownRanges: number;
}

const { url, token }: ServedCluster = JSON.parse(process.argv[2] ?? '{}');
const client = createTestClient({
  urls: [url],
  maxResponseBytes: Infinity,
  token: () => Promise.resolve(token),
});
const state = ranges.createState();

async function scan(): Promise<Scanned> {
  const samples = new SampleSet({ crdb_cluster: 'bench' });
  // The lists alone: descriptors are read for 10 s, whatever the lists cost.
  const context = {
    ...contextOf({ route: 'proxy', descriptor_max_age: 0 }, state),
    ...createPollStats(AbortSignal.timeout(600_000)),
  };
  const cost = await measure(async () => {
    const result = await ranges.collect(client.api, context);
    if (result.failure !== undefined) throw result.failure;
    const steps = ranges.samples(result, samples, '0');
    if (steps !== undefined) await inSlices(steps[Symbol.iterator]());
  });
  for (const warning of context.warnings.values()) console.log(warningText(warning));
  return {
    cost,
    bytes: context.bytes,
    replicas: context.items,
    series: samples.series,
    knownBytes: bytesOf(state.known.map),
    knownRanges: state.known.map.size,
  };
}

serveCalls({
  scan,
  async resident() {
    await settle();
    return residentMib().now;
  },
  peak: () => residentMib().peak,
});
