import { wasNotSent } from '../http/errors.ts';
import type { Api } from '../vocabulary.ts';
import type { Failure, Rule } from './failure.ts';

const CLUSTER_ID =
  'check cloud_api.cluster_id (--cloud.cluster-id): it is the last part of the URL of the cluster in the Cloud Console';

/** Responses of the two APIs; the first rule that holds decides. */
export const API_RULES: Readonly<Record<Api, readonly Rule[]>> = {
  cloud: [
    [
      { when: mayHaveChanged },
      ({ operation }) =>
        `the service may have made the change: check ${operation.verification} before anything else`,
    ],
    [
      { reasons: ['forbidden'] },
      ({ operation }) => `the service account needs ${operation.privilege}`,
    ],
    [
      { statuses: [401] },
      'the API key is wrong, expired or revoked: put the secret key of a service account into cloud_api.token_file (--cloud.token-file)',
    ],
    [
      { statuses: [400], serverText: /Cc-Version/i },
      'set cloud_api.api_version to a version that the service supports, such as 2024-09-16',
    ],
    [{ serverText: /internal call failed|cluster '/i, statuses: [404] }, CLUSTER_ID],
    [
      { when: ({ operation, error }) => operation.remedies?.[error.status ?? 0] !== undefined },
      ({ operation, error }) => operation.remedies?.[error.status ?? 0] ?? '',
    ],
    [{ statuses: [404] }, CLUSTER_ID],
    [{ statuses: [400] }, 'correct what the service names, then try again'],
    [
      { statuses: [501] },
      'the service does not offer this for the cluster: migration assistants exist for dedicated clusters only',
    ],
    [
      { reasons: ['decode', 'limit'] },
      'the response is not from the Cloud API: check cloud_api.url (--cloud.url) and any proxy in between',
    ],
    [
      { when: ({ error: { status = 0 } }) => status >= 500 },
      'the service has an internal problem: see https://status.cockroachlabs.cloud and try again later',
    ],
  ],
  cluster: [
    [{ reasons: ['forbidden'] }, grant],
    [
      { reasons: ['auth'], message: /^login /, when: ({ login }) => login?.username === 'root' },
      'root has no password by default: create a user for monitoring with CREATE USER … WITH PASSWORD …',
    ],
    [
      { reasons: ['auth'], message: /^login / },
      (failure) =>
        `user and password were refused: check cluster_api.username and the password; ALTER USER ${grantee(failure.login)} WITH PASSWORD … sets one`,
    ],
    [
      {
        reasons: ['auth'],
        when: ({ login }) => login?.username === undefined && login?.token === undefined,
      },
      'the cluster requires a login: set cluster_api.username and password_file (--cluster.username and --cluster.password-file)',
    ],
    [
      { reasons: ['auth'], when: ({ login }) => login?.token !== undefined },
      'the session token is invalid or expired: create a new one with `cockroach auth-session login USER`',
    ],
    [
      { reasons: ['auth'] },
      'the session that was just created was refused: check that all URLs are nodes of the same cluster',
    ],
    [
      { statuses: [501] },
      'this is a virtual cluster, which does not offer it: use the URL of the system tenant, or disable the collector',
    ],
    [
      { statuses: [404], message: /\btable at /, serverText: /database or table not found/ },
      'check the names of database, schema and table; the default schema is public',
    ],
    [
      { statuses: [404], message: /\btable at / },
      'the API cannot address names that need quotes: only letters, digits, _ and . are possible',
    ],
    [
      { reasons: ['not_available'], message: /\btable_metadata at / },
      'servers list their tables from version 24.3 on: set collectors.tables.discover to auto or false; `table DATABASE TABLE` shows one of them',
    ],
    [
      { reasons: ['not_available'] },
      'the URL is not that of a CockroachDB node: it needs scheme, host and HTTP port, such as https://crdb-1:8080',
    ],
    // Servers answer 500 where the user may not read a table.
    [
      { statuses: [500], when: ({ operation }) => operation.privilege.startsWith('GRANT SELECT') },
      (failure) =>
        `if the user lacks the privilege, ${grant(failure)} otherwise see the log of the node`,
    ],
    [
      { statuses: [500] },
      'the reason is only in the log of the node that answered: check it for HTTP API errors',
    ],
    // The limits of logins and tables are fixed, and far above any response of a cluster.
    [
      {
        reasons: ['decode', 'limit'],
        when: ({ error }) =>
          error.reason === 'decode' || /^(?:login|table) at /.test(error.message),
      },
      'the response is not from this API: a proxy or another server listens there, or the server could not encode its response (see its log)',
    ],
    [
      { reasons: ['limit'] },
      'the response is larger or longer than allowed: raise cluster_api.max_response_bytes if the cluster is that large',
    ],
  ],
};

/** Whether a change may have been made although the operation failed. */
function mayHaveChanged({ operation, error }: Failure): boolean {
  if (operation.verification === undefined) return false;
  const { status } = error;
  if (status !== undefined) return status === 408 || (status >= 499 && status !== 501);
  return !wasNotSent(error);
}

/** From what the operation declares: a new collector needs no rule. */
function grant({ operation: { privilege }, login }: Failure): string {
  const user = grantee(login);
  const admin = privilege.startsWith('GRANT SYSTEM')
    ? ` (before version 24.1: GRANT admin TO ${user};)`
    : '';
  return `run ${privilege} TO ${user};${admin}`;
}

/** The SQL user in a statement; the user of a ready token is not known here. */
export function grantee(login: Failure['login']): string {
  const name = login?.username ?? 'USER';
  return /^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
