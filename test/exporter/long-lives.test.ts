import type { IncomingMessage } from 'node:http';
import { queryObjects, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { onlyCollectors } from '../support/collectors.ts';
import { startTestExporter } from '../support/exporter.ts';
import { serve } from '../support/http-server.ts';

const START_MS = Date.UTC(2030, 0, 1);
const LIVE = 3;
const DEAD = 1;

/** Nodes that are there at a time; each round some leave and as many join. */
const NODES = 8;
const JOINING = 4;
const RANGES = 60;
const SESSIONS = 250;
/** Long names, so that to keep those of a few rounds is seen. */
const PADDING = 'x'.repeat(320);

const NAMES = ['nodes', 'ranges', 'sessions', 'network'] as const;

/** Rounds until code is compiled, and those after it; a day passes in each. */
const WARM_UP = 20;
const ROUNDS = Number(process.env['LONG_LIVES_ROUNDS'] ?? 25);
/** The applications of 25 rounds alone would be 4 MB. Some memories are bounded, and not full after the first rounds. */
const MAX_GROWTH_BYTES = 3_000_000;

function keyOf(id: number): string {
  return Buffer.from(`key ${id}`).toString('base64');
}

/** A cluster in which everything that has an id or a name comes and goes. */
class ChangingCluster {
  round = 0;
  #requests = 0;

  /** Each request takes a moment. */
  get nowMs(): number {
    return START_MS + this.round * 86_400_000 + this.#requests;
  }

  get #nodeIds(): readonly number[] {
    return Array.from({ length: NODES }, (_, index) => JOINING * this.round + index + 1);
  }

  /** Those that stay longest hold the ranges. */
  get #holders(): readonly number[] {
    return this.#nodeIds.slice(-3);
  }

  answer(url: URL): unknown {
    const { pathname } = url;
    this.#requests += 1;
    if (pathname.endsWith('/login/')) return { session: 'token' };
    if (pathname.endsWith('/nodes/')) return { nodes: this.#nodeIds.map((id) => this.#node(id)) };
    const [, nodeId] = /\/nodes\/(\d+)\/ranges\/$/.exec(pathname) ?? [];
    if (nodeId !== undefined) return { ranges: this.#replicas(Number(nodeId)) };
    if (pathname.endsWith('/sessions/')) return { sessions: this.#sessions() };
    if (pathname.includes('/_status/ranges/')) {
      return { ranges: url.searchParams.getAll('range_ids').map((id) => this.#descriptor(id)) };
    }
    if (pathname.includes('/_status/connectivity')) return { connections: this.#connections() };
    return undefined;
  }

  #node(id: number): object {
    const isDown = id === this.#nodeIds[0];
    return {
      node_id: id,
      liveness_status: isDown ? DEAD : LIVE,
      address: { address_field: `node-${id}-${PADDING}:26257` },
      sql_address: { address_field: `node-${id}-${PADDING}:26257` },
      build_tag: `v25.${id}.0`,
      started_at: START_MS * 1e6,
      updated_at: (this.nowMs - (isDown ? 600_000 : 1_000)) * 1e6,
      cluster_name: 'changing',
      locality: { tiers: [{ key: 'region', value: `region-${id}-${PADDING}` }] },
      metrics: { 'sys.uptime': 100, [`security.certificate.expiration.ca-${id}`]: 2e9 },
      store_metrics: { [String(10 * id)]: { replicas: RANGES, 'storage.write-stalls': id } },
    };
  }

  #replicas(nodeId: number): readonly object[] {
    if (!this.#holders.includes(nodeId)) return [];
    return Array.from({ length: RANGES }, (_, index) => {
      const id = RANGES * this.round + index + 1;
      return {
        desc: {
          range_id: id,
          start_key: index === 0 ? undefined : keyOf(id),
          end_key: index === RANGES - 1 ? '//8=' : keyOf(id + 1),
        },
        span: { start_key: `/Table/${id}/1` },
        source_node_id: nodeId,
        source_store_id: 10 * nodeId,
        lease_history: [
          {
            replica: { node_id: this.#holders[0], store_id: 10 * (this.#holders[0] ?? 0) },
            sequence: 1,
            epoch: 1,
          },
        ],
        problems: { raft_log_too_large: index % 7 === 0 },
        stats: { queries_per_second: id },
      };
    });
  }

  #descriptor(rangeId: string): object {
    const internalReplicas = this.#holders.map((nodeId) => ({
      nodeId,
      storeId: 10 * nodeId,
      type: 0,
    }));
    const desc = { rangeId, internalReplicas, generation: '1' };
    return { state: { state: { desc } }, isLeaseholder: true, leaseValid: true };
  }

  #sessions(): readonly object[] {
    return Array.from({ length: SESSIONS }, (_, index) => ({
      node_id: this.#holders[index % 3],
      username: `user-${this.round}-${index}-${PADDING}`,
      application_name: `application-${this.round}-${index}-${PADDING}`,
      start: new Date(this.nowMs - 1_000).toISOString(),
      active_queries: [],
      status: 1,
    }));
  }

  #connections(): object {
    const peers = Object.fromEntries(this.#nodeIds.map((id) => [id, { status: 'ESTABLISHED' }]));
    return Object.fromEntries(this.#nodeIds.map((id) => [id, { peers }]));
  }
}

/** Bytes of the heap after a collection of garbage, the second one after that of `countTimers`. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new TypeError('the garbage cannot be collected');
  collect();
  return process.memoryUsage().heapUsed;
}

/** Timers that are set, those of deadlines that are no longer needed included. */
function countTimers(): number {
  const timer = setTimeout(() => undefined, 0);
  clearTimeout(timer);
  return queryObjects(timer.constructor, { format: 'count' });
}

test('what was there once is not held in memory', { timeout: 600_000 }, async () => {
  const cluster = new ChangingCluster();
  const server = await serve((request: IncomingMessage, response) => {
    const answer = cluster.answer(new URL(request.url ?? '', 'http://changing'));
    response.setHeader('Date', new Date(cluster.nowMs).toUTCString());
    response.statusCode = answer === undefined ? 404 : 200;
    response.end(JSON.stringify(answer ?? {}));
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const elapsedMs = (): number => cluster.nowMs - START_MS;
  const exporter = await startTestExporter({
    yaml: `${onlyCollectors(Object.fromEntries(NAMES.map((name) => [name, { max_duty: 1 }])))}clusters:
  - name: changing
    cluster_api: { urls: ["${server.url}"], username: u, password: p }
`,
    app: {
      clock: { wallMs: () => cluster.nowMs, monotonicMs: elapsedMs, runningMs: elapsedMs },
      random: () => 2_000,
    },
  });
  onTestFinished(() => exporter.stop());
  const pollAll = async (): Promise<void> => {
    cluster.round += 1;
    server.requests.length = 0;
    for (const name of NAMES) await exporter.get(`/probe?cluster=changing&collect[]=${name}`);
  };
  for (let round = 0; round < WARM_UP; round += 1) await pollAll();
  const timersBefore = countTimers();
  const before = heldBytes();
  for (let round = 0; round < ROUNDS; round += 1) await pollAll();
  const scrape = await exporter.scrape();
  expect(countTimers() - timersBefore).toBeLessThan(ROUNDS);
  const grown = heldBytes() - before;
  for (const collector of NAMES)
    expect(scrape.value('crdb_exporter_collector_success', { collector })).toBe(1);
  expect(scrape.value('crdb_ranges_unverified')).toBe(0);
  const tables = scrape
    .all('crdb_range_table_problem_ranges')
    .map(({ labels }) => labels['table_id']);
  expect(tables).not.toContain('other');
  if (ROUNDS > 25) console.log(`${grown} bytes`);
  expect(grown).toBeLessThan(MAX_GROWTH_BYTES);
});
