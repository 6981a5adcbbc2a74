import type { Command } from 'commander';
import type { CloudApi } from '../cockroach/cloud-api.ts';
import type { ClusterApi } from '../cockroach/cluster-api.ts';
import {
  type CollectorPoll,
  collectorPoll,
  type CollectorResult,
  type CollectorWith,
} from '../collectors/collector.ts';
import { findNearest } from '../config/issues.ts';
import { type ClusterConfig, collectorOptions, type Config } from '../config/schema.ts';
import { diagnose } from '../diagnosis/diagnose.ts';
import type { Operation } from '../diagnosis/failure.ts';
import { type Clients, createClients } from '../exporter/clients.ts';
import { messageOf } from '../format.ts';
import { createPollStats, type PollStats } from '../http/poll-stats.ts';
import type { FinishedRequest } from '../http/request.ts';
import { createLog, type Log } from '../log.ts';
import { ClusterMetrics } from '../metrics/exporter-metrics.ts';
import { failureReason } from '../polling/outcome.ts';
import { SYSTEM_CLOCK } from '../polling/schedule.ts';
import type { Api, Endpoint, RetryReason } from '../vocabulary.ts';
import { type CommandContext, CommandError, EXIT, usageError } from './command.ts';
import { note } from './output/standard-output.ts';
import { runCancellable } from './process/signals.ts';
import { addClusterOptions, loadCommandConfig } from './schema-flags.ts';

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

const HOW_TO_CONFIGURE: Readonly<Record<Api, string>> = {
  cluster: 'cluster_api: set its URL with --cluster.url or in the file',
  cloud: 'cloud_api: set --cloud.cluster-id and --cloud.token-file, or the same in the file',
};

/**
 * Adds the options that choose a cluster, and makes `work` the action of the command. The session that it created is
 * logged out. A failed request becomes one sentence with its remedy; a signal or a broken pipe ends it early with its own
 * exit code.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- commander does not type the arguments
export function addClusterAction<A extends Api, Args extends unknown[]>(
  command: Command,
  context: CommandContext,
  operation: Operation & { readonly api: A },
  work: (target: ClusterTarget<A>, ...args: Args) => Promise<number | void>,
): void {
  addClusterOptions(command);
  command.action(async (...args: Args) => {
    const { cluster, verbose } = command.opts<{
      readonly cluster?: string;
      readonly verbose?: true;
    }>();
    const config = chooseCluster(await loadCommandConfig(command, context), cluster);
    const exitCode = await runCancellable(async (signal) => {
      await using clients = await openClients(config, context, new RequestRecorder(verbose));
      const client: Clients[A] = clients[operation.api];
      if (client === undefined) {
        throw usageError(`the cluster ${config.name} has no ${HOW_TO_CONFIGURE[operation.api]}`);
      }
      const stats = createPollStats(signal);
      try {
        return (await work({ config, api: client.api, stats }, ...args)) ?? EXIT.ok;
      } catch (error) {
        if (signal.aborted) noteCancelled(operation, stats);
        const diagnosis = diagnose(error, operation, config, stats);
        if (diagnosis === undefined) throw error;
        throw new CommandError(`${diagnosis.cause}; ${diagnosis.remedy}`, EXIT.failed, error);
      }
    });
    context.setExitCode(exitCode);
  });
}

/** A change that was cancelled before its answer may have been made. */
function noteCancelled({ verification }: Operation, { mayHaveChanged }: PollStats): void {
  if (!mayHaveChanged || verification === undefined) return;
  note(`cancelled: the service may have made the change: check ${verification}`);
}

/** The cluster that `--cluster` names, or the only one. */
export function chooseCluster({ clusters }: Config, name: string | undefined): ClusterConfig {
  const isOnly = name === undefined && clusters.length === 1;
  const found = clusters.find((cluster) => isOnly || cluster.name === name);
  if (found !== undefined) return found;
  const names = clusters.map((cluster) => cluster.name);
  const choice = `choose one of ${names.join(', ')}`;
  if (name === undefined) {
    throw usageError(`several clusters are configured: ${choice} with --cluster`);
  }
  const nearest = findNearest(name, names);
  const hint = nearest === undefined ? choice : `did you mean ${nearest}?`;
  throw usageError(`no cluster ${JSON.stringify(name)} is configured: ${hint}`);
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

/** Options of a poll that commands choose. */
export interface PollOptions extends Pick<
  CollectorPoll<unknown, unknown>,
  'warn' | 'scanProgress'
> {
  /** Default: those of the configuration. */
  readonly options: unknown;
  /** The only node whose ranges are read; default: all. */
  readonly onlyNode: number | undefined;
}

/** One poll of a collector outside of the exporter: without the state of earlier polls, and without shards. */
export function collectOnce<A extends Api, Result extends CollectorResult>(
  collector: CollectorWith<A, Result>,
  { config, api, stats }: PollTarget<A>,
  {
    options = collectorOptions(config, collector),
    warn = () => undefined,
    scanProgress = () => undefined,
    onlyNode,
  }: Partial<PollOptions> = {},
): Promise<Result> {
  const context = collectorPoll(Object.assign(stats, { reasonOf: failureReason, warn }), {
    options,
    state: collector.createState(),
    shards: { index: 0, count: 1, onlyNode },
    urls: config.cluster_api?.urls.length ?? 1,
    scanProgress,
  });
  return collector.collect(api, context);
}
