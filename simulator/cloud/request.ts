import type { Answer } from '../http/answer.ts';
import type { ReceivedRequest } from '../http/serve.ts';
import type { Quirks } from '../quirks.ts';
import type { World } from '../world/world.ts';

/** Roles that a bearer token may have. */
export type CloudRole =
  | 'ORG_ADMIN'
  | 'CLUSTER_ADMIN'
  | 'CLUSTER_OPERATOR_WRITER'
  | 'CLUSTER_DATA_ACCESSOR';

/** What handlers of the cloud API need. */
export interface CloudServer {
  readonly world: World;
  readonly quirks: Quirks;
  /** Roles of a bearer token; undefined for an unknown token. */
  rolesOf(token: string): readonly CloudRole[] | undefined;
}

/** The members of a JSON object in the body; undefined when it is something else. */
export function bodyOf(received: ReceivedRequest): ReadonlyMap<string, unknown> | undefined {
  if (received.body.trim() === '') return new Map();
  try {
    const value: unknown = JSON.parse(received.body);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? new Map(Object.entries(value)) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A member that is a non-empty string. */
export function textMember(body: ReadonlyMap<string, unknown>, name: string): string | undefined {
  const value = body.get(name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The token of a service account with the role CLUSTER_ADMIN. */
export const CLOUD_TOKEN = 'simulated-cloud-token';

/** Roles by token; each of the others has one role, to test refusals. */
const ROLES: Readonly<Record<string, readonly CloudRole[]>> = {
  [CLOUD_TOKEN]: ['CLUSTER_ADMIN'],
  'org_admin-token': ['ORG_ADMIN'],
  'cluster_operator_writer-token': ['CLUSTER_OPERATOR_WRITER'],
  'cluster_data_accessor-token': ['CLUSTER_DATA_ACCESSOR'],
};

/** The roles of a bearer token; undefined for an unknown token. */
export function rolesOfToken(token: string): readonly CloudRole[] | undefined {
  return Object.hasOwn(ROLES, token) ? ROLES[token] : undefined;
}

/** gRPC codes and their HTTP statuses. */
const STATUSES = {
  invalid: { code: 3, status: 400 },
  notFound: { code: 5, status: 404 },
  exists: { code: 6, status: 409 },
  forbidden: { code: 7, status: 403 },
  throttled: { code: 8, status: 429 },
  unauthenticated: { code: 16, status: 401 },
} as const;

/** An error of the control plane: pretty-printed JSON with the gRPC code. */
export function cloudError(kind: keyof typeof STATUSES, message: string): Answer {
  const { code, status } = STATUSES[kind];
  return {
    status,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code, message, details: [] }, undefined, 2),
  };
}

export function cloudAnswer(value: object): Answer {
  return {
    status: 200,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(value),
  };
}
