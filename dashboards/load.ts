import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { buildBoard, type Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { NODE_OF_ROW, toBoard, toConsole } from './lib/links.ts';
import { heatmap, stat } from './lib/panels.ts';
import type { Limit } from './lib/style.ts';
import { withTable } from './lib/table-names.ts';
import { table } from './lib/table.ts';
import { choice, nodeVariable, R, S } from './lib/variables.ts';

const CHOSEN = `${S}, node_id=~"$node"`;
const QUERIES = `sum(max by (node_id, store_id) (crdb_store_queries_per_second{${S}}))`;
/** A gauge distribution as buckets: rate() does not apply. */
const BUCKETS = `sum by (le) (max by (le, shard) (crdb_ranges_by_queries_per_second_bucket{${S}}))`;
const OF_RANGE = 'range_id, table_id, index_id';

const distribution = (limit: Limit): Row => ({
  title: 'Distribution',
  panels: [
    stat('Queries per second', {
      about:
        'Queries per second of all stores (crdb_store_queries_per_second), averaged over up to 30 minutes.',
      queries: QUERIES,
      unit: 'reqps',
      width: 5,
    }),
    stat('Node skew', {
      about:
        'Load of a node as a multiple of the mean of the other nodes of its region, the largest (recorded by rules.yml from crdb_store_queries_per_second). Orange, and its CPU is above theirs: CrdbNodeHotspot; look for hot ranges on that node.',
      // The recorded series outlives the data by 10 minutes.
      queries: `max(crdb_cluster_region_node:crdb_store_queries_per_second:over_others{${R}}) and on () crdb_range_scan_nodes{${S}}`,
      unit: 'short',
      decimals: 2,
      steps: ['green', [limit('load_imbalance'), 'orange']],
      empty: 'no region has two nodes',
      evidence: [`crdb_range_scan_nodes{${S}}`, 'region'],
      width: 5,
    }),
    stat('Share of hottest range', {
      about:
        'Share of all queries (crdb_range_max_queries_per_second). Above half: one range has most of the load of the cluster.',
      queries: `max(crdb_range_max_queries_per_second{${S}}) / ${QUERIES}`,
      unit: 'percentunit',
      width: 5,
    }),
    stat('CPU of hottest range', {
      about:
        '100 % is one core (crdb_range_max_cpu_seconds_per_second). By default a range splits at 50 %. Blue for 30 minutes: CrdbHotRange. Only where the server reports it.',
      queries: `max(crdb_range_max_cpu_seconds_per_second{${S}})`,
      unit: 'percentunit',
      steps: ['green', [limit('hot_range_cpu'), 'blue']],
      width: 5,
    }),
    stat('Ranges above 2500 q/s', {
      about:
        'Ranges above the default split threshold for queries (crdb_ranges_by_queries_per_second_bucket).',
      queries: `sum(max by (shard) (crdb_ranges_by_queries_per_second_bucket{${S}, le="+Inf"})) - sum(max by (shard) (crdb_ranges_by_queries_per_second_bucket{${S}, le="2500"}))`,
      unit: 'short',
    }),
    heatmap('Distribution of range load', {
      about: 'Number of ranges by queries per second (crdb_ranges_by_queries_per_second_bucket).',
      queries: BUCKETS,
      unit: 'reqps',
      width: 12,
    }),
    graph('Range load p50 / p99', {
      about:
        'Median and 99th percentile of queries per second of a range (crdb_ranges_by_queries_per_second_bucket).',
      queries: [
        { expr: `histogram_quantile(0.5, ${BUCKETS})`, legend: 'p50' },
        { expr: `histogram_quantile(0.99, ${BUCKETS})`, legend: 'p99' },
      ],
      unit: 'reqps',
      width: 12,
    }),
    graph('Queries by node', {
      about: 'Queries per second of the stores of a node (crdb_store_queries_per_second).',
      queries: `sum by (node_id) (max by (node_id, store_id) (crdb_store_queries_per_second{${CHOSEN}}))`,
      unit: 'reqps',
      legend: 'n{{node_id}}',
    }),
    graph('Writes by node', {
      about: 'Keys written per second, including by followers (crdb_store_writes_per_second).',
      queries: `sum by (node_id) (max by (node_id, store_id) (crdb_store_writes_per_second{${CHOSEN}}))`,
      unit: 'wps',
      legend: 'n{{node_id}}',
    }),
    graph('CPU of ranges by node', {
      about:
        '100 % is one core (crdb_store_cpu_seconds_per_second). Only where the server reports it.',
      queries: `sum by (node_id) (max by (node_id, store_id) (crdb_store_cpu_seconds_per_second{${CHOSEN}}))`,
      unit: 'percentunit',
      legend: 'n{{node_id}}',
    }),
    graph('Bytes read and written by node', {
      about:
        'Reads above zero, writes below (crdb_store_read_bytes_per_second, crdb_store_write_bytes_per_second). Only where the server reports it.',
      queries: [
        {
          expr: `sum by (node_id) (max by (node_id, store_id) (crdb_store_read_bytes_per_second{${CHOSEN}}))`,
          legend: 'n{{node_id}} read',
        },
        {
          expr: `sum by (node_id) (max by (node_id, store_id) (crdb_store_write_bytes_per_second{${CHOSEN}}))`,
          legend: 'n{{node_id}} written',
        },
      ],
      unit: 'Bps',
      second: 'down',
    }),
  ],
});

/** Of the ranges whose lease is on a chosen node. */
const HELD = `topk by (range_id) (1, max by (range_id, node_id, store_id) (crdb_hot_range_leaseholder_info{${CHOSEN}}))`;
const HOTTEST = ['queries', 'cpu_seconds']
  .map(
    (of) =>
      `topk($top, max by (${OF_RANGE}) (crdb_hot_range_${of}_per_second{${S}}) and on (range_id) ${HELD})`,
  )
  .join(' or ');

const hotRanges = (limit: Limit): Row => ({
  title: 'Hot ranges',
  panels: [
    table('Hottest ranges now', {
      about:
        'The ranges with most queries and those with most CPU; the table is shown for known tables (crdb_hot_range_queries_per_second, crdb_hot_range_leaseholder_info, crdb_table_info). A hot range that does not split has one hot key or an ascending key. Blue: CrdbHotRange.',
      labels: {
        range_id: {
          title: 'range',
          links: [
            toConsole('range report', 'reports/range/${__data.fields.range_id}'),
            toConsole('hot ranges', 'hotranges'),
          ],
        },
        table_id: 'table id',
        index_id: 'index id',
        database: 'database',
        table: 'table',
        node_id: { title: 'node', links: [toBoard('Nodes', 'crdb-nodes', NODE_OF_ROW)] },
        store_id: 'store',
      },
      values: [
        {
          title: 'queries/s',
          unit: 'reqps',
          steps: ['text', [limit('hot_range_queries'), 'blue']],
          expr: withTable(
            ofHottest('crdb_hot_range_queries_per_second'),
            `${OF_RANGE}, node_id, store_id`,
          ),
        },
        { title: 'writes/s', unit: 'wps', expr: ofHottest('crdb_hot_range_writes_per_second') },
        {
          title: 'CPU',
          unit: 'percentunit',
          steps: ['text', [limit('hot_range_cpu'), 'blue']],
          expr: ofHottest('crdb_hot_range_cpu_seconds_per_second'),
        },
      ],
      sortBy: 'queries/s',
      width: 24,
    }),
    graph('Hot ranges over time', {
      about:
        'Queries per second of the listed ranges, as points because the list changes (crdb_hot_range_queries_per_second).',
      queries: `max by (range_id) (crdb_hot_range_queries_per_second{${S}}) and on (range_id) crdb_hot_range_leaseholder_info{${CHOSEN}}`,
      unit: 'reqps',
      legend: 'r{{range_id}}',
      draw: 'points',
    }),
    graph('Hot ranges by CPU', {
      about: 'CPU of the listed ranges; 100 % is one core (crdb_hot_range_cpu_seconds_per_second).',
      queries: `max by (range_id) (crdb_hot_range_cpu_seconds_per_second{${S}}) and on (range_id) crdb_hot_range_leaseholder_info{${CHOSEN}}`,
      unit: 'percentunit',
      legend: 'r{{range_id}}',
      draw: 'points',
    }),
    graph('Hot ranges by table', {
      about:
        'Queries per second of the listed ranges by table id (crdb_hot_range_queries_per_second).',
      queries: `sum by (table_id) (max by (range_id, table_id) (crdb_hot_range_queries_per_second{${S}}))`,
      unit: 'reqps',
      legend: 'table {{table_id}}',
    }),
  ],
});

const requests: Row = {
  title: 'Reads and requests by node',
  collapsed: true,
  panels: [
    graph('Reads by node', {
      about:
        'Keys read per second in the stores of a node (crdb_store_reads_per_second). Many keys for few queries: scans.',
      queries: `sum by (node_id) (max by (node_id, store_id) (crdb_store_reads_per_second{${CHOSEN}}))`,
      unit: 'rps',
      legend: 'n{{node_id}}',
      width: 12,
    }),
    graph('Requests by node', {
      about:
        'Requests per second to the stores of a node (crdb_store_requests_per_second). A query is a batch of one or more requests.',
      queries: `sum by (node_id) (max by (node_id, store_id) (crdb_store_requests_per_second{${CHOSEN}}))`,
      unit: 'reqps',
      legend: 'n{{node_id}}',
      width: 12,
    }),
  ],
};

function ofHottest(family: string): string {
  return `(max by (${OF_RANGE}) (${family}{${S}}) and on (${OF_RANGE}) (${HOTTEST})) * on (range_id) group_left (node_id, store_id) ${HELD}`;
}

export function load(limit: Limit): Dashboard {
  return buildBoard({
    uid: 'crdb-load',
    title: 'Load and hot ranges',
    question: 'Is the load balanced, and which range or table is hot?',
    variables: [nodeVariable(), choice('top', 'Top', ['10', '5', '20'])],
    rows: [distribution(limit), hotRanges(limit), requests],
  });
}
