import { type Command, Option } from 'commander';
import { cloud } from '../../collectors/cloud.ts';
import { nodes } from '../../collectors/nodes/collector.ts';
import type { FindingSettings } from '../../config/alert-settings.ts';
import type { ClusterConfig } from '../../config/schema.ts';
import { runbookUrl } from '../../findings/problem.ts';
import { formatJson, formatLine } from '../../format.ts';
import { chooseCluster, openClients } from '../cluster-target.ts';
import { addExamples, type CommandContext, EXIT } from '../command.ts';
import { writeOut } from '../output/standard-output.ts';
import { cutMiddle, paint, type Style } from '../output/table.ts';
import { runCancellable } from '../process/signals.ts';
import { addClusterOptions, loadCommandConfig } from '../schema-flags.ts';
import { Checklist, type Verdict } from './diagnose/checklist.ts';
import { checkClusterApi } from './diagnose/cluster-api.ts';
import { checkConnectivity } from './diagnose/connectivity.ts';

const MARKS: Readonly<Record<Verdict['verdict'], readonly [mark: string, style: Style]>> = {
  ok: ['✓', 'green'],
  warning: ['!', 'yellow'],
  failed: ['✗', 'red'],
  skipped: ['-', 'dim'],
};

/** The name of a check that is longer is cut. */
const MAX_NAME_WIDTH = 28;

/** `diagnose`: every step from the configuration to the metrics, and how to fix those that fail. */
export function define(command: Command, context: CommandContext): void {
  command.addOption(
    new Option('-o, --output <format>', 'Checklist for people, or JSON for programs.')
      .choices(['table', 'json'])
      .default('table'),
  );
  command.option('--scan', 'Read the ranges of all nodes, not only of the smallest one.');
  addClusterOptions(command);
  addExamples(
    command,
    'diagnose --config.file=exporter.yml',
    'diagnose --config.file=exporter.yml --cluster prod --scan',
    'diagnose --config.file=exporter.yml --output json',
  );
  command.action(async ({ cluster, verbose, ...options }: Options) => {
    const config = await loadCommandConfig(command, context);
    const clusters = cluster === undefined ? config.clusters : [chooseCluster(config, cluster)];
    const exitCode = await runCancellable(async (signal) => {
      const lists = clusters.map((one) => new Checklist(one, signal, verbose));
      for (const list of lists) await checkCluster(list, context, options);
      return report(lists, options.output, config.links);
    });
    context.setExitCode(exitCode);
  });
}

interface Options {
  readonly cluster?: string;
  readonly output: string;
  readonly scan?: true;
  readonly verbose?: true;
}

/** Prints all results; resolves to the exit code. */
async function report(
  lists: readonly Checklist[],
  output: string,
  links: FindingSettings['links'],
): Promise<number> {
  const clusters = lists.map(({ config: { name }, results }) => {
    const findings = results.map((one) => ({
      ...one,
      runbook: one.alert && runbookUrl(one.alert, links),
    }));
    return { cluster: name, findings };
  });
  const text =
    output === 'json'
      ? formatJson({ clusters }, 2)
      : lists.map((list) => drawReport(list, links)).join('\n');
  await writeOut(`${text}\n`);
  const findings = lists.flatMap(({ results }) => results);
  return findings.some(({ verdict }) => verdict === 'failed') ? EXIT.failed : EXIT.ok;
}

async function checkCluster(list: Checklist, context: CommandContext, options: Options) {
  const { config, recorder } = list;
  await using clients = await openClients(config, context, recorder);
  if (clients.cluster !== undefined && (await checkUrls(list, context))) {
    await checkClusterApi(list, clients.cluster.api, options);
  }
  if (clients.cloud !== undefined && config.cloud_api !== undefined) {
    if (await checkConnectivity(list, config.cloud_api.url, cloud)) {
      await list.poll(cloud, clients.cloud.api, ({ assistant }) =>
        assistant === undefined ? 'there is none' : `${assistant.status}, ${assistant.health}`,
      );
    }
  }
}

/** Each URL alone, since the clients would silently fail over to the next; true when one works. */
async function checkUrls(list: Checklist, context: CommandContext): Promise<boolean> {
  const { cluster_api } = list.config;
  let isReachable = false;
  for (const url of cluster_api?.urls ?? []) {
    if (!(await checkConnectivity(list, url, nodes))) continue;
    const alone = { ...list.config, cluster_api: cluster_api && { ...cluster_api, urls: [url] } };
    if (await checkHealth(list, { ...alone, cloud_api: undefined }, context)) isReachable = true;
  }
  return isReachable;
}

/** GET /health/, which needs no login: whether the API answers, under the right scheme. */
async function checkHealth(list: Checklist, config: ClusterConfig, context: CommandContext) {
  await using clients = await openClients(config, context, list.recorder);
  const target = new URL(config.cluster_api?.urls[0] ?? '').origin;
  return await list.run('GET /health/', target, nodes, async () => {
    await clients.cluster?.http.send({
      endpoint: 'other',
      method: 'GET',
      path: '/health/',
      stats: list.stats,
      onChunk: () => undefined,
      onEnd: () => undefined,
    });
    return list.describeLast('other');
  });
}

function drawReport({ config, results }: Checklist, links: FindingSettings['links']): string {
  const width = Math.min(MAX_NAME_WIDTH, Math.max(0, ...results.map(({ check }) => check.length)));
  const lines = [paint('bold', `Cluster ${config.name}`)];
  for (const [target, ofTarget] of Map.groupBy(results, (result) => result.target)) {
    lines.push(`  ${target}`);
    for (const { check, verdict, detail, advice, alert } of ofTarget) {
      const [mark, style] = MARKS[verdict];
      lines.push(
        `    ${paint(style, mark)} ${cutMiddle(check, width).padEnd(width)}  ${formatLine(detail)}`,
      );
      if (advice !== undefined) lines.push(`      ${paint('bold', '→')} ${formatLine(advice)}`);
      if (alert !== undefined) lines.push(`        see ${runbookUrl(alert, links) ?? alert}`);
    }
  }
  const count = (wanted: string): number =>
    results.filter(({ verdict }) => verdict === wanted).length;
  const summary = `${count('ok')} ok, ${count('warning')} warnings, ${count('failed')} failed`;
  return [...lines, '', summary].join('\n');
}
