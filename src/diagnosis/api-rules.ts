import type { Failure, Rule } from './failure.ts';

const CLUSTER_ID =
  'check cloud_api.cluster_id (--cloud.cluster-id): it is the last part of the URL of the cluster in the Cloud Console';

/** Responses of the two APIs; the first rule that holds decides. */
export const API_RULES: readonly Rule[] = [
  {
    when: mayHaveChanged,
    remedy: ({ operation }) =>
      `the service may have made the change: check ${operation.verification} before anything else`,
  },
  { reasons: ['forbidden'], remedy: grant },
  {
    api: 'cloud',
    statuses: [401],
    remedy:
      'the API key is wrong, expired or revoked: put the secret key of a service account into cloud_api.token_file (--cloud.token-file)',
  },
  {
    api: 'cloud',
    statuses: [400],
    serverText: /Cc-Version/i,
    remedy: 'set cloud_api.api_version to a version that the service supports, such as 2024-09-16',
  },
  {
    api: 'cloud',
    serverText: /internal call failed|cluster '/i,
    statuses: [404],
    remedy: CLUSTER_ID,
  },
  {
    when: (failure) => ownRemedy(failure) !== undefined,
    remedy: (failure) => ownRemedy(failure) ?? '',
  },
  { api: 'cloud', statuses: [404], remedy: CLUSTER_ID },
  { api: 'cloud', statuses: [400], remedy: 'correct what the service names, then try again' },
  {
    api: 'cloud',
    statuses: [501],
    remedy:
      'the service does not offer this for the cluster: migration assistants exist for dedicated clusters only',
  },
  {
    api: 'cloud',
    reasons: ['decode', 'limit'],
    remedy:
      'the response is not from the Cloud API: check cloud_api.url (--cloud.url) and any proxy in between',
  },
  {
    api: 'cloud',
    when: ({ status = 0 }) => status >= 500,
    remedy:
      'the service has an internal problem: see https://status.cockroachlabs.cloud and try again later',
  },
  {
    api: 'cluster',
    reasons: ['auth'],
    message: /^login /,
    when: ({ login }) => login?.username === 'root',
    remedy:
      'root has no password by default: create a user for monitoring with CREATE USER … WITH PASSWORD …',
  },
  {
    api: 'cluster',
    reasons: ['auth'],
    message: /^login /,
    remedy: (failure) =>
      `user and password were refused: check cluster_api.username and the password; ALTER USER ${grantee(failure.login)} WITH PASSWORD … sets one`,
  },
  {
    api: 'cluster',
    reasons: ['auth'],
    when: ({ login }) => login?.username === undefined && login?.token === undefined,
    remedy:
      'the cluster requires a login: set cluster_api.username and password_file (--cluster.username and --cluster.password-file)',
  },
  {
    api: 'cluster',
    reasons: ['auth'],
    when: ({ login }) => login?.token !== undefined,
    remedy:
      'the session token is invalid or expired: create a new one with `cockroach auth-session login USER`',
  },
  {
    api: 'cluster',
    reasons: ['auth'],
    remedy:
      'the session that was just created was refused: check that all URLs are nodes of the same cluster',
  },
  {
    api: 'cluster',
    statuses: [501],
    remedy:
      'this is a virtual cluster, which does not offer it: use the URL of the system tenant, or disable the collector',
  },
  {
    api: 'cluster',
    statuses: [404],
    message: /\btable at /,
    serverText: /database or table not found/,
    remedy: 'check the names of database, schema and table; the default schema is public',
  },
  {
    api: 'cluster',
    statuses: [404],
    message: /\btable at /,
    remedy:
      'the API cannot address names that need quotes: only letters, digits, _ and . are possible',
  },
  {
    api: 'cluster',
    reasons: ['not_available'],
    message: /\btable_metadata at /,
    remedy:
      'servers list their tables from version 24.3 on: set collectors.tables.discover to auto or false; `table DATABASE TABLE` shows one of them',
  },
  {
    api: 'cluster',
    reasons: ['not_available'],
    remedy:
      'the URL is not that of a CockroachDB node: it needs scheme, host and HTTP port, such as https://crdb-1:8080',
  },
  {
    // Servers answer 500 where the user may not read a table.
    api: 'cluster',
    statuses: [500],
    when: ({ operation }) => operation.privilege.startsWith('GRANT SELECT'),
    remedy: (failure) =>
      `if the user lacks the privilege, ${grant(failure)} otherwise see the log of the node`,
  },
  {
    api: 'cluster',
    statuses: [500],
    remedy: 'the reason is only in the log of the node that answered: check it for HTTP API errors',
  },
  {
    // The limits of logins and tables are fixed, and far above any response of a cluster.
    api: 'cluster',
    reasons: ['decode', 'limit'],
    when: ({ reason, message }) => reason === 'decode' || /^(?:login|table) at /.test(message),
    remedy:
      'the response is not from this API: a proxy or another server listens there, or the server could not encode its response (see its log)',
  },
  {
    api: 'cluster',
    reasons: ['limit'],
    remedy:
      'the response is larger or longer than allowed: raise cluster_api.max_response_bytes if the cluster is that large',
  },
];

/** Whether a change may have been made although the operation failed. */
function mayHaveChanged({ operation, status, wasNotSent }: Failure): boolean {
  if (operation.verification === undefined) return false;
  if (status !== undefined) return status === 408 || (status >= 499 && status !== 501);
  return !wasNotSent;
}

function ownRemedy({ operation, status = 0 }: Failure): string | undefined {
  return operation.remedies?.[status];
}

/** From what the operation declares: a new collector needs no rule. */
function grant(failure: Failure): string {
  const { api, privilege } = failure.operation;
  if (api === 'cloud') return `the service account needs ${privilege}`;
  const user = grantee(failure.login);
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
