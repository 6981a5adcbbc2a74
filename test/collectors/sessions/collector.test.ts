import { describe, expect, test } from 'vitest';
import { sessions } from '../../../src/collectors/sessions/collector.ts';
import { answering, poll } from '../support.ts';
import {
  ago,
  listingOf,
  NOW_MS,
  OPTIONS,
  pollListing,
  queryOf,
  sessionOf,
  transactionOf,
} from './listing.ts';

describe('states', () => {
  test('are derived from queries and transactions, not from the status', async () => {
    const { of } = await pollListing([
      sessionOf(1, { active_queries: [queryOf(1)], active_txn: transactionOf(1), status: 0 }),
      sessionOf(1, { active_queries: [queryOf(1)] }),
      sessionOf(1, { active_txn: transactionOf(1), status: undefined }),
      sessionOf(1, { status: undefined, active_queries: [] }),
      sessionOf(1, { status: 9 }),
      sessionOf(1, { active_txn: null }),
    ]);
    expect(of('crdb_sessions')).toEqual([
      '{node_id="1",state="active"} 2',
      '{node_id="1",state="idle_in_transaction"} 1',
      '{node_id="1",state="idle"} 3',
    ]);
  });

  test('sessions that are closed by status or by end are not counted', async () => {
    const { of } = await pollListing([
      sessionOf(1),
      sessionOf(1, { status: 1 }),
      sessionOf(2, { status: undefined, end: ago(1) }),
      sessionOf(1, { end: '0001-01-01T00:00:00Z' }),
    ]);
    expect(of('crdb_sessions')).toEqual([
      '{node_id="1",state="active"} 0',
      '{node_id="1",state="idle_in_transaction"} 0',
      '{node_id="1",state="idle"} 2',
    ]);
    expect(of('crdb_session_fanout_errors')).toEqual(['{node_id="1"} 0', '{node_id="2"} 0']);
  });
});

describe('series of a node', () => {
  test('sum sessions by state, queries by phase and transactions by kind', async () => {
    const { lines } = await pollListing([
      sessionOf(7, {
        active_queries: [
          queryOf(5, { phase: undefined }),
          queryOf(6),
          queryOf(90, { phase: 7 }),
          queryOf(1, { phase: 'x' }),
        ],
        active_txn: transactionOf(120, { implicit: true }),
        alloc_bytes: 1000,
        max_alloc_bytes: 3000,
      }),
      sessionOf(7, { active_txn: transactionOf(60), client_address: '10.0.0.2:1' }),
      sessionOf(7, { alloc_bytes: undefined }),
    ]);
    expect(lines.filter((line) => line.includes('node_id="7"'))).toEqual([
      'crdb_sessions{node_id="7",state="active"} 1',
      'crdb_sessions{node_id="7",state="idle_in_transaction"} 1',
      'crdb_sessions{node_id="7",state="idle"} 1',
      'crdb_active_queries{node_id="7",phase="preparing"} 1',
      'crdb_active_queries{node_id="7",phase="executing"} 1',
      'crdb_active_queries{node_id="7",phase="other"} 2',
      'crdb_open_transactions{node_id="7",kind="explicit"} 1',
      'crdb_open_transactions{node_id="7",kind="implicit"} 1',
      'crdb_session_alloc_bytes{node_id="7"} 1100',
      'crdb_session_max_alloc_bytes{node_id="7"} 3400',
      'crdb_session_largest_alloc_bytes{node_id="7"} 1000',
      'crdb_oldest_transaction_age_seconds{node_id="7"} 120',
      'crdb_oldest_query_age_seconds{node_id="7"} 90',
      'crdb_session_client_addresses{node_id="7"} 2',
      'crdb_session_fanout_errors{node_id="7"} 0',
    ]);
  });

  test('the elapsed time that the server sends takes precedence over the clocks; no age is negative', async () => {
    const { of } = await pollListing([
      sessionOf(1, {
        active_queries: [queryOf(50, { elapsed_time: 2_500_000_000 })],
        active_txn: transactionOf(50, { elapsed_time: 3_000_000_000 }),
      }),
      sessionOf(2, { active_queries: [queryOf(-50)], active_txn: transactionOf(-50) }),
      sessionOf(3, {
        active_queries: [queryOf(0, { start: undefined, elapsed_time: -5 })],
        active_txn: transactionOf(0, { start: '0001-01-01T00:00:00Z' }),
      }),
    ]);
    expect(of('crdb_oldest_query_age_seconds')).toEqual([
      '{node_id="1"} 2.5',
      '{node_id="2"} 0',
      '{node_id="3"} 0',
    ]);
    expect(of('crdb_open_transactions')).toEqual(
      [1, 2, 3].flatMap((id) => [
        `{node_id="${id}",kind="explicit"} 1`,
        `{node_id="${id}",kind="implicit"} 0`,
      ]),
    );
    expect(of('crdb_oldest_transaction_age_seconds')).toEqual([
      '{node_id="1"} 3',
      '{node_id="2"} 0',
      '{node_id="3"} 0',
    ]);
  });

  test('a number that is text makes its sums unknown, and no others', async () => {
    const { of } = await pollListing([
      sessionOf(1, { alloc_bytes: '100', active_txn: transactionOf(1, { num_retries: '3' }) }),
      sessionOf(1, { alloc_bytes: 50, application_name: 'other rides' }),
      sessionOf(2, { max_alloc_bytes: '200', application_name: 'other rides' }),
    ]);
    expect(of('crdb_session_alloc_bytes')).toEqual(['{node_id="2"} 100']);
    expect(of('crdb_session_largest_alloc_bytes')).toEqual(['{node_id="2"} 100']);
    expect(of('crdb_session_max_alloc_bytes')).toEqual(['{node_id="1"} 400']);
    const listed = '{application="other rides",user="movr"}';
    const rest = ['{application="other",user="other"} 0', '{application="other",user="movr"} 0'];
    expect(of('crdb_application_session_alloc_bytes')).toEqual([rest[0], `${listed} 150`, rest[1]]);
    expect(of('crdb_application_open_transaction_retries')).toEqual([
      rest[0],
      `${listed} 0`,
      rest[1],
    ]);
  });

  test('are sorted by id; a session without a node is not counted', async () => {
    const { of } = await pollListing([
      sessionOf(10),
      sessionOf(9),
      sessionOf(0),
      sessionOf(1, { node_id: 'x' }),
    ]);
    expect(of('crdb_session_alloc_bytes')).toEqual(['{node_id="9"} 100', '{node_id="10"} 100']);
  });

  test('count hosts without their ports, IPv4 and IPv6', async () => {
    const addresses = [
      '10.0.0.1:50000',
      '10.0.0.1:50001',
      '10.0.0.2:50000',
      '[fe80::1]:26257',
      '[fe80::1]:26258',
      '[fe80::2]:26257',
      'somewhere',
      '',
    ];
    const { of, lines } = await pollListing(
      addresses.map((address) => sessionOf(1, { client_address: address })),
    );
    expect(of('crdb_session_client_addresses')).toEqual(['{node_id="1"} 5']);
    expect(lines.join('\n')).not.toMatch(/10\.0\.0|fe80|somewhere|secret/);
  });
});

describe('internal sessions', () => {
  const internal = sessionOf(2, { application_name: '$ internal-jobs', username: 'node' });

  test('are excluded, also for a node that has no others', async () => {
    const { of, lines } = await pollListing([sessionOf(1), internal]);
    expect(of('crdb_session_alloc_bytes')).toEqual(['{node_id="1"} 100']);
    expect(lines.join('\n')).not.toContain('internal-jobs');
  });

  test('are counted when included', async () => {
    const { of } = await pollListing([sessionOf(1), internal], { include_internal: true });
    expect(of('crdb_sessions')).toHaveLength(6);
    expect(of('crdb_application_session_alloc_bytes')).toContain(
      '{application="$ internal-jobs",user="node"} 100',
    );
  });

  test('of a server with another prefix are excluded by one more request', async () => {
    const listed = [
      sessionOf(1, { application_name: '%internal%x' }),
      sessionOf(1, { application_name: '$ internal is my name' }),
    ];
    const { api, requests } = answering(() =>
      listingOf(listed, { internal_app_name_prefix: '%internal%' }),
    );
    const given = { options: OPTIONS, state: sessions.createState(), nowMs: NOW_MS };
    const first = await poll(sessions, api, given);
    expect(requests).toHaveLength(2);
    expect(first.of('crdb_application_session_alloc_bytes')).toEqual([
      '{application="other",user="other"} 0',
      '{application="$ internal is my name",user="movr"} 100',
      '{application="other",user="movr"} 0',
    ]);
    const second = await poll(sessions, api, given);
    expect(requests).toHaveLength(3);
    expect(second.lines).toEqual(first.lines);
  });
});

function errorOf(id: number | undefined): object {
  return { node_id: id, message: 'failed to dial' };
}

describe('fan-out errors', () => {
  const listed = {
    nodes: [
      { node_id: 1, liveness_status: 3 },
      { node_id: 2, liveness_status: 1 },
      { node_id: 5, liveness_status: 3 },
    ],
  };

  test('are 1 for nodes with an error and 0 for nodes with sessions', async () => {
    const { of } = await pollListing(() =>
      listingOf([sessionOf(3), sessionOf(1)], {
        errors: [errorOf(12), errorOf(3)],
      }),
    );
    expect(of('crdb_session_fanout_errors')).toEqual([
      '{node_id="1"} 0',
      '{node_id="3"} 1',
      '{node_id="12"} 1',
    ]);
    // Node 3 failed between two pages: the sessions that it listed before are not all of its sessions.
    expect(of('crdb_session_alloc_bytes')).toEqual(['{node_id="1"} 100']);
  });

  test('no sessions and no errors are an empty cluster', async () => {
    const { of, failure } = await pollListing([]);
    expect(failure).toBeUndefined();
    expect(of('crdb_sessions')).toEqual([]);
    expect(of('crdb_sessions_by_age_seconds_bucket')).toContain('{le="+Inf"} 0');
    expect(of('crdb_application_session_alloc_bytes')).toEqual([
      '{application="other",user="other"} 0',
    ]);
  });

  test('of every node fail the poll', async () => {
    const decommissioned = { node_id: 3, liveness_status: 5 };
    const dead = { node_id: 4, liveness_status: 1 };
    const answer = (path: string): object =>
      path.startsWith('/nodes/')
        ? { nodes: [...listed.nodes, decommissioned, dead, { node_id: 0 }, { node_id: 'x' }] }
        : listingOf([], { errors: [errorOf(1), errorOf(2), errorOf(5)] });
    await expect(pollListing(answer)).rejects.toThrow('all nodes reported errors');
  });

  test('of the only node fail the poll', async () => {
    const polled = pollListing((path) =>
      path.startsWith('/nodes/')
        ? { nodes: listed.nodes.slice(0, 1) }
        : listingOf([], { errors: [errorOf(1)] }),
    );
    await expect(polled).rejects.toThrow('all nodes reported errors');
  });

  test('of some nodes leave an empty cluster with failed nodes', async () => {
    const { of, requests } = await pollListing((path) =>
      path.startsWith('/nodes/') ? listed : listingOf([], { errors: [errorOf(2), errorOf(5)] }),
    );
    expect(of('crdb_session_fanout_errors')).toEqual(['{node_id="2"} 1', '{node_id="5"} 1']);
    expect(requests.slice(1)).toEqual(['/nodes/?limit=200&offset=0']);
  });

  test.each([[[]], [[sessionOf(1)]]])(
    'without a node id fail the poll, and nodes are not listed, beside %j',
    async (found) => {
      const answer = listingOf(found, { errors: [errorOf(undefined), errorOf(12)] });
      const { api, requests } = answering(() => answer);
      const state = sessions.createState();
      await expect(poll(sessions, api, { options: OPTIONS, state, nowMs: NOW_MS })).rejects.toThrow(
        'could not ask all nodes, and does not say which',
      );
      expect(requests).toHaveLength(1);
    },
  );
});
