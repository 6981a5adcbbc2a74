import { expect, test } from 'vitest';
import { startSimulator } from '../../../simulator/index.ts';
import { sessions } from '../../../src/collectors/sessions/collector.ts';
import { simulatedApi } from '../ranges/simulated.ts';
import { poll } from '../support.ts';
import { NOW_MS, OPTIONS } from './listing.ts';

const HOUR_MS = 3_600_000;

test.each([
  ['an hour behind', -HOUR_MS],
  ['an hour ahead', HOUR_MS],
])('ages are right when the clocks of the servers are %s', async (_, skewMs) => {
  await using simulator = await startSimulator({
    sessions: 0,
    faultyNodes: false,
    now: () => NOW_MS + skewMs,
    quirks: { elapsedTime: false },
  });
  const { world } = simulator;
  const opened = { nodeId: 1, applicationName: 'rides', username: 'movr' };
  world.openSession({ ...opened, state: 'active', ageMs: 30_000, transactionAgeMs: 30_000 });
  world.openSession({ ...opened, state: 'idle', ageMs: 900_000 });
  await using cluster = simulatedApi(simulator);
  const given = { options: OPTIONS, state: sessions.createState(), nowMs: NOW_MS };
  const { of } = await poll(sessions, cluster.api, given);
  expect(of('crdb_oldest_transaction_age_seconds')).toEqual(['{node_id="1"} 30']);
  expect(of('crdb_oldest_query_age_seconds')).toEqual(['{node_id="1"} 30']);
  expect(of('crdb_application_oldest_transaction_age_seconds')).toContain(
    '{application="rides",user="movr"} 30',
  );
  expect(of('crdb_sessions_by_age_seconds_bucket')).toEqual([
    '{le="60"} 1',
    '{le="600"} 1',
    '{le="3600"} 2',
    '{le="86400"} 2',
    '{le="+Inf"} 2',
  ]);
  expect(of('crdb_active_queries_by_age_seconds_bucket')[2]).toBe('{le="60"} 1');
});
