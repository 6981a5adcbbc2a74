import {
  diagnose,
  grantee,
  type RequestDiagnosis,
  type RequestError,
  StatementError,
} from '#cockroach';
import { sql } from '#collectors';
import type { ClusterConfig } from '#config';

/** System privileges that let a user read, the smallest first. */
const READING = [
  'VIEWACTIVITYREDACTED',
  'VIEWACTIVITY',
  'VIEWCLUSTERSETTING',
  'VIEWCLUSTERMETADATA',
  'VIEWJOB',
  'VIEWSYSTEMTABLE',
];

/** `user x does not have SELECT privilege on relation users`: tables are called so. */
const ON_OBJECT =
  /does not have (SELECT|USAGE|CONNECT) privilege on (relation|table|view|schema|database) ("[^"]+"|[\w.]+)/i;

/** The GRANT that the server misses, read from its text, which names it. */
function findMissingGrant(
  { reason, serverText }: StatementError,
  { cluster_api }: Pick<ClusterConfig, 'cluster_api'>,
): string | undefined {
  if (reason !== 'forbidden') return undefined;
  const user = grantee(cluster_api);
  const [, privilege = '', kind = '', name = ''] = ON_OBJECT.exec(serverText) ?? [];
  if (privilege !== '') {
    const object = { database: 'DATABASE', schema: 'SCHEMA' }[kind.toLowerCase()] ?? 'TABLE';
    return `GRANT ${privilege.toUpperCase()} ON ${object} ${name} TO ${user};`;
  }
  const system = READING.find((each) => new RegExp(`\\b${each}\\b`).test(serverText));
  return system && `GRANT SYSTEM ${system} TO ${user};`;
}

/** Why a query failed and how to fix it, with the text of the server: for a terminal, as it may hold parts of the statement. */
export function explainQuery(
  error: RequestError,
  config: ClusterConfig,
): Pick<RequestDiagnosis, 'cause' | 'remedy'> {
  const found = diagnose(error, sql, config);
  if (!(error instanceof StatementError)) return found;
  const { cause } = found;
  const grant = findMissingGrant(error, config);
  if (grant !== undefined) return { cause, remedy: `run ${grant}` };
  if (error.remedy !== undefined || error.sqlState === undefined) return found;
  if (error.reason === 'forbidden') {
    return { cause, remedy: 'grant the user of the exporter what the server names' };
  }
  if (error.reason !== 'http') return found;
  return {
    cause,
    remedy: 'correct the statement: names of tables and columns differ between versions',
  };
}
