import { expect, test } from 'vitest';
import { pollNodes, recordOf } from './records.ts';

test("a store has its node's own counts, which are absent where the server sends none", async () => {
  const own = {
    replicas: 12_036,
    'replicas.leaseholders': 4_001,
    'ranges.unavailable': 0,
    'ranges.underreplicated': 7,
    'ranges.overreplicated': 1,
  };
  const stores = { '3': own, '4': { replicas: 0 } };
  const { lines } = await pollNodes([recordOf(2, { store_metrics: stores })]);
  expect(lines.filter((line) => line.startsWith('crdb_store_'))).toEqual([
    'crdb_store_replicas{node_id="2",store_id="3"} 12036',
    'crdb_store_replicas{node_id="2",store_id="4"} 0',
    'crdb_store_leaseholders{node_id="2",store_id="3"} 4001',
    'crdb_store_unavailable_ranges{node_id="2",store_id="3"} 0',
    'crdb_store_underreplicated_ranges{node_id="2",store_id="3"} 7',
    'crdb_store_overreplicated_ranges{node_id="2",store_id="3"} 1',
  ]);
});
