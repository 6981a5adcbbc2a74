import type { ClusterConfig } from '../../../config/schema.ts';
import { createRemedyFinder, diagnose } from '../../../diagnosis/diagnose.ts';
import type { Operation } from '../../../diagnosis/failure.ts';
import { formatBytes, formatMs, messageOf } from '../../../format.ts';
import { createPollStats, type PollStats } from '../../../http/poll-stats.ts';
import { failureReason } from '../../../polling/outcome.ts';
import type { AlertName, Endpoint } from '../../../vocabulary.ts';
import { RequestRecorder } from '../../cluster-target.ts';

/** One line of the checklist. */
export interface CheckResult extends Verdict {
  /** The name of the check: `TLS` or `GET /nodes/`. */
  readonly check: string;
  /** Where: a URL, or an API. */
  readonly target: string;
}

/** The result of a check. */
export interface Verdict {
  /** `warning`: works, but not as it should; `skipped`: not possible or not needed. */
  readonly verdict: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  /** How to fix it. */
  readonly advice?: string | undefined;
  /** The alert with the same condition, which has a runbook. */
  readonly alert?: AlertName | undefined;
}

/** The checks of one cluster: what they need, and their results so far. */
export class Checklist {
  readonly config: ClusterConfig;
  readonly stats: PollStats;
  readonly recorder: RequestRecorder;
  readonly results: CheckResult[] = [];

  constructor(config: ClusterConfig, signal: AbortSignal, isVerbose = false) {
    this.config = config;
    this.recorder = new RequestRecorder(isVerbose);
    this.stats = createPollStats(signal);
  }

  /** Status, size and time of the last request to the endpoint. */
  describeLast(endpoint: Endpoint): string {
    const request = this.recorder.last(endpoint);
    if (request === undefined) return 'no request';
    return `${request.code}, ${formatBytes(request.bytes)} in ${formatMs(request.seconds * 1000)}`;
  }

  /** Adds a result of the cluster API. */
  add(
    check: string,
    verdict: Verdict['verdict'],
    detail: string,
    advice?: string,
    alert?: AlertName,
  ): void {
    this.results.push({ check, target: 'cluster API', verdict, detail, advice, alert });
  }

  /** Why an operation failed, and the remedy. Rethrows when the command was cancelled. */
  explain(operation: Operation, error: unknown): Omit<Verdict, 'verdict'> {
    if (this.stats.signal.aborted) throw error;
    const request = diagnose(error, operation, this.config);
    if (request !== undefined) return { detail: request.cause, advice: request.remedy };
    const failure = { reason: failureReason(error), message: messageOf(error), cause: error };
    const findRemedy = createRemedyFinder(this.config);
    return { detail: failure.message, advice: findRemedy(operation, failure) };
  }

  /** Adds the result of `work`, or the reason of its failure; resolves to whether it succeeded. */
  async run(
    check: string,
    target: string,
    operation: Operation,
    work: () => Promise<string | Verdict>,
  ): Promise<boolean> {
    try {
      const found = await work();
      const outcome = typeof found === 'string' ? { verdict: 'ok' as const, detail: found } : found;
      this.results.push({ check, target, ...outcome });
      return true;
    } catch (error) {
      const reason = this.explain(operation, error);
      this.results.push({ check, target, verdict: 'failed', ...reason });
      return false;
    }
  }
}
