import { cleanLabelValue } from '../../../src/metrics/label-text.ts';
import { type Expected, keyOf, type Moment } from './expected.ts';

type Sessions = Moment['truth']['sessions'];

export function expectSessions({ truth }: Moment): Expected {
  const expected: Expected = new Map();
  const { sessions, nowMs } = truth;
  const age = (sinceMs: number | undefined): number =>
    sinceMs === undefined ? 0 : (nowMs - sinceMs) / 1000;
  for (const node of sessions.byNode) {
    const node_id = String(node.nodeId);
    const states = { active: node.active, idle: node.idle };
    const all = { ...states, idle_in_transaction: node.idleInTransaction };
    for (const [state, count] of Object.entries(all)) {
      expected.set(keyOf('crdb_sessions', { node_id, state }), count);
    }
    const { preparing, executing } = node;
    for (const [phase, count] of Object.entries({ preparing, executing, other: 0 })) {
      expected.set(keyOf('crdb_active_queries', { node_id, phase }), count);
    }
    const kinds = { explicit: node.explicitTransactions, implicit: node.implicitTransactions };
    for (const [kind, count] of Object.entries(kinds)) {
      expected.set(keyOf('crdb_open_transactions', { node_id, kind }), count);
    }
    for (const [family, value] of Object.entries({
      crdb_session_alloc_bytes: node.allocBytes,
      crdb_session_max_alloc_bytes: node.maxAllocBytes,
      crdb_session_largest_alloc_bytes: node.largestAllocBytes,
      crdb_session_client_addresses: node.clientHosts,
      crdb_oldest_transaction_age_seconds: age(node.oldestTransactionMs),
      crdb_oldest_query_age_seconds: age(node.oldestQueryMs),
    })) {
      expected.set(keyOf(family, { node_id }), value);
    }
    expected.set(keyOf('crdb_session_fanout_errors', { node_id }), 0);
  }
  for (const id of sessions.failedNodeIds) {
    expected.set(keyOf('crdb_session_fanout_errors', { node_id: String(id) }), 1);
  }
  expectApplications(expected, sessions);
  return expected;
}

/** Names that look alike once they are fit for a label share a row. */
function expectApplications(expected: Expected, { byApplication }: Sessions): void {
  const add = (key: string, value: number): void => {
    expected.set(key, (expected.get(key) ?? 0) + value);
  };
  for (const pair of byApplication) {
    const application = cleanLabelValue(pair.application) || 'unset';
    const labels = { application, user: pair.user };
    const states = { active: pair.active, idle: pair.idle };
    const all = { ...states, idle_in_transaction: pair.idleInTransaction };
    for (const [state, count] of Object.entries(all)) {
      add(keyOf('crdb_application_sessions', { ...labels, state }), count);
      add(keyOf('crdb_user_sessions', { user: pair.user, state }), count);
    }
    add(keyOf('crdb_application_session_alloc_bytes', labels), pair.allocBytes);
    add(keyOf('crdb_application_active_queries', labels), pair.activeQueries);
  }
}
