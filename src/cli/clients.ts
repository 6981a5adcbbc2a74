import type { CloudApi } from '../cockroach/cloud-api.ts';
import type { ClusterApi } from '../cockroach/cluster-api.ts';
import {
  type CollectorPoll,
  collectorPoll,
  type CollectorResult,
  type CollectorWith,
} from '../collectors/collector.ts';
import { collectorOptions } from '../config/collector-schema.ts';
import type { ClusterConfig } from '../config/keys-and-flags.ts';
import { type Clients, createClients } from '../exporter/clients.ts';
import { messageOf } from '../format.ts';
import type { PollStats } from '../http/poll-stats.ts';
import type { FinishedRequest } from '../http/request.ts';
import { createLog, type Log } from '../log.ts';
import { ClusterMetrics } from '../metrics/exporter-metrics.ts';
import { failureReason } from '../polling/outcome.ts';
import { SYSTEM_CLOCK } from '../polling/schedule.ts';
import type { Api, Endpoint, RetryReason } from '../vocabulary.ts';
import { type CommandContext, CommandError, EXIT } from './command.ts';
import { note } from './output/standard-output.ts';

/** The cluster that a command queries by one of its APIs, with the same clients, limits and secrets as the exporter. */
export interface ClusterTarget<A extends Api = 'cluster'> {
  readonly config: ClusterConfig;
  readonly api: NonNullable<Clients[A]>['api'];
  /** Its signal aborts when the command is cancelled. */
  readonly stats: PollStats;
}

/** The API and the cluster that a collector polls. */
export interface PollTarget<A extends Api> extends Pick<ClusterTarget, 'config' | 'stats'> {
  readonly api: A extends 'cluster' ? ClusterApi : CloudApi;
}

/** Remembers the last request to each endpoint; with `--verbose` all are logged on standard error. */
export class RequestRecorder extends ClusterMetrics {
  readonly #last = new Map<string, FinishedRequest>();
  readonly #log: Log;

  constructor(isVerbose = false) {
    super();
    const level = isVerbose ? 'debug' : 'error';
    this.#log = createLog({ level, format: 'logfmt', destination: 2 });
  }

  override readonly requestFinished = (request: FinishedRequest): void => {
    this.#last.set(request.endpoint, request);
    this.#log.debug(request, 'request finished');
  };

  override readonly requestRetried = (api: Api, endpoint: Endpoint, reason: RetryReason): void => {
    this.#log.debug({ api, endpoint, reason }, 'request is retried');
  };

  last(endpoint: Endpoint): FinishedRequest | undefined {
    return this.#last.get(endpoint);
  }
}

/**
 * The API clients of a cluster; disposing them ends the session that was created, if one was. Secrets and TLS files that
 * cannot be read are reported before any request.
 */
export async function openClients(
  config: ClusterConfig,
  { build }: CommandContext,
  metrics: RequestRecorder,
): Promise<Clients> {
  const { cluster_api, cloud_api } = config;
  try {
    for (const secret of [cluster_api?.password, cluster_api?.token, cloud_api?.token]) {
      await secret?.reveal();
    }
    const clients = await createClients({
      config,
      metrics,
      build,
      clock: SYSTEM_CLOCK,
      random: Math.random,
      // A command ends soon: it queries a silent node again, rather than to leave it alone for minutes.
      maxDuty: Infinity,
    });
    return {
      ...clients,
      async [Symbol.asyncDispose]() {
        await clients.logOut().catch((error: unknown) => {
          note(`logout failed; the session expires on the server: ${messageOf(error)}`);
        });
        await clients[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    throw new CommandError(messageOf(error), EXIT.usage, error);
  }
}

/** One poll of a collector outside of the exporter: without the state of earlier polls, and without shards. */
export function collectOnce<A extends Api, Result extends CollectorResult>(
  collector: CollectorWith<A, Result>,
  { config, api, stats }: PollTarget<A>,
  chosen: Partial<CollectorPoll<unknown, unknown>> = {},
): Promise<Result> {
  const poll = Object.assign(stats, { reasonOf: failureReason, warn: () => undefined });
  const context = collectorPoll(poll, {
    options: collectorOptions(config, collector),
    state: collector.createState(),
    urls: config.cluster_api?.urls.length ?? 1,
    ...chosen,
  });
  return collector.collect(api, context);
}
