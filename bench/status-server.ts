// A cluster of many small nodes, answered from memory: logins, the list of nodes, the ranges of each live node and their
// descriptors.
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

/** Range 7 has its replicas on nodes 7, 8 and 9; the first live one holds the lease. */
function holdersOf(rangeId: number): readonly number[] {
  return Array.from({ length: REPLICAS }, (_, index) => 1 + ((rangeId - 1 + index) % nodes));
}

function leaseholderOf(rangeId: number): number {
  return holdersOf(rangeId).find((id) => !isDead(id)) ?? 0;
}

function rangesOf(nodeId: number): string {
  const ids = Array.from(
    { length: REPLICAS },
    (_, index) => 1 + ((nodeId - 1 - index + nodes) % nodes),
  );
  const ranges = ids
    .toSorted((a, b) => a - b)
    .map((id) => ({
      desc: {
        range_id: id,
        ...(id > 1 && { start_key: `K${id}` }),
        end_key: id < nodes ? `K${id + 1}` : '//8=',
      },
      span: { start_key: `/Table/${100 + (id % 30)}/1/${id}` },
      source_node_id: nodeId,
      source_store_id: nodeId,
      lease_history: [
        {
          epoch: 1,
          sequence: 1,
          replica: { node_id: leaseholderOf(id), store_id: leaseholderOf(id) },
        },
      ],
      problems:
        leaseholderOf(id) === nodeId && holdersOf(id).some(isDead) ? { underreplicated: true } : {},
      stats: { queries_per_second: id % 7, writes_per_second: 1 },
      ticking: true,
    }));
  return JSON.stringify({ ranges });
}

function describedBy(nodeId: number, rangeIds: readonly number[]): string {
  const held = rangeIds.filter((id) => holdersOf(id).includes(nodeId));
  const ranges = held.map((id) => ({
    state: {
      state: {
        desc: {
          rangeId: String(id),
          generation: '1',
          internalReplicas: holdersOf(id).map((holder) => ({ nodeId: holder, type: 0 })),
        },
      },
    },
    isLeaseholder: leaseholderOf(id) === nodeId,
    leaseValid: true,
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
    store_metrics: { [id]: { replicas: REPLICAS } },
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
  const [, list, id = ''] = /^\/(api\/v2\/nodes|_status\/ranges)\/(\d+)\b/.exec(path) ?? [];
  if (list === undefined || Number(id) > nodes || isDead(Number(id))) return undefined;
  if (list === 'api/v2/nodes') return rangesOf(Number(id));
  return describedBy(Number(id), query.getAll('range_ids').map(Number));
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
