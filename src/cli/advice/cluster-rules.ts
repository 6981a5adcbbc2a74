import type { Failure, Rule } from '../advice.ts';

const WRONG_LOGIN = /credentials did not match/;

/** What a cluster's API v2 refuses, and why. */
export const CLUSTER_RULES: readonly Rule[] = [
  {
    when: ({ error, text }) => error.reason === 'auth' && WRONG_LOGIN.test(text),
    remedy: ({ config }) =>
      config.cluster_api?.username === 'root'
        ? 'root has no password by default: create a user for monitoring with CREATE USER … WITH PASSWORD …'
        : `check user name and password; a user gets one with ALTER USER ${userOf({ config })} WITH PASSWORD …`,
  },
  {
    when: ({ error, config }) => error.reason === 'auth' && !hasLogin(config),
    remedy: 'the cluster wants a login: give --cluster.username and --cluster.password-file',
  },
  {
    when: ({ error, config }) => error.reason === 'auth' && config.cluster_api?.token !== undefined,
    remedy:
      'the session token is wrong, ended or expired: make a new one with `cockroach auth-session login USER`',
  },
  {
    when: ({ error }) => error.reason === 'auth',
    remedy:
      'the session just made was not accepted: check that all URLs are nodes of the same cluster',
  },
  {
    when: ({ error }) => error.status === 403,
    remedy: (failure) =>
      `run GRANT SYSTEM VIEWCLUSTERMETADATA TO ${userOf(failure)}; (before version 24.1: GRANT admin TO ${userOf(failure)};)`,
  },
  {
    when: ({ error }) => error.status === 501,
    remedy:
      'this is a virtual cluster, which does not offer it: use the URL of the system tenant, or switch the collector off',
  },
  {
    when: ({ error, operation, text }) =>
      error.status === 404 && operation === 'table' && /database or table not found/.test(text),
    remedy: 'check the names of database, schema and table; without a schema, public is meant',
  },
  {
    when: ({ error, operation }) => error.status === 404 && operation === 'table',
    remedy:
      'the API cannot address names that need quotes: only letters, digits, _ and . are possible',
  },
  {
    when: ({ error }) => error.status === 404,
    remedy:
      'the URL is not that of a CockroachDB node: it needs scheme, host and HTTP port, as https://crdb-1:8080',
  },
  {
    when: ({ error, operation }) => error.status === 500 && operation === 'users',
    remedy: (failure) =>
      `if the user may not read them, run GRANT SELECT ON system.users TO ${userOf(failure)};`,
  },
  {
    when: ({ error, operation }) => error.status === 500 && operation === 'table',
    remedy: (failure) =>
      `if the user may not read the table, run GRANT SELECT ON TABLE … TO ${userOf(failure)}; else see the log of the node`,
  },
  {
    when: ({ error }) => error.status === 500,
    remedy:
      'the reason is only in the log of the answering node: look there for an error of its HTTP API',
  },
  {
    when: ({ error, operation }) =>
      error.reason === 'decode' ||
      // These limits are fixed, and far above any answer of a cluster.
      (error.reason === 'limit' && (operation === 'table' || error.message.startsWith('login '))),
    remedy:
      'what came is not an answer of this API: either a proxy or another server stands there, or the server could not write its answer (see its log)',
  },
  {
    when: ({ error }) => error.reason === 'limit',
    remedy:
      'the answer is larger or longer than allowed: raise cluster_api.max_response_bytes if the cluster is that large',
  },
];

function hasLogin({ cluster_api }: Failure['config']): boolean {
  return cluster_api?.username !== undefined || cluster_api?.token !== undefined;
}

/** The SQL user as it stands in a statement; with a ready token it is not known here. */
export function userOf({ config }: Pick<Failure, 'config'>): string {
  const name = config.cluster_api?.username ?? 'USER';
  return /^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
