import type { Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { toConsole } from './lib/links.ts';
import { bars } from './lib/panels.ts';
import { S } from './lib/variables.ts';

const STORE = 'n{{node_id}} s{{store_id}}';

const CHOSEN = `${S}, node_id=~"$node"`;

function perStore(expr: string): string {
  return `max by (node_id, store_id) (${expr})`;
}

function increaseOf(family: string): string {
  return perStore(`increase(${family}{${CHOSEN}}[$__rate_interval])`);
}

/** The stores of the selected nodes. */
export const storeRow: Row = {
  title: 'Stores of selected nodes',
  panels: [
    bars('Used', {
      about: 'Used share of the disk (crdb_store_available_bytes). Red above 85 %.',
      queries: `1 - ${perStore(`crdb_store_available_bytes{${CHOSEN}}`)} / ${perStore(`crdb_store_capacity_bytes{${CHOSEN}}`)}`,
      unit: 'percentunit',
      legend: STORE,
      steps: ['green', [0.7, 'orange'], [0.85, 'red']],
      links: [toConsole('stores', 'reports/stores/${__field.labels.node_id}')],
    }),
    graph('Free, and in 24 h by trend', {
      about:
        'Free space and, dashed, its forecast for 24 hours by the trend of 6 hours (crdb_store_available_bytes). Below 0: CrdbStoreDiskFillsSoon.',
      queries: [
        { expr: perStore(`crdb_store_available_bytes{${CHOSEN}}`), legend: STORE },
        {
          expr: perStore(`predict_linear(crdb_store_available_bytes{${CHOSEN}}[6h], 86400)`),
          legend: `${STORE} in 24 h`,
        },
      ],
      unit: 'bytes',
      second: 'dashed',
      width: 16,
    }),
    graph('L0 sublevels', {
      about: 'Compaction backlog (crdb_store_l0_sublevels). From 20 on the store is overloaded.',
      queries: perStore(`crdb_store_l0_sublevels{${CHOSEN}}`),
      unit: 'short',
      legend: STORE,
      steps: ['green', [10, 'orange'], [20, 'red']],
    }),
    graph('Write stalls', {
      about: 'Stops of all writes of the store, per minute (crdb_store_write_stalls_total).',
      queries: `60 * ${perStore(`rate(crdb_store_write_stalls_total{${CHOSEN}}[$__rate_interval])`)}`,
      unit: 'cpm',
      legend: STORE,
      steps: ['green', [1, 'orange']],
    }),
    graph('Disk slow / stalled', {
      about:
        'Disk operations that were slow or hung (crdb_store_disk_slow_total, crdb_store_disk_stalled_total). Any stall: CrdbStoreDiskStalled.',
      queries: [
        { expr: increaseOf('crdb_store_disk_slow_total'), legend: `${STORE} slow` },
        { expr: increaseOf('crdb_store_disk_stalled_total'), legend: `${STORE} stalled` },
      ],
      unit: 'short',
      draw: 'bars',
      steps: ['green', [1, 'orange']],
    }),
    graph('Stuck requests of stores', {
      about:
        'Requests that have waited long for a latch, a lease or raft (crdb_store_slow_requests). See CrdbRequestsStuck.',
      queries: `sum by (node_id, kind) (max by (node_id, store_id, kind) (crdb_store_slow_requests{${CHOSEN}}))`,
      unit: 'short',
      legend: 'n{{node_id}} {{kind}}',
      steps: ['green', [1, 'orange']],
      width: 12,
    }),
    graph('Replicas and leases', {
      about:
        'Replicas and leases of each store (crdb_range_replicas, crdb_range_leases). Falling replicas: the node is being decommissioned or rebalanced.',
      queries: [
        { expr: perStore(`crdb_range_replicas{${CHOSEN}}`), legend: `${STORE} replicas` },
        { expr: perStore(`crdb_range_leases{${CHOSEN}}`), legend: `${STORE} leases` },
      ],
      unit: 'short',
      width: 12,
    }),
  ],
};
