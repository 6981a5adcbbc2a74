import { expect, onTestFinished, test } from 'vitest';
import { integer, object } from '../../src/json/shape.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { createTestClient, testStats } from '../support/cluster.ts';

const session = object({ node_id: integer() });

test.each([1, 2, 3, 7, 1_000])(
  'every session is listed once by a server that caps its pages at %i',
  async (sessionsPageCap) => {
    const simulator = await startSimulator({
      nodes: 9,
      ranges: 10,
      sessions: 8,
      metricKeys: 'useful',
      insecure: true,
      frozen: true,
      quirks: { sessionsPageCap },
    });
    onTestFinished(() => simulator.close());
    await using client = createTestClient({ urls: simulator.clusterUrls });
    const byNode = new Map<number, number>();
    await client.api.sessions(testStats(), {
      limit: 1_000,
      shape: session,
      onSession: ({ node_id: id = 0 }) => byNode.set(id, (byNode.get(id) ?? 0) + 1),
    });
    const expected = simulator
      .truth()
      .sessions.byNode.map((row): [number, number] => [
        row.nodeId,
        row.active + row.idleInTransaction + row.idle,
      ]);
    expect(byNode).toEqual(new Map(expected));
  },
);
