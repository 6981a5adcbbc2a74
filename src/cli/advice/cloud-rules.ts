import type { CloudOperation, Failure, Rule } from '../advice.ts';

const ADMINS = 'ORG_ADMIN or CLUSTER_ADMIN';
const READERS = 'ORG_ADMIN, CLUSTER_ADMIN or CLUSTER_OPERATOR_WRITER';

/** Who may do what; a role counts for the organization, a folder or the cluster. */
const ROLES: Readonly<Record<CloudOperation, string>> = {
  'rename-database': 'CLUSTER_ADMIN, CLUSTER_OPERATOR_WRITER or CLUSTER_DATA_ACCESSOR',
  'assistant-get': READERS,
  'assistant-provision': ADMINS,
  'assistant-delete': ADMINS,
  'ca-cert-get': READERS,
  'ca-cert-set': ADMINS,
  'ca-cert-delete': ADMINS,
};

/** Codes of failures before a request could leave. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_PRX_CONN',
]);
/** Where the result of a change is shown. */
const RESULTS: Partial<Readonly<Record<Failure['operation'], string>>> = {
  'rename-database': 'with SHOW DATABASES',
  'assistant-provision': 'with `cloud assistant get`',
  'assistant-delete': 'with `cloud assistant get`',
  'ca-cert-set': 'with `cloud ca-cert get`',
  'ca-cert-delete': 'with `cloud ca-cert get`',
};

/** Whether a change may have been made although the command failed. */
function mayHaveChanged({ error, code, operation }: Failure): boolean {
  if (RESULTS[operation] === undefined) return false;
  const { status, reason } = error;
  if (status !== undefined) return status === 408 || (status >= 499 && status !== 501);
  return !NEVER_SENT.has(code) && reason !== 'tls' && reason !== 'breaker_open';
}

/** What the Cloud API refuses, and why. */
export const CLOUD_RULES: readonly Rule[] = [
  {
    when: mayHaveChanged,
    remedy: ({ operation }) =>
      `the service may have made the change: check ${RESULTS[operation]} before anything else`,
  },
  {
    when: ({ error }) => error.status === 401,
    remedy:
      'the API key is wrong, expired or revoked: put the secret key of a service account into cloud_api.token_file (--cloud.token-file)',
  },
  {
    when: ({ error }) => error.status === 403,
    remedy: ({ operation }) =>
      `the service account needs the role ${isCloudOperation(operation) ? ROLES[operation] : READERS}`,
  },
  {
    when: ({ error, text }) => error.status === 400 && /Cc-Version/i.test(text),
    remedy: 'set cloud_api.api_version to a version that the service still has, as "2024-09-16"',
  },
  {
    when: ({ error, text }) => error.status === 404 && /internal call failed|cluster '/i.test(text),
    remedy:
      'check cloud_api.cluster_id (--cloud.cluster-id): it is the last part of the address of the cluster in the console',
  },
  {
    when: ({ error, operation }) => error.status === 404 && operation === 'rename-database',
    remedy: 'check the old name: it must be a database of this cluster',
  },
  {
    when: ({ error }) => error.status === 404,
    remedy: 'there is no migration assistant: make one with `cloud assistant provision`',
  },
  {
    when: ({ error, operation }) => error.status === 409 && operation === 'rename-database',
    remedy: 'choose another new name',
  },
  {
    when: ({ error }) => error.status === 409,
    remedy: 'see what there is with `cloud assistant get`',
  },
  {
    when: ({ error }) => error.status === 400,
    remedy: 'correct what the service names, then try again',
  },
  {
    when: ({ error }) => error.status === 501,
    remedy:
      'the service does not offer this for the cluster: migration assistants exist for dedicated clusters only',
  },
  {
    when: ({ error }) => error.reason === 'decode' || error.reason === 'limit',
    remedy:
      'what came is not an answer of the Cloud API: check cloud_api.url (--cloud.url) and any proxy between',
  },
  {
    when: ({ error: { status = 0 } }) => status >= 500,
    remedy:
      'the service has trouble of its own: see https://status.cockroachlabs.cloud and try again later',
  },
];

/** Whether it is the Cloud API that was asked. */
export function isCloudOperation(operation: Failure['operation']): operation is CloudOperation {
  return Object.hasOwn(ROLES, operation);
}
