// Answers each request with the same 200 ranges, in the form that is asked for.
import { createServer } from 'node:http';
import { describeAsJson, describeAsMessage } from './described-ranges.ts';
import { serveCalls } from './process.ts';

/** Where it listens, and the bytes of a response in each form. */
export interface ServedForms {
  readonly url: string;
  readonly json: number;
  readonly protobuf: number;
}

const { rangeIds }: { readonly rangeIds: readonly number[] } = JSON.parse(process.argv[2] ?? '{}');
const replicas = [3, 41, 77].map((id) => ({ nodeId: id, storeId: id }));
const ranges = rangeIds.map((rangeId) => ({
  rangeId,
  replicas,
  source: { nodeId: 3, storeId: 3 },
  isLeaseholder: true,
}));
const json = Buffer.from(describeAsJson(ranges));
const protobuf = describeAsMessage(ranges);
const server = createServer((request, response) => {
  const isProtobuf = request.headers['content-type'] === 'application/x-protobuf';
  response.setHeader('content-type', isProtobuf ? 'application/x-protobuf' : 'application/json');
  response.end(isProtobuf ? protobuf : json);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const address = server.address();
const port = typeof address === 'object' ? address?.port : 0;
const served: ServedForms = {
  url: `http://127.0.0.1:${port}`,
  json: json.length,
  protobuf: protobuf.length,
};
serveCalls({ served: () => served });
