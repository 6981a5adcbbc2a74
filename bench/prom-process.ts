// The usual implementation: gauges of prom-client, rendered for each scrape and compressed with node:zlib.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Gauge, Registry } from 'prom-client';
import { parseExposition } from '../test/metrics/parse-exposition.ts';
import { selfWatch } from './cost.ts';
import { serveCalls } from './process.ts';

export interface PromStart {
  /** The URL whose metrics this process copies. */
  readonly model: string;
}

const { model }: PromStart = JSON.parse(process.argv[2] ?? '{}');
const gzipAsync = promisify(gzip);
const registry = new Registry();
const gauges = new Map<string, Gauge>();
for (const { name, labels, value } of parseExposition(await (await fetch(model)).text())) {
  const gauge =
    gauges.get(name) ??
    new Gauge({
      name,
      help: 'As in the model.',
      labelNames: Object.keys(labels),
      registers: [registry],
    });
  gauges.set(name, gauge);
  gauge.set({ ...labels }, value);
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const text = await registry.metrics();
  if (request.headers['accept-encoding'] !== 'gzip') {
    response.end(text);
    return;
  }
  // The fastest level; most servers use the default, which costs three times as much.
  const body = await gzipAsync(text, { level: 1 });
  response.setHeader('content-encoding', 'gzip').end(body);
}

const server = createServer((request, response) => void answer(request, response));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
const port = typeof address === 'object' && address !== null ? address.port : 0;

serveCalls({
  url: () => `http://127.0.0.1:${port}`,
  ...selfWatch(),
});
