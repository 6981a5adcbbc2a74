import { createDecoder } from '../src/json/decoder.ts';
import {
  array,
  boolean,
  flags,
  integer,
  last,
  number,
  object,
  optional,
  record,
  selected,
  string,
  time,
  type ObjectShape,
} from '../src/json/shape.ts';
import { nodesPage, rangesPage, sessionsPage, WANTED_METRICS } from './decoder-pages.ts';

/**
 * How fast pages are narrowed to the fields that collectors use, against JSON.parse of the whole
 * text and a loop. The ways take turns, so that a busy moment of the machine hits all of them.
 */

const CHUNK_BYTES = 64 * 1024;
const WARM_UPS = 5;
const REPETITIONS = 11;

const range = object({
  desc: object({ range_id: integer() }),
  span: object({ start_key: string() }),
  source_node_id: integer(),
  source_store_id: integer(),
  lease_history: last(
    object({
      replica: object({ store_id: integer() }),
      epoch: integer(),
      term: integer(),
      sequence: integer(),
    }),
  ),
  problems: flags([
    'unavailable',
    'underreplicated',
    'overreplicated',
    'no_lease',
    'no_raft_leader',
    'leader_not_lease_holder',
  ]),
  stats: object({
    queries_per_second: number(),
    writes_per_second: number(),
    cpu_time_per_second: optional(number()),
  }),
  quiescent: boolean(),
  ticking: boolean(),
});

const session = object({
  node_id: integer(),
  username: string(),
  client_address: string(),
  application_name: string(),
  active_queries: array(
    object({ start: time(), phase: integer(), elapsed_time: optional(integer()) }),
  ),
  active_txn: optional(object({ start: time(), implicit: boolean(), num_retries: integer() })),
  start: time(),
  end: time(),
  status: optional(integer()),
  alloc_bytes: integer(),
  max_alloc_bytes: integer(),
});

const wanted = selected({ keys: WANTED_METRICS, prefixes: ['security.'] }, number());

const node = object({
  node_id: integer(),
  address: object({ address_field: string() }),
  build_tag: string(),
  started_at: integer(),
  updated_at: integer(),
  liveness_status: integer(),
  metrics: wanted,
  store_metrics: record(wanted),
});

interface Page {
  readonly title: string;
  readonly list: string;
  readonly element: ObjectShape;
  readonly bytes: Buffer;
}

function decode({ list, element, bytes }: Page): number {
  let elements = 0;
  const onElement = (): void => {
    elements++;
  };
  const limits = { elementBytes: 16 * 1024 * 1024, depth: 64 };
  const decoder = createDecoder({ list, element, envelope: object({}), onElement, limits });
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    decoder.write(bytes.subarray(at, at + CHUNK_BYTES));
  }
  decoder.end();
  return elements;
}

function parse({ list, bytes }: Page): number {
  const document: Record<string, unknown[]> = JSON.parse(bytes.toString());
  let elements = 0;
  for (const element of document[list] ?? []) if (element !== null) elements++;
  return elements;
}

function measure(way: (page: Page) => number, page: Page): number {
  const start = performance.now();
  way(page);
  return performance.now() - start;
}

function median(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

function report(name: string, times: number[], bytes: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  const middle = median(sorted);
  const spread = `${sorted[0]?.toFixed(1)}-${sorted.at(-1)?.toFixed(1)}`;
  const rate = (bytes / 1e3 / middle).toFixed(0);
  console.log(`  ${name.padEnd(12)} ${middle.toFixed(1).padStart(7)} ms (${spread}), ${rate} MB/s`);
  return middle;
}

function compare(page: Page): void {
  console.log(`${page.title}, ${(page.bytes.length / 1e6).toFixed(1)} MB`);
  const times = { parse: [] as number[], decode: [] as number[] };
  for (let round = -WARM_UPS; round < REPETITIONS; round++) {
    const parsed = measure(parse, page);
    const decoded = measure(decode, page);
    if (round < 0) continue;
    times.parse.push(parsed);
    times.decode.push(decoded);
  }
  const ratio =
    report('JSON.parse', times.parse, page.bytes.length) /
    report('decoder', times.decode, page.bytes.length);
  console.log(`  ${ratio.toFixed(2)} times as fast as JSON.parse`);
}

compare({ title: '20,000 ranges', list: 'ranges', element: range, bytes: rangesPage(20_000) });
compare({ title: '5,000 sessions', list: 'sessions', element: session, bytes: sessionsPage(5000) });
compare({ title: '20 nodes', list: 'nodes', element: node, bytes: nodesPage(20) });
