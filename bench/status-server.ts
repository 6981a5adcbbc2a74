// A cluster of many small nodes, answered from memory: logins, the list of nodes, and the ranges of each live node.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { serveCalls } from './process.ts';

/** The argument of this program. */
export interface ManyNodes {
  readonly nodes: number;
  /** Tiers of the locality of each node, with a value of its own in each. */
  readonly tiers: number;
}

const { nodes, tiers }: ManyNodes = JSON.parse(process.argv[2] ?? '{}');
/** Every tenth node is dead. */
const isDead = (id: number): boolean => id % 10 === 0;
const REPLICAS = 3;
const STARTED_AT = Date.now() - 3_600_000;
/** Codes of liveness. */
const LIVE = 3;
const DEAD = 1;

/** Range 7 has its replicas on nodes 7, 8 and 9; node 7 holds the lease. */
function rangesOf(nodeId: number): string {
  const ids = Array.from({ length: REPLICAS }, (_, index) => nodeId - index).filter((id) => id > 0);
  const ranges = ids.toReversed().map((id) => ({
    desc: { range_id: id },
    span: { start_key: `/Table/${100 + (id % 30)}/1/${id}` },
    source_node_id: nodeId,
    source_store_id: nodeId,
    lease_history: [{ epoch: 1, sequence: 1, replica: { node_id: id, store_id: id } }],
    problems: ids.some(isDead) ? { underreplicated: true } : {},
    stats: { queries_per_second: id % 7, writes_per_second: 1 },
    ticking: true,
  }));
  return JSON.stringify({ ranges });
}

function nodeOf(id: number, nowMs: number) {
  const own = Array.from({ length: tiers }, (_, at) => ({
    key: `tier${at}`,
    value: `${at}-${id}`,
  }));
  return {
    node_id: id,
    address: { address_field: `10.0.${id >> 8}.${id & 255}:26257` },
    build_tag: 'v25.4.3',
    locality: { tiers: own },
    started_at: STARTED_AT * 1e6,
    updated_at: (isDead(id) ? STARTED_AT : nowMs) * 1e6,
    liveness_status: isDead(id) ? DEAD : LIVE,
    metrics: { 'sys.cpu.combined.percent-normalized': 0.5 },
    store_metrics: { [id]: { replicas: Math.min(id, REPLICAS) } },
  };
}

function answer(path: string, query: URLSearchParams): string | undefined {
  if (path === '/api/v2/login/') return '{"session":"any"}';
  if (path === '/api/v2/nodes/') {
    const from = Number(query.get('offset'));
    const to = Math.min(nodes, from + Number(query.get('limit')));
    const list = Array.from({ length: to - from }, (_, at) => nodeOf(from + at + 1, Date.now()));
    return JSON.stringify({ nodes: list, ...(to < nodes && { next: to }) });
  }
  const id = Number(/^\/api\/v2\/nodes\/(\d+)\/ranges\/$/.exec(path)?.[1]);
  return id <= nodes && !isDead(id) ? rangesOf(id) : undefined;
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://cluster');
  request.resume();
  const text = answer(pathname, searchParams);
  response.statusCode = text === undefined ? 404 : 200;
  response.setHeader('Content-Type', 'application/json');
  response.end(text ?? '{}');
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
const port = typeof address === 'object' && address !== null ? address.port : 0;

serveCalls({ url: () => `http://127.0.0.1:${port}` });
