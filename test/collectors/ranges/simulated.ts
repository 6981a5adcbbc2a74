import type { Simulator } from '../../../src/simulator/index.ts';
import { createTestClient, type TestClient } from '../../support/cluster.ts';

/** The cluster API over real sockets to a simulator. */
export function simulatedApi({ clusterUrls, username, password }: Simulator): TestClient {
  return createTestClient({
    urls: clusterUrls,
    username,
    password: () => Promise.resolve(password),
    breakerOpenMs: 10,
  });
}
