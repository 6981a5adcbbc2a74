import { startReading } from '../../src/http/reading.ts';
import { createTestClient, type TestClient, type TestClientOptions } from './cluster.ts';

/** A client of these URLs, without login. */
export function connect(
  urls: readonly string[],
  options: Partial<TestClientOptions> = {},
): TestClient {
  return createTestClient({ urls, ...options });
}

/** One request; resolves to the body that was handed on. */
export async function ask(
  { http }: TestClient,
  request: Partial<Parameters<TestClient['http']['send']>[0]> = {},
): Promise<string> {
  const chunks: Uint8Array[] = [];
  await http.send({
    endpoint: 'nodes',
    method: 'GET',
    path: '/nodes/',
    signal: startReading(AbortSignal.timeout(10_000)).signal,
    onChunk: (chunk) => chunks.push(chunk.slice()),
    ...request,
  });
  return Buffer.concat(chunks).toString();
}
