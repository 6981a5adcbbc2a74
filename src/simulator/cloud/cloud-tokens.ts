import type { CloudRole } from './service.ts';

/** The token of a service account with the role CLUSTER_ADMIN. */
export const CLOUD_TOKEN = 'simulated-cloud-token';

/** Roles by token; the others have one role each, to be refused for the rest. */
const ROLES: Readonly<Record<string, readonly CloudRole[]>> = {
  [CLOUD_TOKEN]: ['CLUSTER_ADMIN'],
  'org_admin-token': ['ORG_ADMIN'],
  'cluster_operator_writer-token': ['CLUSTER_OPERATOR_WRITER'],
  'cluster_data_accessor-token': ['CLUSTER_DATA_ACCESSOR'],
};

/** The roles behind a bearer token; undefined for a token that nobody has. */
export function rolesOfToken(token: string): readonly CloudRole[] | undefined {
  return Object.hasOwn(ROLES, token) ? ROLES[token] : undefined;
}
