import { type Command, Option } from 'commander';
import type { ClusterApi } from '../../cockroach/cluster-api.ts';
import { cloud } from '../../collectors/cloud.ts';
import type { Collector } from '../../collectors/collector.ts';
import { COLLECTORS } from '../../collectors/index.ts';
import { nodes } from '../../collectors/nodes/collector.ts';
import { ranges } from '../../collectors/ranges/collector.ts';
import { sessions } from '../../collectors/sessions/collector.ts';
import { tables } from '../../collectors/tables/collector.ts';
import { users } from '../../collectors/users.ts';
import type { FindingSettings } from '../../config/alert-settings.ts';
import type { ClusterConfig } from '../../config/schema.ts';
import { runbookUrl } from '../../findings/links.ts';
import { formatCount, formatJson, formatLine } from '../../format.ts';
import { chooseCluster, openClients } from '../cluster-target.ts';
import { addExamples, type CommandContext, EXIT } from '../command.ts';
import { writeOut } from '../output/standard-output.ts';
import { cutMiddle, paint, type Style } from '../output/table.ts';
import { runCancellable } from '../process/signals.ts';
import { addClusterOptions, loadCommandConfig } from '../schema-flags.ts';
import { Checklist, type Verdict } from './diagnose/checklist.ts';
import { checkConnectivity } from './diagnose/connectivity.ts';
import { checkCollector, checkNodes, describeSessions, describeTables } from './diagnose/polls.ts';
import { checkRanges } from './diagnose/range-scan.ts';

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
      for (const list of lists) {
        await checkCluster(list, context, options);
        signal.throwIfAborted();
      }
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
      await checkCollector(list, cloud, clients.cloud.api, ({ assistant }) =>
        assistant === undefined ? 'there is none' : `${assistant.status}, ${assistant.health}`,
      );
    }
  }
}

/** Polls every collector of the cluster API, those that are disabled, too. */
async function checkClusterApi(list: Checklist, api: ClusterApi, { scan, output }: Options) {
  const known = await checkNodes(list, api);
  if (known === undefined) return;
  await checkRanges(list, api, known, { isWhole: scan === true, output });
  await checkCollector(list, sessions, api, (result) =>
    describeSessions(list, result, known.connections),
  );
  await checkCollector(list, users, api, ({ count }) => `${formatCount(count)} users`);
  await checkCollector(list, tables, api, (result) => describeTables(list, result));
  await checkOthers(list, api);
}

/** Collectors whose results have a description of their own. */
const DESCRIBED: ReadonlySet<Collector> = new Set([nodes, ranges, sessions, users, tables]);

/** Polls the other collectors of the cluster API. */
export async function checkOthers(
  list: Checklist,
  api: ClusterApi,
  collectors: readonly Collector[] = COLLECTORS,
): Promise<void> {
  for (const collector of collectors) {
    if (DESCRIBED.has(collector) || collector.api === 'cloud') continue;
    await checkCollector(list, collector, api, (_, items) => `${formatCount(items)} items`);
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
