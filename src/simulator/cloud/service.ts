import type { Arrival } from '../http/serve.ts';
import type { Quirks } from '../quirks.ts';
import type { World } from '../world/world.ts';

/** Roles that a bearer token may have. */
export type CloudRole =
  | 'ORG_ADMIN'
  | 'CLUSTER_ADMIN'
  | 'CLUSTER_OPERATOR_WRITER'
  | 'CLUSTER_DATA_ACCESSOR';

/** What answers requests for the cloud API. */
export interface CloudServer {
  readonly world: World;
  readonly quirks: Quirks;
  /** Roles of a bearer token; undefined for a token that nobody has. */
  rolesOf(token: string): readonly CloudRole[] | undefined;
}

/** The members of a JSON object in the body; undefined when it is none. */
export function bodyOf(arrival: Arrival): ReadonlyMap<string, unknown> | undefined {
  if (arrival.body.trim() === '') return new Map();
  try {
    const value: unknown = JSON.parse(arrival.body);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? new Map(Object.entries(value)) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A member that is a text and not empty. */
export function textMember(body: ReadonlyMap<string, unknown>, name: string): string | undefined {
  const value = body.get(name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
