import {
  array,
  boolean,
  flags,
  integer,
  last,
  number,
  object,
  type ObjectShape,
  optional,
  PageParser,
  record,
  selected,
  string,
  time,
} from '#json';
import { Comparison, describeUse, measureUse, takeTurns } from './cost.ts';
import { nodesPage, rangesPage, sessionsPage, WANTED_METRICS } from './json-pages.ts';
import { report, type Row } from './rows.ts';

/**
 * Decoding pages with the shapes of the collectors, compared with JSON.parse of the whole text. Both
 * run in turns, so that other load on the machine affects them equally.
 */

const CHUNK_BYTES = 64 * 1024;
const ROUNDS = Number(process.argv[2] ?? 9);

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
  const limits = { maxElementBytes: 16 * 1024 * 1024, maxDepth: 64 };
  const decoder = new PageParser({ list, element, envelope: object({}), onElement, ...limits });
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

/** CPU milliseconds of all threads, which vary less than elapsed time on a busy machine. */
async function compare(page: Page, target: number): Promise<Row> {
  const { parse: usual = [], decode: own = [] } = await takeTurns(
    { parse: () => measureUse(() => parse(page)), decode: () => measureUse(() => decode(page)) },
    { rounds: ROUNDS },
  );
  const ratio = new Comparison(own, usual);
  const { length } = page.bytes;
  return {
    name: `Decoder only, in chunks of 64 kB: ${page.title} (${(length / 1e6).toFixed(1)} MB)`,
    target: `≥ ${target} ×`,
    result: `${ratio.text}; ${describeUse(own, length)}`,
    baseline: `JSON.parse of the whole text: ${describeUse(usual, length)}`,
    isMet: ratio.median >= target,
  };
}

const ranges = { title: '20,000 ranges', list: 'ranges', element: range };
const sessions = { title: '5,000 sessions', list: 'sessions', element: session };
const nodes = { title: '20 nodes', list: 'nodes', element: node };
report([
  await compare({ ...ranges, bytes: rangesPage(20_000) }, 3),
  await compare({ ...sessions, bytes: sessionsPage(5_000) }, 1.5),
  await compare({ ...nodes, bytes: nodesPage(20) }, 1),
]);
