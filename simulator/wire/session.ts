import type { Quirks } from '../quirks.ts';
import { hashOf } from '../random.ts';
import type { ActiveQuery, Session, Transaction } from '../world/sessions.ts';
import { createEncoding, nanos, NO_TIME, timeText, type Encoding } from './encoding.ts';

const UNKNOWN_STATUS = 9;
const ZERO_UUID = '00000000-0000-0000-0000-000000000000';

/** A caller's view of sessions; `redacted` hides constants. */
export interface SessionView {
  readonly nowMs: number;
  readonly redacted: boolean;
}

/** One element of GET /sessions/, members in the order of the server. */
export function sessionElement(session: Session, quirks: Quirks, view: SessionView): object {
  const encoding = createEncoding(quirks);
  const { lastStatement } = session;
  return {
    node_id: session.nodeId,
    username: session.username,
    client_address: session.clientAddress,
    application_name: encoding.scalar(session.applicationName),
    active_queries: encoding.list(
      session.queries.map((query) => queryElement(query, session, encoding, quirks, view)),
    ),
    start: timeText(session.startMs),
    last_active_query: view.redacted ? lastStatement.withoutConstants : lastStatement.sql,
    id: encoding.bytes(Buffer.from(session.id, 'hex')),
    alloc_bytes: encoding.scalar(session.allocBytes),
    max_alloc_bytes: encoding.scalar(session.maxAllocBytes),
    active_txn:
      session.transaction === undefined
        ? undefined
        : transactionElement(session.transaction, encoding, quirks, view),
    last_active_query_no_constants: lastStatement.withoutConstants,
    status: quirks.sessionStatus ? encoding.scalar(statusOf(session, quirks)) : undefined,
    end: quirks.sessionStatus && session.endMs !== undefined ? timeText(session.endMs) : undefined,
    num_txns_executed: encoding.scalar(session.transactionsExecuted),
    txn_fingerprint_ids: fingerprints(session, encoding),
    total_active_time: nanos(session.totalActiveMs),
    ...(quirks.unknownValues ? { unheard_of: { name: '}]"\\' } } : {}),
  };
}

function statusOf(session: Session, quirks: Quirks): number {
  if (session.endMs !== undefined) return 1;
  if (session.transaction !== undefined) return 0;
  return quirks.unknownValues ? UNKNOWN_STATUS : 2;
}

/** Fingerprints have 64 bits, which a double cannot hold. */
function fingerprints(session: Session, encoding: Encoding): readonly unknown[] | null {
  if (session.transactionsExecuted === 0) return encoding.list([]);
  const high = BigInt(hashOf('fingerprint', session.id) | 0x8000_0000) & 0xffff_ffffn;
  const value = (high << 32n) | BigInt(hashOf('fingerprint low', session.id));
  return [rawNumber(value)];
}

function rawNumber(value: bigint): unknown {
  return JSON.rawJSON(value.toString());
}

function queryElement(
  query: ActiveQuery,
  session: Session,
  encoding: Encoding,
  quirks: Quirks,
  view: SessionView,
): object {
  const { sql, withoutConstants, summary } = query.statement;
  const phase = query.phase === 'executing' ? 1 : 0;
  return {
    id: query.id,
    txn_id: encoding.uuid(session.transaction?.id ?? ZERO_UUID),
    sql: view.redacted ? withoutConstants : sql,
    start: timeText(query.startMs),
    is_distributed: encoding.scalar(query.distributed),
    phase: encoding.scalar(quirks.unknownValues ? 7 : phase),
    progress: encoding.scalar(query.progress),
    sql_no_constants: withoutConstants,
    sql_summary: summary,
    is_full_scan: encoding.scalar(query.fullScan),
    elapsed_time: quirks.elapsedTime ? nanos(view.nowMs - query.startMs) : undefined,
    plan_gist: 'AgGAAgIAAAcCBg==',
    database: 'movr',
  };
}

function transactionElement(
  transaction: Transaction,
  encoding: Encoding,
  quirks: Quirks,
  view: SessionView,
): object {
  return {
    id: encoding.uuid(transaction.id),
    start: timeText(transaction.startMs),
    txn_description: `"sql txn" meta={id=${transaction.id.slice(0, 8)} key=/Min iso=Serializable}`,
    num_statements_executed: encoding.scalar(transaction.statements),
    num_retries: encoding.scalar(transaction.retries),
    num_auto_retries: encoding.scalar(transaction.autoRetries),
    deadline: NO_TIME,
    implicit: encoding.scalar(transaction.implicit),
    alloc_bytes: encoding.scalar(transaction.allocBytes),
    max_alloc_bytes: encoding.scalar(transaction.maxAllocBytes),
    read_only: encoding.scalar(transaction.readOnly),
    is_historical: encoding.scalar(false),
    priority: 'normal',
    quality_of_service: 'regular',
    elapsed_time: quirks.elapsedTime ? nanos(view.nowMs - transaction.startMs) : undefined,
  };
}
