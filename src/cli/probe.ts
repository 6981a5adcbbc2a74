import type { Command } from 'commander';
import { COLLECTORS } from '../collectors/index.ts';
import { createLog } from '../log.ts';
import { joinExposition } from '../metrics/exposition.ts';
import { createSelf } from '../metrics/self.ts';
import { renderFamilies } from '../metrics/snapshot.ts';
import { watchCluster, type WatchedCluster } from '../watched-cluster.ts';
import { addExamples, type Invocation } from './command.ts';
import { watchForEnding } from './ending.ts';
import { EXIT } from './exit.ts';
import { note, writeServerText } from './standard-output.ts';
import { addTargetOptions, chooseCluster, loadFor } from './target.ts';

/** `probe`: every enabled collector once, and what a scrape would then hold of the cluster. */
export function define(command: Command, invocation: Invocation): void {
  addTargetOptions(command);
  addExamples(
    command,
    'probe --config.file=exporter.yml --cluster prod',
    'probe --config.file=exporter.yml --no-collector.ranges | grep crdb_nodes',
  );
  command.action(async (options: { readonly cluster?: string }) => {
    invocation.done(await probe(command, invocation, options.cluster));
  });
}

async function probe(
  command: Command,
  invocation: Invocation,
  name: string | undefined,
): Promise<number> {
  const config = await loadFor(command, invocation);
  const { build } = invocation;
  const target = { ...chooseCluster(config, name), poll: false };
  const cluster = await watchCluster({
    config: target,
    shard: config.shard,
    max_series: config.max_series,
    collectors: COLLECTORS,
    self: createSelf(build),
    userAgent: `crdb-exporter/${build.version}`,
    clock: { wallMs: () => Date.now(), monotonicMs: () => performance.now() },
    random: Math.random,
    // What a collector failed with is told below.
    log: createLog({ level: 'error', format: 'logfmt', destination: 2 }),
  });
  using ending = watchForEnding();
  const done = new AbortController();
  const running = cluster.run(AbortSignal.any([ending.signal, done.signal]));
  const timeouts = Object.values(target.collectors).map(({ timeout }) => timeout);
  await cluster.pollNow(isAny, Math.max(...timeouts) * 1000);
  done.abort();
  await running;
  const exitCode = ending.exitCode();
  if (exitCode !== undefined) return exitCode;
  await writeServerText(expose(cluster));
  return judge(cluster);
}

function isAny(): boolean {
  return true;
}

function expose(cluster: WatchedCluster): string {
  const { chunks } = joinExposition({
    parts: cluster.snapshots(isAny),
    rendered: renderFamilies(cluster.outcomes(isAny)),
    format: 'text',
    gzip: false,
  });
  return Buffer.concat(chunks).toString();
}

function judge({ name, pollers }: WatchedCluster): number {
  const failed = pollers.filter(({ outcome }) => !outcome.isGood);
  for (const { plan, outcome } of failed) {
    note(`the collector ${plan.collector} failed: ${outcome.error?.message ?? 'no poll ended'}`);
  }
  if (failed.length === 0) return EXIT.good;
  note(`see \`crdb-exporter diagnose --cluster ${name}\` for the remedy`);
  return EXIT.failed;
}
