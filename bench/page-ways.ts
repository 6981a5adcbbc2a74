// Implementations that read all ranges of a node in one page; each runs in a separate process.
import { Agent, request } from 'undici';
import { createPollStats } from '#cockroach';
import {
  COLLECTOR_SHAPES,
  ranges as rangesCollector,
  readNodeRanges,
  LOAD_INDEX,
} from '#collectors';
import { contextOf } from '../test/collectors/ranges/cluster.ts';
import { createTestClient } from '../test/support/cluster.ts';
import { measure, residentMib, selfWatch, settle } from './cost.ts';
import { serveCalls } from './process.ts';

export interface PageWay {
  readonly way: keyof typeof WAYS;
  readonly url: string;
  readonly token: string;
  /** By default as those of the cluster for scans begin. */
  readonly nodeId?: number;
  /** The certificate of who signed that of the server. */
  readonly ca?: string;
}

/** The result; the same for all implementations that decode the page. */
export interface Found {
  readonly replicas: number;
  readonly queries: number;
  /** Of the response; 0 where it was not counted. */
  readonly bytes: number;
}

const HOT_RANGES = 20;
const WAYS = { exporter: readAsExporter, json: readAsJson, nothing: readOnly };
const { way, url, token, nodeId = 101, ca }: PageWay = JSON.parse(process.argv[2] ?? '{}');
const dispatcher = new Agent({ connect: { ...(ca !== undefined && { ca }) } });
const client = createTestClient({
  urls: [url],
  maxResponseBytes: Infinity,
  token: () => Promise.resolve(token),
});

/** The work of the ranges collector for one node, up to its aggregate. */
async function readAsExporter(): Promise<Found> {
  const state = Object.assign(rangesCollector.createState(), { gatewayOnly: true });
  const context = {
    ...contextOf({ route: 'gateway' }, state),
    ...createPollStats(AbortSignal.timeout(600_000)),
  };
  const node = { api: client.api, context, nodeId, firstUrl: 0 };
  const { totals } = await readNodeRanges(
    { ...node, isAssigned: () => true },
    { shape: COLLECTOR_SHAPES.replica },
  );
  const stores = [...totals.stores.values()];
  return {
    replicas: stores.reduce((sum, { replicas }) => sum + replicas, 0),
    queries: stores.reduce((sum, { load }) => sum + (load[LOAD_INDEX.queries] ?? 0), 0),
    bytes: context.bytes,
  };
}

async function get() {
  const target = `${url}/api/v2/nodes/${nodeId}/ranges/`;
  const headers = { 'accept-encoding': 'identity', 'X-Cockroach-API-Session': token };
  return (await request(target, { dispatcher, headers, headersTimeout: 0, bodyTimeout: 0 })).body;
}

/** The usual implementation: the whole response as objects, then a loop. It does less than the exporter: it stores no range. */
async function readAsJson(): Promise<Found> {
  const document = await (await get()).json();
  if (!holdsRanges(document)) throw new Error('no ranges');
  return countRanges(document.ranges);
}

interface JsonRange {
  readonly desc: { readonly range_id: number };
  readonly source_store_id: number;
  readonly lease_history: readonly {
    readonly epoch?: number;
    readonly term?: number;
    readonly replica: { readonly store_id: number };
  }[];
  readonly problems: Readonly<Record<string, boolean>>;
  readonly stats: Readonly<Record<string, number | undefined>>;
}

function holdsRanges(document: unknown): document is { readonly ranges: readonly JsonRange[] } {
  return typeof document === 'object' && document !== null && 'ranges' in document;
}

function countRanges(ranges: readonly JsonRange[]): Found {
  const problems = new Map<string, number>();
  const queries = new Map<number, number>();
  const kinds = { epoch: 0, expiration: 0, leader: 0 };
  let hot: { id: number; queries: number }[] = [];
  for (const range of ranges) {
    const store = range.source_store_id;
    for (const [problem, isTrue] of Object.entries(range.problems)) {
      const key = `${store} ${problem}`;
      if (isTrue) problems.set(key, (problems.get(key) ?? 0) + 1);
    }
    const own = range.stats['queries_per_second'] ?? 0;
    queries.set(store, (queries.get(store) ?? 0) + own);
    const lease = range.lease_history.at(-1);
    if (lease?.replica.store_id !== store) continue;
    kinds[lease.term ? 'leader' : lease.epoch ? 'epoch' : 'expiration'] += 1;
    if (own <= (hot[HOT_RANGES - 1]?.queries ?? 0)) continue;
    hot.push({ id: range.desc.range_id, queries: own });
    hot = hot.toSorted((a, b) => b.queries - a.queries).slice(0, HOT_RANGES);
  }
  const sum = [...queries.values()].reduce((a, b) => a + b, 0);
  return { replicas: ranges.length, queries: sum, bytes: 0 };
}

/** Only receives the bytes: the minimum with undici. */
async function readOnly(): Promise<Found> {
  const body = await get();
  let bytes = 0;
  await new Promise((resolve, reject) => {
    body.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    body.on('end', resolve);
    body.on('error', reject);
  });
  return { replicas: 0, queries: 0, bytes };
}

let found: Found = { replicas: 0, queries: 0, bytes: 0 };

serveCalls({
  ...selfWatch(),
  async run() {
    return measure(async () => {
      found = await WAYS[way]();
    });
  },
  found: () => found,
  async resident() {
    await settle();
    return residentMib().now;
  },
  peak: () => residentMib().peak,
});
