import { createPollStats } from '../../src/cockroach/http/poll-stats.ts';
import type { HttpRequest } from '../../src/cockroach/http/request.ts';
import { createTestClient, type TestClient, type TestClientOptions } from './cluster.ts';

/** A client of these URLs, without login. */
export function connect(
  urls: readonly string[],
  options: Partial<TestClientOptions> = {},
): TestClient {
  return createTestClient({ urls, ...options });
}

interface TestRequest extends Partial<HttpRequest> {
  readonly signal?: AbortSignal;
}

/** One request; resolves to the body that was handed on. */
export async function ask(
  { http }: TestClient,
  { signal, ...request }: TestRequest = {},
): Promise<string> {
  const chunks: Uint8Array[] = [];
  await http.send({
    endpoint: 'nodes',
    method: 'GET',
    path: '/nodes/',
    stats: createPollStats(signal ?? AbortSignal.timeout(10_000)),
    onChunks: (parts) => chunks.push(Buffer.concat(parts)),
    onEnd: () => undefined,
    ...request,
  });
  return Buffer.concat(chunks).toString();
}
