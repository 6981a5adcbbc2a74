import type { AlertName } from '#alerts';
import { type Api, type FailureReason, formatBytes, formatDuration, messageOf } from '#base';
import {
  createPollStats,
  diagnose,
  failureOf,
  type Operation,
  type PollStats,
  RequestError,
  responseSeconds,
  warningText,
} from '#cockroach';
import { type ChosenPoll, type CollectorOf, type CollectorResult, nodes } from '#collectors';
import type { ClusterConfig } from '#config';
import { collectOnce, type PollTarget, RequestRecorder } from './cluster-target.ts';

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

/** The cost of a check. */
interface CheckCost {
  /** Why it failed; undefined when it succeeded. */
  readonly reason: FailureReason | undefined;
  readonly bytes: number;
  /** In which responses were prepared and received. */
  readonly seconds: number;
}

/** The checks of one cluster: what they need, and their results so far. */
export class Checklist {
  readonly config: ClusterConfig;
  readonly signal: AbortSignal;
  readonly recorder: RequestRecorder;
  readonly results: CheckResult[] = [];

  constructor(config: ClusterConfig, signal: AbortSignal, isVerbose = false) {
    this.config = config;
    this.signal = signal;
    this.recorder = new RequestRecorder(isVerbose);
  }

  /** Adds a result, of the cluster API unless it is of another target. */
  add(check: string, verdict: Verdict, target = CLUSTER_API): void {
    this.results.push({ check, target, ...verdict });
  }

  /** Why an operation failed, and the remedy. Rethrows when the command was cancelled. */
  explain(operation: Operation, error: unknown): Omit<Verdict, 'verdict'> {
    if (this.signal.aborted) throw error;
    // Once the API has answered, its address is right.
    const hasWorked = this.results.some(
      ({ target, verdict }) => target === CLUSTER_API && verdict === 'ok',
    );
    if (!(error instanceof RequestError)) return { detail: messageOf(error) };
    const { cause, remedy } = diagnose(error, operation, this.config, { hasWorked });
    return { detail: cause, advice: remedy };
  }

  /**
   * Adds what `work` found, after the size and time of its responses, or why it failed with the verdict `failed`. A list of nodes
   * that another operation reads first is no part of its size and time: it has a line of its own.
   */
  async run(
    check: string,
    target: string,
    operation: Operation,
    work: (stats: PollStats) => Promise<Verdict>,
    failed: Verdict['verdict'] = 'failed',
  ): Promise<CheckCost> {
    const stats = createPollStats(this.signal);
    const startedAt = performance.now();
    const before = this.recorder.sumOf('nodes');
    const nodesRead = () => {
      const { bytes, seconds } = this.recorder.sumOf('nodes');
      if (operation.name === nodes.name) return { bytes: 0, seconds: 0 };
      return { bytes: bytes - before.bytes, seconds: seconds - before.seconds };
    };
    let reason: FailureReason | undefined;
    try {
      const found = await work(stats);
      const seconds = (performance.now() - startedAt) / 1000 - nodesRead().seconds;
      const bytes = stats.bytes - nodesRead().bytes;
      const size = `${formatBytes(bytes)} in ${formatDuration(Math.max(0, seconds))}`;
      const detail = [bytes > 0 ? size : '', found.detail].filter(Boolean).join('; ');
      this.add(check, { ...found, detail }, target);
    } catch (error) {
      reason = failureOf(error).reason;
      const name = reason === 'tls' ? 'TLS' : check;
      this.add(name, { verdict: failed, ...this.explain(operation, error) }, target);
    }
    const { bytes, seconds } = nodesRead();
    return {
      reason,
      bytes: stats.bytes - bytes,
      seconds: Math.max(0, responseSeconds(stats) - seconds),
    };
  }

  /**
   * Polls a collector once, with its configured options unless others are chosen, and adds what it found, or why it failed: only a
   * warning while the collector is disabled. A failed poll may have a result, too.
   */
  async poll<A extends Api, Options, State, R extends CollectorResult>(
    collector: CollectorOf<A, Options, State, R>,
    api: PollTarget<A>['api'],
    describe: (result: R, items: number) => Verdict,
    chosen?: ChosenPoll<Options>,
    check = collector.request,
  ): Promise<CheckCost & { readonly result: R | undefined }> {
    const { config } = this;
    let result: R | undefined;
    const work = async (stats: PollStats): Promise<Verdict> => {
      result = await collectOnce(collector, { config, api, stats }, chosen);
      const { failure } = result;
      if (failure !== undefined) throw failure.request;
      const found = describe(result, stats.items);
      const isWarning = stats.warnings.size > 0 && found.verdict !== 'failed';
      const warnings = Array.from(stats.warnings.values(), warningText);
      const detail = [found.detail, ...warnings].filter(Boolean).join('; ');
      return { ...found, detail, verdict: isWarning ? 'warning' : found.verdict };
    };
    const target = collector.api === 'cluster' ? CLUSTER_API : 'Cloud API';
    const failed = config.collectors[collector.name]?.enabled ? 'failed' : 'warning';
    const cost = await this.run(check, target, collector, work, failed);
    return { ...cost, result };
  }
}

/** The verdict on what is as it should be. */
export function ok(detail: string): Verdict {
  return { verdict: 'ok', detail };
}
