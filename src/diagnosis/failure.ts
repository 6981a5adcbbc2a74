import type { ClusterConfig } from '../config/schema.ts';
import type { Api, FailureReason } from '../vocabulary.ts';

/** What failed: the poll of a collector (which is an Operation), or an operation of the command line. */
export interface Operation {
  readonly name: string;
  readonly api: Api;
  /** What the user of the API needs: `GRANT …` without its grantee, or `the role …`. */
  readonly privilege: string;
  /** How to see whether a change was made, for operations that make one: `with SHOW DATABASES`. */
  readonly verification?: string;
  /** Remedies by HTTP status, where it means something of its own. */
  readonly remedies?: Readonly<Record<number, string>>;
}

/** A failed request with everything that the remedy may depend on. */
export interface Failure {
  readonly reason: FailureReason;
  readonly message: string;
  /** HTTP status, when there was a response. */
  readonly status: number | undefined;
  /** Code of the system or the TLS library; '' when there is none. */
  readonly code: string;
  readonly wasNotSent: boolean;
  /** What the server wrote: it may choose the rule, but never stands in a remedy. */
  readonly serverText: string;
  readonly retryAfterSeconds: number | undefined;
  readonly operation: Operation;
  readonly login: ClusterConfig['cluster_api'];
}

/** Holds when everything that it names holds; the remedy continues a sentence after a semicolon. */
export interface Rule {
  readonly api?: Api;
  readonly reasons?: readonly FailureReason[];
  readonly statuses?: readonly number[];
  readonly codes?: readonly string[];
  readonly serverText?: RegExp;
  readonly message?: RegExp;
  readonly when?: (failure: Failure) => boolean;
  readonly remedy: string | ((failure: Failure) => string);
}

export function holds(rule: Rule, failure: Failure): boolean {
  return (
    (rule.api === undefined || rule.api === failure.operation.api) &&
    (rule.reasons?.includes(failure.reason) ?? true) &&
    (rule.statuses?.includes(failure.status ?? 0) ?? true) &&
    (rule.codes?.includes(failure.code) ?? true) &&
    (rule.serverText?.test(failure.serverText) ?? true) &&
    (rule.message?.test(failure.message) ?? true) &&
    (rule.when?.(failure) ?? true)
  );
}
