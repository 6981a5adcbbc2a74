// Bytes, requests and CPU time of reading descriptors as JSON and as protobuf, by the exporter's own client, in turn.
// Run: node bench/descriptor-forms.bench.ts [ranges …]
import { createTestClient } from '../test/support/cluster.ts';
import { describeSpread, measureUse, spreadOf } from './cost.ts';
import type { ServedForms } from './descriptor-forms-server.ts';
import { startProcess } from './process.ts';
import { report, type Row } from './rows.ts';

/** Ranges of a request. */
const BATCH = 200;
const IDS = Array.from({ length: BATCH }, (_, at) => 1_000_000 + at);
/** Each form is read in this number of parts, in turn with the other. */
const PARTS = 10;
const SIZES = process.argv.slice(2).map(Number);

await using server = await startProcess('descriptor-forms-server.ts', { rangeIds: IDS });
const served = await server.call<ServedForms>('served');

/** Reads this many requests one after the other. Resolves to their bytes. */
async function read(protobuf: boolean, requests: number): Promise<number> {
  await using client = createTestClient({
    urls: [served.url],
    protobuf,
    maxResponseBytes: Infinity,
  });
  let bytes = 0;
  for (let request = 0; request < requests; request += 1) {
    const found = new Map<number, object>();
    bytes += await client.api.rangeDescriptors(AbortSignal.timeout(60_000), {
      nodeId: 3,
      rangeIds: IDS,
      firstUrl: 0,
      onDescriptor: (descriptor) => found.set(descriptor.rangeId, descriptor),
    });
    if (found.size !== BATCH) throw new Error(`${found.size} of ${BATCH} descriptors`);
  }
  return bytes;
}

/** The bytes, and the CPU time of each part in ms. */
interface Reading {
  bytes: number;
  readonly cpuMs: number[];
}

async function compare(ranges: number): Promise<Row> {
  const requests = Math.ceil(ranges / BATCH);
  const part = Math.max(1, Math.round(requests / PARTS));
  const json: Reading = { bytes: 0, cpuMs: [] };
  const protobuf: Reading = { bytes: 0, cpuMs: [] };
  for (let done = 0; done < requests; done += part) {
    for (const reading of [json, protobuf]) {
      const { cpuMs } = await measureUse(async () => {
        reading.bytes += await read(reading === protobuf, Math.min(part, requests - done));
      });
      reading.cpuMs.push(cpuMs);
    }
  }
  const ratios = protobuf.cpuMs.map((ms, at) => ms / (json.cpuMs[at] ?? 1));
  const share = protobuf.bytes / json.bytes;
  const sum = ({ cpuMs }: Reading): string => {
    const all = cpuMs.reduce((total, ms) => total + ms, 0);
    return `${(all / 1000).toFixed(2)} s of CPU, ${((1000 * all) / ranges).toFixed(1)} µs a range`;
  };
  const size = ({ bytes }: Reading): string => `${(bytes / 1e6).toFixed(0)} MB`;
  return {
    name: `Descriptors of ${ranges.toLocaleString('en')} ranges as protobuf, ${requests.toLocaleString('en')} requests`,
    target: '≤ 1/4 of the bytes and ≤ 1/2 of the CPU time of JSON',
    result: `**${size(protobuf)} (${(1 / share).toFixed(1)} × fewer), ${sum(protobuf)}** (${describeSpread(ratios.map((ratio) => 100 * ratio))} % of JSON)`,
    baseline: `JSON: ${size(json)}, ${sum(json)}`,
    isMet: share <= 1 / 4 && spreadOf(ratios).median <= 1 / 2,
  };
}

await read(false, 100);
await read(true, 100);
const rows: Row[] = [];
for (const ranges of SIZES.length > 0 ? SIZES : [10_000, 330_000, 1_000_000]) {
  rows.push(await compare(ranges));
}
report(rows);
