import type { Command } from 'commander';
import { findNearest } from '../config/issues.ts';
import type { ClusterConfig, Config } from '../config/keys-and-flags.ts';
import { diagnose } from '../diagnosis/diagnose.ts';
import type { Operation } from '../diagnosis/failure.ts';
import type { Clients } from '../exporter/clients.ts';
import { createPollStats } from '../http/poll-stats.ts';
import type { Api } from '../vocabulary.ts';
import { type ClusterTarget, openClients, RequestRecorder } from './clients.ts';
import { type CommandContext, CommandError, EXIT, usageError } from './command.ts';
import { note } from './output/standard-output.ts';
import { runCancellable } from './process/signals.ts';
import { addClusterOptions, loadCommandConfig } from './schema-flags.ts';

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
    const options = command.opts<{ readonly cluster?: string; readonly verbose?: true }>();
    const config = chooseCluster(await loadCommandConfig(command, context), options.cluster);
    const exitCode = await runCancellable(async (signal) => {
      await using clients = await openClients(
        config,
        context,
        new RequestRecorder(options.verbose),
      );
      const client: Clients[A] = clients[operation.api];
      if (client === undefined) {
        throw usageError(`the cluster ${config.name} has no ${HOW_TO_CONFIGURE[operation.api]}`);
      }
      const stats = createPollStats(signal);
      try {
        return (await work({ config, api: client.api, stats }, ...args)) ?? EXIT.ok;
      } catch (error) {
        // A change that was cancelled before its answer may have been made.
        if (signal.aborted && stats.mayHaveChanged && operation.verification !== undefined) {
          note(`cancelled: the service may have made the change: check ${operation.verification}`);
        }
        const diagnosis = diagnose(error, operation, config, stats);
        if (diagnosis === undefined) throw error;
        throw new CommandError(`${diagnosis.cause}; ${diagnosis.remedy}`, EXIT.failed, error);
      }
    });
    context.setExitCode(exitCode);
  });
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
