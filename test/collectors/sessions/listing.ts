import type { Rewrite } from '../../../src/base/collector-options.ts';
import { sessions, type SessionsResult } from '../../../src/collectors/sessions/collector.ts';
import { type Answer, answering, poll, type Polled } from '../support.ts';

export const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 0);
interface Options {
  readonly page_limit: number;
  readonly max_applications: number;
  readonly max_users: number;
  readonly include_internal: boolean;
  readonly application_rewrite: readonly Rewrite[];
}

export const OPTIONS: Options = {
  page_limit: 20_000,
  max_applications: 50,
  max_users: 20,
  include_internal: false,
  application_rewrite: [],
};

/** The time this many seconds before the poll. */
export function ago(seconds: number): string {
  return new Date(NOW_MS - seconds * 1000).toISOString();
}

/** An idle session as current servers list it. */
export function sessionOf(nodeId: number, more: object = {}): Record<string, unknown> {
  return {
    node_id: nodeId,
    username: 'movr',
    client_address: '10.0.0.1:50000',
    application_name: 'rides',
    active_queries: null,
    start: ago(30),
    last_active_query: 'SELECT secret',
    id: 'AAAA',
    alloc_bytes: 100,
    max_alloc_bytes: 200,
    status: 2,
    txn_fingerprint_ids: null,
    total_active_time: 0,
    ...more,
  };
}

/** `count` idle sessions of an application. */
export function sessionsOf(application: string, count: number, more: object = {}): object[] {
  return Array.from({ length: count }, () =>
    sessionOf(1, { application_name: application, ...more }),
  );
}

export function queryOf(seconds: number, more: object = {}): object {
  return { id: 'q', sql: 'SELECT secret', start: ago(seconds), phase: 1, ...more };
}

export function transactionOf(seconds: number, more: object = {}): object {
  return { id: 't', start: ago(seconds), deadline: '0001-01-01T00:00:00Z', ...more };
}

export function listingOf(listed: readonly object[], more: object = {}): object {
  return {
    sessions: listed,
    errors: [],
    internal_app_name_prefix: '$ internal',
    next: 'fDB8MHw=',
    ...more,
  };
}

type PolledSessions = Polled & {
  readonly result: SessionsResult;
  /** Paths of the requests. */
  readonly requests: readonly string[];
};

/** Polls the sessions once, with a new state. */
export async function pollListing(
  answer: Answer | readonly object[],
  options: Partial<Options> = {},
): Promise<PolledSessions> {
  const { api, requests } = answering(
    typeof answer === 'function' ? answer : () => listingOf(answer),
  );
  const state = sessions.createState();
  const given = { options: { ...OPTIONS, ...options }, state, nowMs: NOW_MS };
  return { ...(await poll(sessions, api, given)), requests };
}
