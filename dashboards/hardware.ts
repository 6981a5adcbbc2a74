import type { Row } from './lib/board.ts';
import { expires, type Limit } from './lib/style.ts';
import { table } from './lib/table.ts';
import { S } from './lib/variables.ts';
import { CHOSEN, CHOSEN_RECORDED, ofNode, perNode } from './node-graphs.ts';

/** CPU, memory, files, clock and certificates of the selected nodes. */
export const hardwareRow = (limit: Limit): Row => ({
  title: 'Hardware',
  collapsed: true,
  panels: [
    ofNode('CPU', {
      about:
        'Share of all CPUs that the process uses (crdb_node_cpu_ratio). Orange for 4 hours, or red for one: CrdbNodeCpuHigh.',
      expr: perNode('crdb_node_cpu_ratio'),
      unit: 'percentunit',
      steps: ['green', [limit('cpu'), 'orange'], [limit('cpu_critical'), 'red']],
    }),
    ofNode('CPU of host', {
      about:
        'Share of all CPUs that the machine uses (crdb_node_host_cpu_ratio). Orange for an hour, and CPU lower: another process uses it, CrdbHostCpuHigh.',
      expr: perNode('crdb_node_host_cpu_ratio'),
      unit: 'percentunit',
      steps: ['green', [limit('cpu_critical'), 'orange']],
    }),
    ofNode('Memory of process', {
      about:
        'Share of the memory of the node (crdb_node_resident_memory_bytes, crdb_node_memory_bytes). CrdbNodeMemoryHigh: orange for 4 hours, the first red line for one, the second at once. The kernel may kill the process.',
      expr: `${perNode('crdb_node_resident_memory_bytes')} / on (node_id) max by (node_id) (crdb_node_memory_bytes{${S}})`,
      unit: 'percentunit',
      steps: [
        'green',
        [limit('memory'), 'orange'],
        [limit('memory_critical'), 'red'],
        [limit('memory_full'), 'red'],
      ],
    }),
    ofNode('Run queue per CPU', {
      about:
        'Goroutines that wait for a CPU (crdb_node_runnable_goroutines_per_cpu). Above 30 the node is overloaded.',
      expr: perNode('crdb_node_runnable_goroutines_per_cpu'),
      unit: 'short',
    }),
    ofNode('File descriptors', {
      about:
        'Open file descriptors as a share of the limit (crdb_node_open_file_descriptors). Orange: CrdbFileDescriptorsHigh.',
      expr: `max by (node_id) (crdb_node_open_file_descriptors{${CHOSEN}} / (crdb_node_file_descriptor_limit{${CHOSEN}} > 0))`,
      unit: 'percentunit',
      steps: ['green', [limit('file_descriptors'), 'orange']],
    }),
    ofNode('Clock offset', {
      about:
        'Mean offset to the other nodes (recorded by rules.yml from crdb_node_clock_offset_seconds). Orange: CrdbClockOffsetHigh; at 80 % of --max-offset the node stops itself.',
      expr: `crdb_cluster_node:crdb_node_clock_offset_seconds:max{${CHOSEN_RECORDED}}`,
      unit: 's',
      steps: ['green', [limit('clock_offset'), 'orange']],
    }),
    ofNode('Status record age', {
      about:
        'Age of the record that a node writes every 10 s (recorded by rules.yml from crdb_node_record_age_seconds). Orange: CrdbNodeRecordStale; its metrics are not exported, because they are too old.',
      expr: `crdb_cluster_node:crdb_node_record_age_seconds:min{${CHOSEN_RECORDED}}`,
      unit: 's',
      steps: ['green', [limit('record_age'), 'orange']],
    }),
    table('Certificates of selected nodes', {
      about:
        'Time until certificates expire, the first 100 (crdb_node_certificate_expiry_timestamp_seconds). Orange: CrdbCertificateExpiring; certificates of CAs and of short life have other thresholds.',
      labels: { node_id: 'node', certificate: 'certificate' },
      values: [
        {
          title: 'expires in',
          unit: 's',
          steps: expires(limit, 'certificate'),
          expr: `bottomk(100, min by (node_id, certificate) (crdb_node_certificate_expiry_timestamp_seconds{${CHOSEN}})) - time()`,
        },
      ],
    }),
  ],
});
