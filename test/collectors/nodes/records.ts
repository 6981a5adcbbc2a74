import { nodes } from '../../../src/collectors/nodes/collector.ts';
import { answering, poll, type Polled } from '../support.ts';

export const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 0);
export const NOW_NS = NOW_MS * 1e6;
export const OPTIONS = { page_limit: 200, metrics: [] };

/** A node record as current servers write it. */
export function recordOf(id: number, more: object = {}): Record<string, unknown> {
  return {
    node_id: id,
    address: { network_field: 'tcp', address_field: `crdb-${id}:26257` },
    attrs: {},
    locality: {
      tiers: [
        { key: 'region', value: 'us-east1' },
        { key: 'zone', value: 'b' },
      ],
    },
    ServerVersion: { major_val: 25, minor_val: 4, patch: 0, internal: 0 },
    build_tag: 'v25.4.3',
    started_at: NOW_NS - 3600e9,
    cluster_name: 'movr',
    sql_address: { network_field: 'tcp', address_field: `sql-${id}:26257` },
    metrics: { 'sys.rss': 1024 * id },
    num_cpus: 8,
    total_system_memory: 4096,
    updated_at: NOW_NS - 5e9,
    liveness_status: 3,
    ...more,
  };
}

export async function pollNodes(
  records: readonly unknown[] | null,
  given: {
    readonly dateMs?: number;
    readonly metrics?: readonly string[];
    readonly state?: ReturnType<typeof nodes.createState>;
  } = {},
): Promise<Polled> {
  const { api } = answering(() => ({ nodes: records }), given.dateMs ?? NOW_MS);
  const options = { ...OPTIONS, metrics: given.metrics ?? [] };
  return poll(nodes, api, { options, state: given.state ?? nodes.createState() });
}
