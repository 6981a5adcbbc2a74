import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { runHere, writeTemporary } from '../cli/run.ts';

/** Every text and every key of a map that a server sends is one of these. */
const CANARY = 'Zanarkand';
const ID = 482_771_993;

/**
 * A copy of a document in which each text that is not needed to go on is a canary, each id a large number, and each map has a
 * canary as another key.
 */
function withCanaries(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => withCanaries(item, name));
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([key, member]) => [key, withCanaries(member, key)]);
    return {
      ...Object.fromEntries(members),
      [`${CANARY}_key`]: { [CANARY]: CANARY, [`${ID}`]: ID },
    };
  }
  if (typeof value === 'string' && !KEPT.test(name)) return `${CANARY} ${value}`;
  if (
    typeof value === 'number' &&
    /(?:_id|Id)$/.test(name) &&
    !/^(?:node|source_node)_id$/.test(name)
  ) {
    return ID;
  }
  return value;
}

/** Without these no further request is sent. */
const KEPT = /^(?:session|rangeId|start|end_key|created|latency)$/;

test('a report holds no name, address, text, key, id, locality or SQL of a server', async () => {
  await using simulator = await startSimulator({ nodes: 3, ranges: 30, sessions: 30 });
  const proxy = createServer((request, response) => {
    void forward(request.method, request.url, request.headers, request, response);
  });
  async function forward(
    method: string | undefined,
    url: string | undefined,
    headers: NodeJS.Dict<string | string[]>,
    body: AsyncIterable<Buffer>,
    response: ServerResponse,
  ): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk);
    const sent = Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && !/^(?:host|connection|content-length)$/.test(name)
        ? [[name, value] as [string, string]]
        : [],
    );
    const answer = await fetch(`${simulator.clusterUrl}${url}`, {
      method: method ?? 'GET',
      headers: sent,
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type') === 'application/json';
    response.writeHead(answer.status, {
      'content-type': answer.headers.get('content-type') ?? 'text/plain',
      date: answer.headers.get('date') ?? '',
      [`x-${CANARY}`]: CANARY,
    });
    response.end(isJson ? JSON.stringify(withCanaries(JSON.parse(text))) : text);
  }
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  const { port }: AddressInfo = Object(proxy.address());
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-canaries-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'report.json');
  const config = await writeTemporary(
    'exporter.yml',
    `clusters:
  - name: ${CANARY}
    cluster_api: { urls: ["http://127.0.0.1:${port}"], username: exporter, password: exporter-demo }
collectors:
  tables: { tables: [movr.public.rides] }
`,
  );
  const { err } = await runHere(['diagnose', '--report', file, `--config.file=${config}`]);
  expect(err).toContain('wrote the report');
  const report = readFileSync(file, 'utf8');
  expect(report).toContain('"nodes[].liveness_status": "number');
  expect(report).toContain('"sessions[].active_queries[].sql": "text');
  const { world } = simulator;
  const names = [CANARY, String(ID), 'movr', 'crdb-1', 'example', 'us-east1', 'exporter-demo'];
  const texts = [
    ...world.state.tables.map(({ name }) => `${name}"`).filter((name) => name !== 'users"'),
    `127.0.0.1`,
    `:${port}`,
  ];
  for (const canary of [...names, ...texts, 'SELECT']) {
    expect(report.toLowerCase(), canary).not.toContain(canary.toLowerCase());
  }
});
