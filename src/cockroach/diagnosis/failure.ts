import type { Api, Endpoint, FailureReason } from '#base';
import type { ClusterConfig } from '#config';
import type { RequestError } from '../http/errors.ts';

/** An operation that can fail: the poll of a collector, which is an Operation, or one of the command line. */
export interface Operation {
  readonly name: string;
  readonly api: Api;
  /** The privilege that the user of the API needs: `GRANT …` without its grantee, or `the role …`. */
  readonly privilege: string;
  /** How to see whether a change was made, for operations that make one: `with SHOW DATABASES`. */
  readonly verification?: string;
  /** Remedies by HTTP status, where it means something of its own. */
  readonly remedies?: Readonly<Record<number, string>>;
}

/** A failed request with everything that the remedy may depend on. */
export interface Failure {
  readonly error: RequestError;
  readonly operation: Operation;
  readonly login: ClusterConfig['cluster_api'];
  /** Whether the same operation has succeeded before: then the address is right. */
  readonly hasWorked: boolean;
  /** Whether a request that changes something was begun and got no response. */
  readonly mayHaveChanged: boolean;
}

/**
 * The cause in a few words, which all failures with the same remedy share; the conditions, which must all hold; and the
 * remedy, which continues a sentence after a semicolon.
 */
export type Rule = readonly [
  id: string | ((failure: Failure) => string),
  conditions: {
    readonly reasons?: readonly FailureReason[];
    readonly statuses?: readonly number[];
    /** Codes of the system or the TLS library. */
    readonly codes?: readonly string[];
    /** The text of the server may choose the rule, but never stands in a remedy. */
    readonly serverText?: RegExp;
    readonly endpoints?: readonly Endpoint[];
    readonly when?: (failure: Failure) => boolean;
  },
  remedy: string | ((failure: Failure) => string),
];
