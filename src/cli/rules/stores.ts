import {
  ADDRESS,
  alert,
  figure,
  fold,
  last,
  listNodes,
  present,
  record,
  type Rule,
  type Values,
} from './rule.ts';

const STORE =
  'Store s{{ $labels.store_id }} on n{{ $labels.node_id }} of {{ $labels.crdb_cluster }}';
const STORES = 'node_id, store_id';
const FREE = 'crdb_cluster_node_store:crdb_store_available_bytes:min';
const SIZE = 'crdb_cluster_node_store:crdb_store_capacity_bytes:max';
const RATIO = 'crdb_cluster_node_store:crdb_store_available:ratio';
const SPARE = 'crdb_cluster:crdb_store_available_without_largest_node:ratio';

/** Rules on disks. */
export function storeRules(set: Values): readonly Rule[] {
  return [...records(), ...space(set), ...speed(set)];
}

function records(): readonly Rule[] {
  const ofNode = `sum by (crdb_cluster, node_id) (${SIZE})`;
  const largest = `max by (crdb_cluster) (${ofNode})`;
  return [
    record(FREE, `min by (crdb_cluster, ${STORES}) (${last('crdb_store_available_bytes')})`, {
      comment: 'The smaller of two exporters: the last value of one that stopped may be too large.',
    }),
    record(SIZE, `${fold(STORES, last('crdb_store_capacity_bytes'))} > 0`),
    record(RATIO, `${FREE} / ${SIZE}`),
    record(
      SPARE,
      `(sum by (crdb_cluster) (${FREE}) - ${largest})
/
(sum by (crdb_cluster) (${SIZE}) - ${largest})
and
count by (crdb_cluster) (${present('node_id', SIZE)}) > 3`,
      {
        comment:
          'Free share after the loss of the largest node, whose data the others then hold. Three nodes cannot take over data of a fourth.',
      },
    ),
  ];
}

function space(set: Values): readonly Rule[] {
  const low = {
    summary: `${STORE} has {{ $value | humanizePercentage }} free.`,
    description: `${figure(`${FREE}{crdb_cluster="%s",store_id="%s"}`, 'humanize1024')}B are free. ${ADDRESS}. Below 5 percent the store accepts no new replicas, and a full disk stops the node. Add disk space or nodes, shorten gc.ttlseconds, drop data that is not needed.`,
  };
  const fills = (
    range: string,
    seconds: number,
  ): string => `predict_linear(${FREE}[${range}], ${seconds}) < 0
and
${RATIO} < ${set.disk_filling}`;
  const fillsText = `free now: ${figure(
    `${RATIO}{crdb_cluster="%s",store_id="%s"}`,
    'humanizePercentage',
  )}. Common causes: an import, a restore, an index build or missing garbage collection.`;
  return [
    alert('CrdbStoreDiskLow', 'warning', 'store', {
      expr: `${RATIO} < ${set.disk}`,
      for: '1h',
      ...low,
    }),
    alert('CrdbStoreDiskLow', 'critical', 'store', {
      expr: `${RATIO} < 0.5 * ${set.disk_critical}
or
max_over_time(${RATIO}[2m]) < ${set.disk_critical}
or
(${RATIO} < 3 * ${set.disk_critical} and max_over_time(${FREE}[2m]) < ${set.disk_floor})`,
      ...low,
    }),
    alert('CrdbStoreDiskFillsSoon', 'warning', 'store', {
      expr: fills('6h', 86_400),
      for: '15m',
      summary: `${STORE} will be full within 24 hours.`,
      description: `By the trend of the last 6 hours; ${fillsText}`,
    }),
    alert('CrdbDiskFillsFast', 'critical', 'store', {
      expr: fills('30m', 7200),
      for: '5m',
      summary: `${STORE} will be full within 2 hours.`,
      description: `By the trend of the last 30 minutes; ${fillsText} Stop what writes; if nothing helps, stop the node before its disk is full.`,
    }),
    alert('CrdbClusterCapacity', 'warning', 'store', {
      expr: `${SPARE} < ${set.capacity}`,
      for: '1h',
      summary: '{{ $labels.crdb_cluster }} has no disk space for the loss of a node.',
      description:
        'If the largest node is lost, the others will be full but for {{ $value | humanizePercentage }} once they hold its data. Add nodes or disk space.',
    }),
  ];
}

function speed(set: Values): readonly Rule[] {
  return [
    alert('CrdbStoreOverloaded', 'warning', 'store', {
      expr: `${fold(STORES, 'crdb_store_l0_sublevels')} >= ${set.l0_sublevels}
or
${fold(STORES, 'rate(crdb_store_write_stalls_total[5m])')} * 60 > ${set.write_stalls}`,
      for: '10m',
      summary: `${STORE} cannot keep up with its writes.`,
      description: `L0 sublevels: ${figure(
        'max(crdb_store_l0_sublevels{crdb_cluster="%s",store_id="%s"})',
        'printf "%.0f"',
      )} (healthy: below 5; by default, nodes throttle writes and leases move away from 20 on). Stops of all writes a minute: ${figure(
        'max(rate(crdb_store_write_stalls_total{crdb_cluster="%s",store_id="%s"}[5m])) * 60',
        'printf "%.0f"',
      )}. Check disk throughput and bulk writes.`,
    }),
    alert('CrdbPurgatory', 'warning', 'store', {
      expr: present('', `${last('crdb_store_replicate_queue{state="purgatory"}')} > 0`),
      for: '30m',
      summary:
        'Replicas of {{ $labels.crdb_cluster }} cannot be placed as their zone configuration demands.',
      description: `For 30 minutes no store satisfies their constraints: nodes with the required locality or attributes are down, full or missing, or the constraints contradict each other. Until then these ranges have too few replicas or a decommission does not end. Reported by: ${listNodes(
        'max by (node_id) (crdb_store_replicate_queue{crdb_cluster="%s",state="purgatory"}) > 0',
      )}.`,
    }),
    alert('CrdbStoreDiskStalled', 'warning', 'store', {
      expr: present(STORES, 'increase(crdb_store_disk_stalled_total[15m]) > 0'),
      summary: `The disk of store s{{ $labels.store_id }} on n{{ $labels.node_id }} of {{ $labels.crdb_cluster }} has stalled.`,
      description: `An operation on the disk hung for many seconds in the last 15 minutes; by default the node stops itself when it lasts. ${ADDRESS}. Check the volume, its I/O limits and the kernel log.`,
    }),
  ];
}
