import { createServer, type IncomingHttpHeaders } from 'node:http';
import { array, boolean, integer, nat, record, sample } from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { RequestError } from '../../src/cockroach/http/errors.ts';
import { isId } from '../../src/cockroach/node.ts';
import type { RangeDescriptor } from '../../src/cockroach/range-descriptor.ts';
import { peerMessage, peerShape } from '../../src/collectors/network/peers.ts';
import { createTestClient, testStats } from '../support/cluster.ts';
import { loadPublished } from '../support/published-protobuf.ts';

const PROTOBUF = 'application/x-protobuf';
const published = loadPublished();

/** A server that sends this body in pieces, and the headers that it got. */
async function serveBody(status: number, type: string, body: Uint8Array | string) {
  const asked: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    asked.push(request.headers);
    response.writeHead(status, { 'content-type': type });
    const bytes = Buffer.from(body);
    response.write(bytes.subarray(0, bytes.length / 3));
    response.end(bytes.subarray(bytes.length / 3));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return { url: `http://127.0.0.1:${port}`, asked };
}

async function readDescriptors(url: string, protobuf = true): Promise<readonly RangeDescriptor[]> {
  await using client = createTestClient({ urls: [url], protobuf });
  const found: RangeDescriptor[] = [];
  await client.api.rangeDescriptors(AbortSignal.timeout(10_000), {
    nodeId: 1,
    rangeIds: [1],
    firstUrl: 0,
    onDescriptor: (descriptor) => found.push(descriptor),
  });
  return found;
}

async function readPeers(url: string, showsErrors = true, protobuf = true) {
  await using client = createTestClient({ urls: [url], protobuf });
  const found = new Map<number, ReadonlyMap<string, unknown>>();
  await client.api.connectivity(testStats(), {
    headersMs: 5_000,
    firstUrl: 0,
    peer: peerShape(showsErrors),
    peerMessage: peerMessage(showsErrors),
    onNode: (nodeId, peers) => found.set(nodeId, peers),
  });
  return found;
}

const id = integer({ min: 1, max: 100_000 });
const RANGE = record({
  range_id: integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  generation: nat(2 ** 31),
  replicas: array(record({ node_id: id, store_id: id, replica_id: id, type: nat(6) }), {
    minLength: 1,
    maxLength: 9,
  }),
  is_leaseholder: boolean(),
  lease_valid: boolean(),
});

describe('what the published definitions write', () => {
  test('of ranges is read, and nothing else of them', async () => {
    const ranges = sample(RANGE, { seed: 7, numRuns: 50 });
    const body = published.RangesResponse.encode({
      ranges: ranges.map(({ range_id, generation, replicas, is_leaseholder, lease_valid }, at) => ({
        span: { start_key: '/Table/104/1', end_key: '/Table/104/2' },
        raft_state: {
          replica_id: 3,
          hard_state: { term: 7, vote: 1, commit: 99 },
          state: 'StateLeader',
        },
        state: {
          state: {
            raft_applied_index: 77,
            lease: { sequence: 4, replica: { node_id: 1, store_id: 1, replica_id: 1 } },
            desc: {
              range_id,
              start_key: Buffer.from(`key ${at}`),
              end_key: Buffer.from(`key ${at + 1}`),
              internal_replicas: replicas.map((replica) => ({ ...replica })),
              next_replica_id: 9,
              generation,
            },
            stats: { live_bytes: 512, key_count: 9 },
          },
          last_index: 80,
        },
        source_node_id: 1,
        lease_history: [{ sequence: 3 }, { sequence: 4 }],
        locks: 12,
        locality: { tiers: [{ key: 'zone', value: 'a' }] },
        is_leaseholder,
        lease_valid,
      })),
      next: 0,
    }).finish();
    const { url, asked } = await serveBody(200, PROTOBUF, body);
    expect(await readDescriptors(url)).toEqual(
      ranges.map(({ range_id, generation, replicas, is_leaseholder, lease_valid }) => ({
        rangeId: range_id,
        generation: generation % 2 ** 32,
        replicas: replicas.map(({ node_id, store_id, type }) => ({
          nodeId: node_id,
          storeId: store_id,
          type,
        })),
        isFromLeaseholder: is_leaseholder && lease_valid,
      })),
    );
    expect(asked[0]).toMatchObject({
      accept: PROTOBUF,
      'content-type': PROTOBUF,
      'accept-encoding': 'identity',
    });
  });

  test('of connections is read as their JSON is', async () => {
    const peers = {
      2: { latency: { nanos: 512_000 }, status: 1, address: 'n2:26257' },
      3: {
        latency: { seconds: 1, nanos: 7 },
        status: 2,
        locality: { tiers: [{ key: 'a', value: 'b' }] },
      },
      4: { status: 3, error: 'dial tcp 10.0.0.4:26257: refused' },
      5: { status: 3, error: 'no connection found' },
      6: { latency: { seconds: -1 }, status: 9 },
      7: {},
    };
    const message = { connections: { 1: { peers }, 9: {} }, errors_by_node_id: { 8: 'n8:26257' } };
    const body = published.NetworkConnectivityResponse.encode(message).finish();
    const inJson = {
      1: {
        peers: {
          2: { ...peers[2], latency: '0.000512s' },
          3: { ...peers[3], latency: '1.000000007s' },
          4: { ...peers[4], latency: '0s' },
          5: { ...peers[5], latency: '0s' },
          6: { ...peers[6], latency: '-1s' },
          7: { latency: '0s', status: 0, error: '' },
        },
      },
      9: { peers: {} },
    };
    for (const showsErrors of [true, false]) {
      const messages = await serveBody(200, PROTOBUF, body);
      const json = await serveBody(
        200,
        'application/json',
        JSON.stringify({ connections: inJson }),
      );
      const [read, expected] = await Promise.all(
        [messages, json].map(({ url }) => readPeers(url, showsErrors)),
      );
      expect(read).toEqual(expected);
      expect(read?.size).toBe(2);
      const texts = JSON.stringify(Array.from(read?.values() ?? [], (node) => [...node]));
      expect(texts.includes('10.0.0.4')).toBe(showsErrors);
      expect(texts).not.toContain('n2:26257');
    }
  });

  test('of an error is its text', async () => {
    const text = 'only users with the VIEWCLUSTERMETADATA privilege may read this';
    const error = { error: text, message: text, code: 7 };
    const body = published.ResponseError.encode(error).finish();
    const { url } = await serveBody(403, PROTOBUF, body);
    const failure: unknown = await readDescriptors(url).catch((reason: unknown) => reason);
    expect(failure).toBeInstanceOf(RequestError);
    expect(failure).toMatchObject({ status: 403, serverText: text });
    // A gateway leaves out the older of the two texts.
    const newer = published.ResponseError.encode({ message: text, code: 7 }).finish();
    const { url: other } = await serveBody(403, PROTOBUF, newer);
    await expect(readDescriptors(other)).rejects.toMatchObject({ serverText: text });
  });
});

test('a message of another kind is an error that says so', async () => {
  const wrong = published.ResponseError.encode({ error: 'x' }).finish();
  for (const body of [wrong, '{"ranges":[]}', wrong.subarray(0, 2)]) {
    const { url } = await serveBody(200, PROTOBUF, body);
    const failure: unknown = await readDescriptors(url).catch((reason: unknown) => reason);
    expect(failure).toMatchObject({ reason: 'decode' });
    expect(String(failure)).toContain('(protobuf)');
  }
});

async function openWorld(): Promise<Simulator> {
  const simulator = await startSimulator({
    nodes: 5,
    ranges: 60,
    storesPerNode: 1,
    sessions: 0,
    metricKeys: 'useful',
    frozen: true,
    insecure: true,
  });
  onTestFinished(() => simulator.close());
  return simulator;
}

describe('a server', () => {
  test.each(['by-content-type', 'by-accept', 'never'] as const)(
    'that chooses protobuf %s is read, and says the same in both forms',
    async (rule) => {
      const simulator = await openWorld();
      simulator.setQuirk('protobuf', rule);
      const url = simulator.clusterUrl;
      const json = await readDescriptorsOfAll(url, false);
      const messages = await readDescriptorsOfAll(url, true);
      expect(messages.found).toEqual(json.found);
      expect(json.found.length).toBeGreaterThan(10);
      expect(messages.bytes < json.bytes / 3).toBe(rule !== 'never');
      expect(await readPeers(url)).toEqual(await readPeers(url, true, false));
      expect([...(await readPeers(url)).keys()].every(isId)).toBe(true);
    },
  );
});

async function readDescriptorsOfAll(url: string, protobuf: boolean) {
  await using client = createTestClient({ urls: [url], protobuf });
  const found: RangeDescriptor[] = [];
  const bytes = await client.api.rangeDescriptors(AbortSignal.timeout(10_000), {
    nodeId: 2,
    rangeIds: [],
    firstUrl: 0,
    onDescriptor: (descriptor) => found.push(descriptor),
  });
  return { found, bytes };
}
