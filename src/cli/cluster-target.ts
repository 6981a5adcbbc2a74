import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import {
  type Api,
  createLog,
  type Endpoint,
  findNearest,
  formatDuration,
  type Log,
  messageOf,
  type RetryReason,
  SYSTEM_CLOCK,
} from '#base';
import {
  addWarning,
  assertOneCluster,
  createPollStats,
  diagnose,
  MAX_RECORD_AGE_SECONDS,
  type Operation,
  type PollStats,
  RequestError,
  warningText,
} from '#cockroach';
import {
  type ChosenPoll,
  type CollectorOf,
  type CollectorResult,
  type PolledApi,
  runCollector,
} from '#collectors';
import { type ClusterConfig, type Config, listSecrets } from '#config';
import { type Clients, createClients } from '#exporter';
import { ClusterMetrics, type FinishedRequest } from '#metrics';
import { type CommandContext, CommandError, EXIT, usageError } from './command.ts';
import { note } from './output/standard-output.ts';
import { runCancellable } from './process/signals.ts';
import { addClusterOptions, type ClusterFlags, loadCommandConfig } from './schema-flags.ts';

/** The cluster that a command queries by one of its APIs, with the same clients, limits and secrets as the exporter. */
export interface ClusterTarget<A extends Api = 'cluster'> {
  readonly config: ClusterConfig;
  readonly api: NonNullable<Clients[A]>['api'];
  /** Its signal aborts when the command is cancelled. */
  readonly stats: PollStats;
  /** Waits for this many milliseconds, or until the command is cancelled. */
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  /** The clock of this host, in milliseconds since the epoch. */
  readonly wallMs: () => number;
}

/** The API and the cluster that a collector polls. */
export interface PollTarget<A extends Api> extends Pick<ClusterTarget, 'config' | 'stats'> {
  readonly api: PolledApi<A>;
}

const HOW_TO_CONFIGURE: Readonly<Record<Api, string>> = {
  cluster: 'cluster_api: set its URL with --cluster.url or in the file',
  cloud: 'cloud_api: set --cloud.cluster-id and --cloud.token-file, or the same in the file',
};

/**
 * Adds the options that choose a cluster, `--yes` for an operation that changes something, and makes `work` the action of the
 * command. It fails when the URLs lead to different clusters. The session that it created is logged out. A failed request
 * becomes one sentence with its remedy; a signal or a broken pipe ends it early with its own exit code.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- commander does not type the arguments
export function addClusterAction<A extends Api, Args extends unknown[]>(
  command: Command,
  context: CommandContext,
  operation: Operation & { readonly api: A },
  work: (target: ClusterTarget<A>, ...args: Args) => Promise<number | void>,
): void {
  if (operation.verification !== undefined) {
    command.option('--yes', 'Do it without confirmation; required in a non-interactive session.');
  }
  addClusterOptions(command);
  command.action(async (...args: Args) => {
    const options = command.opts<ClusterFlags>();
    const config = chooseCluster(await loadCommandConfig(command, context), options.cluster);
    const exitCode = await runCancellable(async (signal) => {
      const recorder = new RequestRecorder(options.verbose, context.time.wallMs);
      await using clients = await openClients(config, context, recorder);
      const client: Clients[A] = clients[operation.api];
      if (client === undefined) {
        throw usageError(`the cluster ${config.name} has no ${HOW_TO_CONFIGURE[operation.api]}`);
      }
      const stats = createPollStats(signal);
      const { sleep, wallMs } = context.time;
      try {
        if (operation.api === 'cluster' && clients.cluster !== undefined) {
          await assertOneCluster(clients.cluster.api, stats, config.cluster_api?.urls.length ?? 1);
        }
        const target = {
          config,
          api: client.api,
          stats,
          sleep: (ms: number) => sleep(ms, signal),
          wallMs,
        };
        const code = await work(target, ...args);
        for (const warning of stats.warnings.values()) note(warningText(warning));
        noteOldResponse(recorder.oldestSeconds);
        return code ?? EXIT.ok;
      } catch (error) {
        // A change that was cancelled before its response may have been made.
        if (signal.aborted && stats.mayHaveChanged && operation.verification !== undefined) {
          note(`cancelled: the service may have made the change: check ${operation.verification}`);
        }
        const { mayHaveChanged } = stats;
        const { hasResponse: hasWorked } = recorder;
        throw explainFailure(error, operation, config, { mayHaveChanged, hasWorked });
      }
    });
    context.setExitCode(exitCode);
  });
}

/** Notes a response that is old by the clock of this host. A cache may send an old one with its old Date. */
function noteOldResponse(seconds: number): void {
  if (seconds < MAX_RECORD_AGE_SECONDS) return;
  note(
    `a response is ${formatDuration(seconds)} old by the clock of this host: correct the clock that is wrong, or make proxies and load balancers pass every request on without caching`,
  );
}

/** A failed request as one sentence with its remedy; any other error stays as it is. */
export function explainFailure(
  error: unknown,
  operation: Operation,
  config: ClusterConfig,
  before: Parameters<typeof diagnose>[3],
): unknown {
  if (!(error instanceof RequestError)) return error;
  const { cause, remedy } = diagnose(error, operation, config, before);
  return new CommandError(`${cause}; ${remedy}`, EXIT.failed, error);
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

/** Remembers the last request to each endpoint, and what all of them cost; with `--verbose` all are logged on standard error. */
export class RequestRecorder extends ClusterMetrics {
  readonly #last = new Map<string, FinishedRequest>();
  readonly #sums = new Map<string, Pick<FinishedRequest, 'bytes' | 'seconds'>>();
  readonly #log: Log;
  readonly #wallMs: () => number;
  #oldestSeconds = 0;

  constructor(isVerbose = false, wallMs: () => number = Date.now) {
    super();
    this.#wallMs = wallMs;
    const level = isVerbose ? 'debug' : 'error';
    this.#log = createLog({ level, format: 'logfmt', destination: 2 });
  }

  override requestFinished(_api: Api, request: FinishedRequest): void {
    const { dateMs, ...logged } = request;
    const nowMs = this.#wallMs();
    const ageSeconds = (nowMs - (dateMs ?? nowMs)) / 1000 - request.seconds;
    this.#oldestSeconds = Math.max(this.#oldestSeconds, ageSeconds);
    this.#last.set(request.endpoint, request);
    const { bytes, seconds } = this.sumOf(request.endpoint);
    const sums = { bytes: bytes + request.bytes, seconds: seconds + request.seconds };
    this.#sums.set(request.endpoint, sums);
    this.#log.debug(logged, 'request finished');
  }

  override requestRetried(api: Api, endpoint: Endpoint, reason: RetryReason): void {
    this.#log.debug({ api, endpoint, reason }, 'request is retried');
  }

  last(endpoint: Endpoint): FinishedRequest | undefined {
    return this.#last.get(endpoint);
  }

  /** The bytes and seconds of all requests to an endpoint. */
  sumOf(endpoint: Endpoint): Pick<FinishedRequest, 'bytes' | 'seconds'> {
    return this.#sums.get(endpoint) ?? { bytes: 0, seconds: 0 };
  }

  /** The age of the oldest response by the clock of this host and its Date, seconds. */
  get oldestSeconds(): number {
    return this.#oldestSeconds;
  }

  /** Whether a server has answered: then scheme and port are right. */
  get hasResponse(): boolean {
    return [...this.#last.values()].some(({ code }) => code !== 'error');
  }
}

/**
 * The API clients of a cluster; disposing them ends the session that was created, if one was. Secrets and TLS files that
 * cannot be read are reported before any request.
 */
export async function openClients(
  config: ClusterConfig,
  { build }: CommandContext,
  metrics: ClusterMetrics,
): Promise<Clients> {
  try {
    for (const secret of listSecrets(config)) await secret?.reveal();
    return await createClients({
      config,
      metrics,
      build,
      clock: SYSTEM_CLOCK,
      random: Math.random,
      // A command ends soon: it queries a silent node again, rather than to leave it alone for minutes.
      maxDuty: Infinity,
      logoutFailed: (error) =>
        note(`logout failed; the session expires on the server: ${messageOf(error)}`),
    });
  } catch (error) {
    throw new CommandError(messageOf(error), EXIT.usage, error);
  }
}

/** One poll of a collector, as the exporter would do it, but without the state of earlier polls. Its counts are added to `stats`. */
export async function collectOnce<A extends Api, Options, State, Result extends CollectorResult>(
  collector: CollectorOf<A, Options, State, Result>,
  { config, api, stats }: PollTarget<A>,
  chosen?: ChosenPoll<Options>,
): Promise<Result> {
  const given = { config, clock: SYSTEM_CLOCK, stop: stats.signal, chosen };
  const poll = runCollector(collector, api, given);
  try {
    const result = await poll.result;
    stats.signal.throwIfAborted();
    return result;
  } finally {
    stats.items += poll.stats.items;
    stats.bytes += poll.stats.bytes;
    stats.responding.push(...poll.stats.responding);
    for (const limit of poll.stats.limits) stats.limits.add(limit);
    for (const warning of poll.stats.warnings.values()) addWarning(stats, warning);
  }
}

/** Prints the change, as `delete the migration assistant`, and continues when the user agrees or `--yes` is set. */
export async function confirm(
  target: ClusterTarget<'cloud'>,
  change: string,
  yes = false,
): Promise<void> {
  const { name, cloud_api } = target.config;
  note(`about to ${change} on cluster ${name} (${cloud_api?.cluster_id} at ${cloud_api?.url})`);
  if (yes) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw usageError('this session is not interactive: add --yes to confirm');
  }
  const answer = await askOnTerminal('Continue? (y/N) ', target.stats.signal);
  if (answer === undefined) throw new CommandError('nothing was changed', EXIT.interrupted);
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new CommandError('nothing was changed');
}

/** The line that the user types; undefined after Ctrl-C, or at the end of the input. */
async function askOnTerminal(question: string, signal: AbortSignal): Promise<string | undefined> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr, signal });
  const answer = await new Promise<string | undefined>((resolve) => {
    terminal.once('close', () => resolve(undefined));
    terminal.question(question, resolve);
  });
  terminal.close();
  if (answer === undefined) process.stderr.write('\n');
  return answer;
}
