import { once } from 'node:events';
import type { Command } from 'commander';
import { createLog, formatList, plural, SYSTEM_CLOCK } from '#base';
import { COLLECTORS } from '#collectors';
import { Cluster, measureCluster, WatchHistory } from '#exporter';
import { ExporterMetrics, joinExposition, renderFamilies } from '#metrics';
import { chooseCluster } from '../cluster-target.ts';
import { addExamples, type CommandContext, EXIT } from '../command.ts';
import { note, writeServerText } from '../output/standard-output.ts';
import { runCancellable } from '../process/signals.ts';
import { addClusterOptions, type ClusterFlags, loadCommandConfig } from '../schema-flags.ts';

/** `probe`: polls every enabled collector once and prints what a scrape would return for the cluster. */
export function define(command: Command, context: CommandContext): void {
  addClusterOptions(command);
  addExamples(
    command,
    'probe --config.file=exporter.yml --cluster prod',
    'probe --config.file=exporter.yml --no-collector.ranges | grep crdb_nodes',
  );
  command.action(async (options: ClusterFlags) => {
    context.setExitCode(await probe(command, context, options));
  });
}

async function probe(
  command: Command,
  context: CommandContext,
  { cluster: name, verbose }: ClusterFlags,
) {
  const config = await loadCommandConfig(command, context);
  const { build } = context;
  const clusterConfig = { ...chooseCluster(config, name), poll: false };
  // Failures of collectors are reported below.
  const log = createLog({ level: verbose ? 'debug' : 'error', format: 'logfmt', destination: 2 });
  const cluster = await Cluster.create(
    {
      collectors: COLLECTORS,
      metrics: new ExporterMetrics(build),
      build,
      clock: SYSTEM_CLOCK,
      random: Math.random,
      log,
    },
    clusterConfig,
    config.shard,
    new WatchHistory(log, SYSTEM_CLOCK.monotonicMs),
  );
  const all = new Set(COLLECTORS.map((collector) => collector.name));
  const timeouts = Object.values(clusterConfig.collectors).map(({ timeout }) => timeout);
  return runCancellable(async (signal) => {
    const polled = cluster.pollNow(all, Math.max(...timeouts) * 1000);
    await Promise.race([polled, once(signal, 'abort')]);
    await cluster.stop();
    signal.throwIfAborted();
    const chunks = joinExposition({
      families: [...cluster.families(all), ...renderFamilies(measureCluster(cluster, all))],
      format: 'text',
      gzip: false,
    });
    await writeServerText(Buffer.concat(chunks).toString());
    return reportFailures(cluster);
  });
}

function reportFailures({ name, pollers }: Cluster): number {
  const failed = pollers.filter(({ outcome }) => outcome.state !== 'ok');
  const causes = Map.groupBy(failed, ({ outcome: { failure: { error, remedy } = {} } }) =>
    [error?.message ?? 'no poll ended', ...(remedy === undefined ? [] : [remedy])].join('; '),
  );
  for (const [cause, pollersOfIt] of causes) {
    const names = pollersOfIt.map(({ collector }) => collector.name);
    note(
      `the ${plural(names.length, 'collector', 'collectors')} ${formatList(names)} failed: ${cause}`,
    );
  }
  if (failed.length === 0) return EXIT.ok;
  note(`\`crdb-exporter diagnose --cluster ${name}\` checks every step`);
  return EXIT.failed;
}
