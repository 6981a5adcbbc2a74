import {
  CollectError,
  type CollectorPoll,
  type CollectorResult,
  type CollectorWith,
} from '../../../collectors/collector.ts';
import type { ClusterConfig } from '../../../config/keys-and-flags.ts';
import { createRemedyFinder, diagnose } from '../../../diagnosis/diagnose.ts';
import type { Operation } from '../../../diagnosis/failure.ts';
import { formatBytes, formatDuration, messageOf } from '../../../format.ts';
import { createPollStats, type PollStats } from '../../../http/poll-stats.ts';
import { failureReason } from '../../../polling/outcome.ts';
import type { AlertName, Api, Endpoint } from '../../../vocabulary.ts';
import { collectOnce, type PollTarget, RequestRecorder } from '../../clients.ts';

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

/** One line of the checklist. */
export interface CheckResult extends Verdict {
  /** The name of the check: `TLS` or `GET /nodes/`. */
  readonly check: string;
  /** A URL, or an API. */
  readonly target: string;
}

/** The target of most checks. */
export const CLUSTER_API = 'cluster API';

/** One poll of a collector, as the exporter makes it. */
interface Poll<Result> {
  /** Undefined when it found nothing useful. */
  readonly result: Result | undefined;
  /** Why it failed; a failed poll may have found something. */
  readonly error: unknown;
  readonly bytes: number;
  readonly seconds: number;
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

  /** Adds a result, of the cluster API unless it is of another target. */
  add(check: string, verdict: Verdict, target = CLUSTER_API): void {
    this.results.push({ check, target, ...verdict });
  }

  /** Status, size and time of the last request to the endpoint. */
  describeLast(endpoint: Endpoint): string {
    const request = this.recorder.last(endpoint);
    if (request === undefined) return 'no request';
    return `${request.code}, ${formatBytes(request.bytes)} in ${formatDuration(request.seconds)}`;
  }

  /**
   * Why an operation failed, and the remedy: not to look for another port where its API has worked. Rethrows when the
   * command was cancelled.
   */
  explain(operation: Operation, error: unknown, hasWorked = false): Omit<Verdict, 'verdict'> {
    if (this.stats.signal.aborted) throw error;
    const request = diagnose(error, operation, this.config, { hasWorked });
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
      this.add(check, toVerdict(await work()), target);
      return true;
    } catch (error) {
      this.add(check, { verdict: 'failed', ...this.explain(operation, error) }, target);
      return false;
    }
  }

  /**
   * Polls a collector once with its configured options and adds what it found, or why it failed: only a warning while the
   * collector is disabled.
   */
  async poll<A extends Api, R extends CollectorResult>(
    collector: CollectorWith<A, R>,
    api: PollTarget<A>['api'],
    describe: (result: R, items: number) => string | Verdict,
    chosen: Partial<CollectorPoll<unknown, unknown>> = {},
  ): Promise<Poll<R>> {
    const { config } = this;
    const stats = createPollStats(this.stats.signal);
    const warnings: string[] = [];
    const warn = (text: string): void => void warnings.push(text);
    const startedAt = performance.now();
    let result: R | undefined;
    let error: unknown;
    try {
      result = await collectOnce(collector, { config, api, stats }, { warn, ...chosen });
      const { failure } = result;
      error = failure && (failure.cause ?? new CollectError(failure.reason, failure.message));
    } catch (thrown) {
      error = thrown;
    }
    const seconds = (performance.now() - startedAt) / 1000;
    const target = collector.api === 'cluster' ? CLUSTER_API : 'Cloud API';
    if (result === undefined || error !== undefined) {
      const hasWorked = this.results.some(
        (other) => other.target === target && other.verdict === 'ok',
      );
      const explained = this.explain(collector, error, hasWorked);
      const verdict = config.collectors[collector.name]?.enabled ? 'failed' : 'warning';
      this.add(collector.request, { verdict, ...explained }, target);
    } else {
      const found = toVerdict(describe(result, stats.items));
      const size = `${formatBytes(stats.bytes)} in ${formatDuration(seconds)}`;
      const detail = [size, found.detail, ...warnings].filter((text) => text !== '').join('; ');
      const verdict = warnings.length > 0 && found.verdict === 'ok' ? 'warning' : found.verdict;
      this.add(collector.request, { ...found, verdict, detail }, target);
    }
    return { result, error, bytes: stats.bytes, seconds };
  }
}

/** A text alone describes what is good. */
function toVerdict(found: string | Verdict): Verdict {
  return typeof found === 'string' ? { verdict: 'ok', detail: found } : found;
}
