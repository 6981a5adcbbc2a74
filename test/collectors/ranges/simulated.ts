import type { Simulator } from '../../../simulator/index.ts';
import { createTestClient, type TestClient } from '../../support/cluster.ts';

/** The cluster API over real sockets to a simulator. */
/** `headersMs`: to the headers of most responses. */
export function simulatedApi(
  { clusterUrls, username, password }: Simulator,
  { headersMs = 5_000 } = {},
): TestClient {
  return createTestClient({
    urls: clusterUrls,
    username,
    password: () => Promise.resolve(password),
    breakerOpenMs: 10,
    deadlines: { headersMs },
  });
}
