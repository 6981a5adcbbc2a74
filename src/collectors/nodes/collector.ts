import {
  assertWithin,
  MAX_NODE_STORES,
  MAX_NODE_VALUES,
  MAX_STORES,
} from '../../cockroach/limits.ts';
import { freshnessOf } from '../../cockroach/node.ts';
import type { KeyFilter } from '../../json/shape.ts';
import { defineCollector, type CollectorResult } from '../collector.ts';
import { JOB_FAMILIES, lastBackupSeconds, writeJobSamples } from './jobs.ts';
import { MEASUREMENT_FAMILIES, nodeKeys, storeKeys, writeMeasurements } from './measurements.ts';
import {
  copyNode,
  countValues,
  MAX_TIERS,
  type NodeRecord,
  type NodeStatus,
  nodeShape,
  selectKeys,
} from './record.ts';
import { STATUS_FAMILIES, writeClusterSamples, writeStatusSamples } from './status.ts';

/** GET /nodes/: identity and liveness of the nodes, and the most important of their own metrics. */
export const nodes = defineCollector({
  name: 'nodes',
  api: 'cluster',
  help: 'Liveness, version, locality, load and stores of the nodes.',
  privilege: 'GRANT SYSTEM VIEWCLUSTERMETADATA',
  request: 'GET /nodes/',
  intervalSeconds: 30,
  timeoutSeconds: 30,
  maxDuty: 0.25,
  enabledByDefault: true,
  families: [...STATUS_FAMILIES, ...JOB_FAMILIES, ...MEASUREMENT_FAMILIES],
  options: {
    page_limit: {
      kind: 'integer',
      default: 200,
      min: 1,
      help: 'Nodes per request; a node record is about 150 kB.',
    },
    metrics: {
      kind: 'strings',
      default: [],
      pattern: /^[^*]*\*?$/,
      expects: 'a key, or a prefix of keys with a trailing *, as sql.mem.*',
      help: 'Metrics of nodes and stores to export as crdb_node_metric and crdb_store_metric: keys, exact or with a trailing *.',
    },
  },
  scope: 'cluster',
  inProbe: true,
  /** The node that ran the last backup forgets its end when it restarts. */
  createState: () => ({ lastBackupSeconds: 0 }),

  async collect(api, context): Promise<NodesResult> {
    const selected = selectKeys(context.options.metrics);
    // By id: a node that moves between two pages is listed twice.
    const byId = new Map<number, NodeRecord>();
    const filters = [nodeKeys(selected), storeKeys(selected)] as const;
    const shared = new Set(filters.flatMap(({ keys }) => keys));
    let stores = 0;
    let values = 0;
    const { dateMs } = await api.nodes(context, {
      limit: context.options.page_limit,
      shape: nodeShape(...filters),
      onNode(element) {
        const node = copyNode(element);
        if (node === undefined) return;
        byId.set(node.id, node);
        assertWithin(context, `node ${node.id}`, 'stores', node.stores.size, MAX_NODE_STORES);
        stores += node.stores.size;
        assertWithin(context, 'nodes', 'stores', stores, MAX_STORES);
        values += countValues(node, shared);
        assertWithin(context, 'nodes', 'values', values, MAX_NODE_VALUES);
      },
    });
    const records = [...byId.values()].toSorted((a, b) => a.id - b.id);
    const isFresh = freshnessOf(records, dateMs);
    const crowded = records.find(({ hasMoreTiers }) => hasMoreTiers);
    if (crowded !== undefined) {
      context.limits.add('items');
      context.warn(
        `nodes: node ${crowded.id} has more than ${MAX_TIERS} locality tiers, the first ${MAX_TIERS} are exported; check --locality of its start command`,
      );
    }
    // An old record counts, too: the backup did end then.
    const { state } = context;
    state.lastBackupSeconds = Math.max(state.lastBackupSeconds, lastBackupSeconds(records));
    return {
      nodes: records.map((node) => ({
        ...node,
        isFresh: isFresh(node),
        recordAgeSeconds: recordAge(node, dateMs),
      })),
      selected,
      lastBackupSeconds: state.lastBackupSeconds,
      answeredMs: dateMs,
    };
  },

  *samples({ nodes: all, selected, lastBackupSeconds: lastBackup }, set) {
    writeClusterSamples(set, all);
    writeJobSamples(set, all, lastBackup);
    for (const node of all) {
      writeStatusSamples(set, node);
      if (node.isFresh) writeMeasurements(set, node, selected);
      yield;
    }
  },
});

export type { NodeStatus } from './record.ts';

/** The nodes, as a poll found them. */
export interface NodesResult extends CollectorResult {
  /** By id. */
  readonly nodes: readonly NodeStatus[];
  /** Metrics that the user wants exported under their own keys. */
  readonly selected: KeyFilter;
  /** End of the last scheduled backup since the exporter started, Unix time; 0 when no node reported one. */
  readonly lastBackupSeconds: number;
  /** When the server answered, by its clock, ms since the epoch; undefined when it sent no Date. */
  readonly answeredMs?: number | undefined;
}

function recordAge({ updatedSeconds }: NodeRecord, dateMs: number | undefined): number | undefined {
  if (dateMs === undefined || updatedSeconds === 0) return undefined;
  return Math.max(0, dateMs / 1000 - updatedSeconds);
}
