import { StatementError } from '../sql-statement.ts';
import type { Failure, Rule } from './failure.ts';

const ENDPOINTS = ['sql'] as const;

/** Failures of statements of the user: the first rule that holds decides. */
export const SQL_RULES: readonly Rule[] = [
  [
    'privilege of a query',
    { endpoints: ENDPOINTS, reasons: ['forbidden'], when: isOfStatement },
    'the user of the exporter lacks a privilege that the statement needs: `crdb-exporter sql QUERY` prints which',
  ],
  [
    'SQL through a proxy',
    { endpoints: ENDPOINTS, statuses: [403, 405] },
    'nodes accept POST /api/v2/sql/ of every user: a proxy in between refuses it',
  ],
  [
    'timeout of a query',
    { endpoints: ENDPOINTS, reasons: ['timeout'], when: isOfStatement },
    'make the statement cheaper (EXPLAIN ANALYZE shows where its time goes), or raise its timeout',
  ],
  [
    'size of a query',
    { endpoints: ENDPOINTS, reasons: ['limit'] },
    'select fewer rows, or fewer and shorter columns',
  ],
  [
    'refused statement',
    { endpoints: ENDPOINTS, reasons: ['http'], when: isOfStatement },
    '`crdb-exporter sql QUERY` prints the error of the server: names of tables and columns differ between versions',
  ],
  [
    'no SQL',
    { endpoints: ENDPOINTS, statuses: [404] },
    'servers run statements of the API from version 22.2 on, and a proxy must pass POST /api/v2/sql/ on',
  ],
];

function isOfStatement({ error }: Failure): boolean {
  return error instanceof StatementError;
}
