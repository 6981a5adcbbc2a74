import type { ClusterConfig } from '../../../config/schema.ts';
import { diagnose } from '../../../diagnosis/diagnose.ts';
import type { Operation } from '../../../diagnosis/failure.ts';
import { formatBytes, formatMs } from '../../../format.ts';
import { createPollStats, type PollStats } from '../../../http/poll-stats.ts';
import type { FinishedRequest } from '../../../http/request.ts';
import { ClusterMetrics } from '../../../metrics/exporter-metrics.ts';

/** One line of the checklist. */
export interface CheckResult {
  /** What was checked, as `TLS` or `GET /nodes/`. */
  readonly check: string;
  /** Where: a URL, or an API. */
  readonly target: string;
  /** `warning`: works, but not as it should; `skipped`: not possible or not needed. */
  readonly verdict: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  /** How to fix it. */
  readonly advice?: string | undefined;
}

/** Records the requests of a cluster's clients. */
class RequestRecorder extends ClusterMetrics {
  readonly #finished: FinishedRequest[] = [];

  override readonly requestFinished = (request: FinishedRequest): void => {
    this.#finished.push(request);
  };

  last(endpoint: string): FinishedRequest | undefined {
    return this.#finished.findLast((request) => request.endpoint === endpoint);
  }

  /** Status, size and time of the last request to the endpoint. */
  describeLast(endpoint: string): string {
    const request = this.last(endpoint);
    if (request === undefined) return 'no request';
    return `${request.code}, ${formatBytes(request.bytes)} in ${formatMs(request.seconds * 1000)}`;
  }
}

/** The checks of one cluster: what they need, and their results so far. */
export class Checklist {
  readonly config: ClusterConfig;
  readonly stats: PollStats;
  readonly recorder = new RequestRecorder();
  readonly results: CheckResult[] = [];

  constructor(config: ClusterConfig, signal: AbortSignal) {
    this.config = config;
    this.stats = createPollStats(signal);
  }

  /** Adds a result of the cluster API. */
  add(check: string, verdict: CheckResult['verdict'], detail: string, advice?: string): void {
    this.results.push({ check, target: 'cluster API', verdict, detail, advice });
  }

  /**
   * Adds the result of `work`, whose text alone is the detail of a success, or the diagnosis of its failed request: then
   * resolves to false.
   */
  async run(
    check: string,
    operation: Operation,
    work: () => Promise<string | Omit<CheckResult, 'check' | 'target'>>,
    { target = 'cluster API', verdict = 'failed' }: Partial<CheckResult> = {},
  ): Promise<boolean> {
    try {
      const found = await work();
      const outcome = typeof found === 'string' ? { verdict: 'ok' as const, detail: found } : found;
      this.results.push({ check, target, ...outcome });
      return true;
    } catch (error) {
      const diagnosis = diagnose(error, operation, this.config);
      if (diagnosis === undefined) throw error;
      const { cause: detail, remedy: advice } = diagnosis;
      this.results.push({ check, target, verdict, detail, advice });
      return false;
    }
  }
}
