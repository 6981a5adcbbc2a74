import { type Command, Option } from 'commander';
import { type Apis, createApis } from '../apis.ts';
import { COLLECTORS } from '../collectors/index.ts';
import type { ClusterConfig, Config } from '../config/schema.ts';
import { formatIssues } from '../config/issues.ts';
import { loadConfig } from '../config/load.ts';
import { findNearest } from '../config/nearest.ts';
import { type Reading, startReading } from '../http/reading.ts';
import { type ClusterSelf, createSelf } from '../metrics/self.ts';
import { adviseOn, type Operation, requestErrorOf } from './advice.ts';
import type { Invocation } from './command.ts';
import { type Ending, watchForEnding } from './ending.ts';
import { CommandError, EXIT, usageError } from './exit.ts';
import { addConnectionFlags, readConfigFlags } from './flags.ts';
import { note } from './standard-output.ts';

/** How long a logout may hold up the end of a command. */
const LOGOUT_MS = 2_000;

/** The cluster that a command asks, by the same clients, limits and secrets as the exporter. */
export interface Target {
  readonly config: ClusterConfig;
  readonly apis: Apis;
  readonly reading: Reading;
  readonly ending: Ending;
}

/** Adds what says which cluster is meant and how it is reached. */
export function addTargetOptions(command: Command): void {
  command.addOption(
    new Option(
      '--cluster <name>',
      'Which of the configured clusters; needed when there are several.',
    ),
  );
  addConnectionFlags(command);
}

/** The configuration as the exporter would read it; its warnings go to standard error. */
export async function loadFor(command: Command, { env }: Invocation): Promise<Config> {
  const sources = { flags: readConfigFlags(command), env, collectors: COLLECTORS };
  const { config, warnings } = await loadConfig(sources);
  if (warnings.length > 0) process.stderr.write(`${formatIssues(warnings)}\n`);
  return config;
}

/** The cluster that `--cluster` names, or the only one. */
export function chooseCluster({ clusters }: Config, name: string | undefined): ClusterConfig {
  const names = clusters.map((cluster) => cluster.name);
  const [only, second] = clusters;
  if (name === undefined && only !== undefined && second === undefined) return only;
  if (name === undefined) {
    throw usageError(
      `several clusters are configured: name one of ${names.join(', ')} with --cluster`,
    );
  }
  const found = clusters.find((cluster) => cluster.name === name);
  if (found !== undefined) return found;
  const nearest = findNearest(name, names);
  const hint = nearest === undefined ? `there is ${names.join(', ')}` : `did you mean ${nearest}?`;
  throw usageError(`no cluster ${JSON.stringify(name)} is configured: ${hint}`);
}

/**
 * Runs `work` on the chosen cluster, then logs out the session it made. A failed request becomes one
 * sentence with its remedy; a signal or a broken pipe ends the work early with its own exit code.
 */
export async function withTarget(
  command: Command,
  invocation: Invocation,
  { operation, work }: { operation: Operation; work: (target: Target) => Promise<number> },
): Promise<number> {
  const { cluster } = command.opts<{ readonly cluster?: string }>();
  const config = chooseCluster(await loadFor(command, invocation), cluster);
  using ending = watchForEnding();
  await using apis = await openApis(config, invocation);
  try {
    return await work({ config, apis, ending, reading: startReading(ending.signal) });
  } catch (error) {
    const exitCode = ending.exitCode();
    if (exitCode !== undefined) return exitCode;
    const failed = requestErrorOf(error, operation);
    if (failed === undefined) throw error;
    const { problem, remedy } = adviseOn(failed, { operation, config });
    throw new CommandError(`${problem}; ${remedy}`, EXIT.failed, error);
  } finally {
    await logOut(apis);
  }
}

/** The APIs of a cluster for a command. A secret or TLS file that cannot be used is told before anything is asked. */
export async function openApis(
  config: ClusterConfig,
  { build }: Invocation,
  self = createSelf(build).cluster(config.name),
): Promise<Apis> {
  const { cluster_api, cloud_api } = config;
  try {
    for (const secret of [cluster_api?.password, cluster_api?.token, cloud_api?.token]) {
      await secret?.reveal();
    }
    return await createCommandApis(config, build, self);
  } catch (error) {
    throw new CommandError(
      error instanceof Error ? error.message : String(error),
      EXIT.usage,
      error,
    );
  }
}

function createCommandApis(
  config: ClusterConfig,
  build: Invocation['build'],
  self: ClusterSelf,
): Promise<Apis> {
  return createApis({
    config,
    self,
    userAgent: `crdb-exporter/${build.version}`,
    monotonicMs: () => performance.now(),
    random: Math.random,
  });
}

/** Ends the session that was made, if one was. */
export async function logOut(apis: Apis): Promise<void> {
  try {
    await apis.logOut(AbortSignal.timeout(LOGOUT_MS));
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    note(`could not log out; the session ends by itself: ${said}`);
  }
}

/** The cluster API of the target. */
export function clusterApiOf({ apis, config }: Target) {
  if (apis.cluster !== undefined) return apis.cluster.api;
  throw usageError(
    `the cluster ${config.name} has no cluster_api: give its URL with --cluster.url or in the file`,
  );
}
