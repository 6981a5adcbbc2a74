// Scans of all nodes of a cluster by the ranges collector, from the sockets to the sheet.
import { ranges } from '../src/collectors/ranges.ts';
import { classifyThrown } from '../src/http/errors.ts';
import { startReading } from '../src/http/reading.ts';
import { Sheet } from '../src/metrics/sheet.ts';
import { createTestClient } from '../test/support/cluster.ts';
import { type Cost, measure, residentMib, settle } from './cost.ts';
import { answerQuestions } from './process.ts';
import type { ServedCluster } from './scale-server.ts';

/** What one scan read, and what it took. */
export interface Scanned {
  readonly cost: Cost;
  readonly bytes: number;
  readonly replicas: number;
  readonly series: number;
  /** Bytes of what is remembered of the ranges. */
  readonly knownBytes: number;
  readonly knownRanges: number;
}

const { url, token }: ServedCluster = JSON.parse(process.argv[2] ?? '{}');
const client = createTestClient({
  urls: [url],
  maxResponseBytes: Infinity,
  token: () => Promise.resolve(token),
});
const memory = ranges.createMemory();

async function scan(): Promise<Scanned> {
  const reading = startReading(AbortSignal.timeout(600_000));
  const sheet = new Sheet({ crdb_cluster: 'bench' });
  const context = Object.assign(reading, {
    options: {
      page_limit: 20_000,
      concurrency: 2,
      route: 'proxy',
      hot_ranges: 20,
      problem_ranges: 20,
    } as const,
    memory,
    shard: '0',
    shards: { index: 0, count: 1 },
    nowMs: () => Date.now(),
    urls: 1,
    scanProgress: () => undefined,
    shardLearned: () => undefined,
    notice: (text: string) => console.log(text),
    reasonOf: (error: unknown) => classifyThrown(error, 'scan').reason,
  });
  const cost = await measure(async () => {
    const failure = await ranges.collect(client.api, sheet, context);
    if (failure !== undefined) throw new Error(failure.message);
  });
  const { narrow, wide } = memory.known.tables;
  return {
    cost,
    bytes: reading.bytes,
    replicas: reading.items,
    series: sheet.series,
    knownBytes: narrow.bytes + wide.bytes,
    knownRanges: narrow.size + wide.size,
  };
}

answerQuestions({
  scan,
  async resident() {
    await settle();
    return residentMib().now;
  },
  peak: () => residentMib().peak,
});
