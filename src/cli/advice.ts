import type { ClusterConfig } from '../config/schema.ts';
import { classifyThrown, codeOf, RequestError } from '../http/errors.ts';
import { JsonError } from '../json/errors.ts';
import { CLOUD_RULES, isCloudOperation } from './advice/cloud-rules.ts';
import { CLUSTER_RULES } from './advice/cluster-rules.ts';
import { CONNECTION_RULES } from './advice/connection-rules.ts';

/** What was being asked, as far as the remedy depends on it. */
export type Operation =
  | 'login'
  | 'nodes'
  | 'ranges'
  | 'sessions'
  | 'users'
  | 'table'
  | CloudOperation;

export type CloudOperation =
  | 'rename-database'
  | 'assistant-get'
  | 'assistant-provision'
  | 'assistant-delete'
  | 'ca-cert-get'
  | 'ca-cert-set'
  | 'ca-cert-delete';

/** A failed request, and what the remedy may name. */
export interface Failure {
  readonly error: RequestError;
  readonly operation: Operation;
  readonly config: ClusterConfig;
  /** The system's or TLS library's code of the error; '' when there is none. */
  readonly code: string;
  /** What the server said: for telling failures apart, and for a person where the service writes for persons. */
  readonly text: string;
}

/** The first rule whose `when` holds tells the remedy, which goes on after a semicolon. */
export interface Rule {
  readonly when: (failure: Failure) => boolean;
  readonly remedy: string | ((failure: Failure) => string);
}

export interface Advice {
  readonly problem: string;
  readonly remedy: string;
}

/** The failed request that was thrown, an answer that could not be read included; undefined for anything else. */
export function requestErrorOf(error: unknown, operation: Operation): RequestError | undefined {
  if (error instanceof JsonError) return classifyThrown(error, operation);
  return error instanceof RequestError ? error : undefined;
}

/** What went wrong and what to do about it, for a person. Neither holds a secret. */
export function adviseOn(
  error: RequestError,
  { operation, config }: Pick<Failure, 'operation' | 'config'>,
): Advice {
  const failure: Failure = {
    error,
    operation,
    config,
    code: codeOf(error),
    text: error.serverText,
  };
  const ofApi = isCloudOperation(operation) ? CLOUD_RULES : CLUSTER_RULES;
  const rule = [...ofApi, ...CONNECTION_RULES].find(({ when }) => when(failure));
  const remedy = rule?.remedy ?? 'see whether the server is well, then try again';
  return {
    problem: describeProblem(failure),
    remedy: typeof remedy === 'string' ? remedy : remedy(failure),
  };
}

/** The Cloud API writes its errors for people; those of a cluster are told by what was asked. */
function describeProblem({ error, operation }: Failure): string {
  // Some libraries write their errors over several lines.
  const written = error.message.trim().replaceAll(/\s+/g, ' ');
  if (!isCloudOperation(operation)) return written;
  const message = written.replace(/^other(?= at )/, operation);
  const said = readCloudError(error.serverText);
  return said === undefined ? message : `${message}: ${said}`;
}

/** `code 7: message` of the service's error body; undefined when it is of another kind. */
function readCloudError(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== 'object' || body === null || !('message' in body)) return undefined;
    const code = 'code' in body ? `code ${String(body.code)}: ` : '';
    return `${code}${String(body.message)}`;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
