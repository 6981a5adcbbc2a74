import type { Api, FailureReason } from '#base';
import type { ClusterConfig } from '#config';
import { codeOf, type RequestError } from '../http/errors.ts';
import { StatementError } from '../sql-statement.ts';
import type { Failure, Operation, Rule } from './failure.ts';
import { RULES } from './remedies.ts';

/** Why a request failed and how to fix it, for a person; neither text holds a secret. */
export interface RequestDiagnosis {
  readonly reason: FailureReason;
  /** It has the text of an error of the Cloud API, or of a statement, which belongs in no log. */
  readonly cause: string;
  /** The rule that holds, which failures of the same cause share whatever their numbers: `nothing listens`. */
  readonly rule: string;
  readonly remedy: string;
}

/** How to fix the failure of a poll, and the rule that says so. */
type Remedy = Pick<RequestDiagnosis, 'rule' | 'remedy'>;

/** Explains a failed request. */
export function diagnose(
  error: RequestError,
  operation: Operation,
  { cluster_api }: ClusterConfig,
  { mayHaveChanged = false, hasWorked = false } = {},
): RequestDiagnosis {
  const failure = { error, operation, login: cluster_api, mayHaveChanged, hasWorked };
  const [rule, , remedy] = RULES[operation.api].find(([, conditions]) =>
    hold(conditions, failure),
  ) ?? ['other', {}, 'check the server, then try again'];
  return {
    reason: error.reason,
    cause: describeCause(failure),
    rule: typeof rule === 'string' ? rule : rule(failure),
    remedy: typeof remedy === 'string' ? remedy : remedy(failure),
  };
}

function hold(conditions: Rule[1], failure: Failure): boolean {
  const { error } = failure;
  const { reasons, statuses, codes, serverText, endpoints, when } = conditions;
  return (
    (reasons?.includes(error.reason) ?? true) &&
    (statuses?.includes(error.status ?? 0) ?? true) &&
    (codes?.includes(codeOf(error)) ?? true) &&
    (serverText?.test(error.serverText) ?? true) &&
    (endpoints?.some((endpoint) => endpoint === error.endpoint) ?? true) &&
    (when?.(failure) ?? true)
  );
}

/** The remedy of a failed poll; `hasWorked`: an earlier poll of the collector succeeded. */
export type FindRemedy = (
  collector: Operation,
  failure: RequestError,
  hasWorked: boolean,
) => Remedy | undefined;

/** For the polls of one cluster; those that an open circuit breaker skips get the remedy of its cause. */
export function createRemedyFinder(config: ClusterConfig): FindRemedy {
  const outages = new Map<Api, RequestError>();
  return (collector, failure, hasWorked) => {
    const request = failure.request;
    // No rule knows a defect of the exporter.
    if (request.reason === 'other' && request.remedy === undefined) return undefined;
    const remedyOf = (error: RequestError) => diagnose(error, collector, config, { hasWorked });
    const outage = outages.get(collector.api);
    if (failure.reason === 'breaker_open' && outage !== undefined) {
      const { rule, remedy } = remedyOf(outage);
      return { rule, remedy: `the last failure was: ${toLine(outage.message)}; ${remedy}` };
    }
    // Only these open circuit breakers.
    if (request.blames !== 'nobody') outages.set(collector.api, request);
    return remedyOf(request);
  };
}

/** The Cloud API, and SQL, write their errors for people; the other errors of a cluster follow from the request. */
function describeCause({ error, operation }: Failure): string {
  const line = toLine(error.message);
  if (error instanceof StatementError && error.serverText !== '') {
    return `${line}: ${toLine(error.serverText)}`;
  }
  if (operation.api !== 'cloud') return line;
  const text = readCloudError(error.serverText);
  return text === undefined ? line : `${line}: ${text}`;
}

/** Some libraries write their errors over several lines. */
function toLine(message: string): string {
  return message.trim().replaceAll(/\s+/g, ' ');
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
