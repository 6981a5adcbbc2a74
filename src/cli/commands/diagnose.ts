import { type Command, Option } from 'commander';
import { nodes } from '../../collectors/nodes.ts';
import type { ClusterConfig, Config } from '../../config/schema.ts';
import { formatJson, formatLine } from '../../format.ts';
import { chooseCluster, openClients } from '../cluster-target.ts';
import { addExamples, type CommandContext, EXIT } from '../command.ts';
import { addClusterOptions, loadCommandConfig } from '../flags.ts';
import { writeOut } from '../output/standard-output.ts';
import { paint, type Style } from '../output/table.ts';
import { watchCancellation } from '../process/signals.ts';
import { GET_ASSISTANT } from './cloud/assistant.ts';
import {
  checkCloud,
  checkNodes,
  checkOthers,
  checkRanges,
  checkSessions,
  checkTables,
  checkUsers,
} from './diagnose/api-checks.ts';
import { Checklist, type CheckResult, RequestRecorder } from './diagnose/checklist.ts';
import { checkConnectivity } from './diagnose/connectivity.ts';
import { estimateScan, estimateSeries } from './diagnose/load.ts';

const MARKS: Readonly<Record<CheckResult['verdict'], readonly [mark: string, style: Style]>> = {
  ok: ['✓', 'green'],
  warning: ['!', 'yellow'],
  failed: ['✗', 'red'],
  skipped: ['-', 'dim'],
};

/** `diagnose`: every step from the configuration to the metrics, and how to fix those that fail. */
export function define(command: Command, context: CommandContext): void {
  command.addOption(
    new Option('-o, --output <format>', 'Checklist for people, or JSON for programs.')
      .choices(['table', 'json'])
      .default('table'),
  );
  addClusterOptions(command);
  addExamples(
    command,
    'diagnose --config.file=exporter.yml',
    'diagnose --config.file=exporter.yml --cluster prod --output json',
  );
  command.action(async ({ cluster, output }: { cluster?: string; output: string }) => {
    const config = await loadCommandConfig(command, context);
    const clusters = cluster === undefined ? config.clusters : [chooseCluster(config, cluster)];
    context.setExitCode(await diagnose({ ...config, clusters }, output, context));
  });
}

async function diagnose(config: Config, output: string, context: CommandContext): Promise<number> {
  using cancellation = watchCancellation();
  const lists: Checklist[] = [];
  for (const cluster of config.clusters) {
    const list = new Checklist(cluster, cancellation.signal);
    try {
      await checkCluster(list, config.max_series, context);
    } catch (error) {
      if (!cancellation.signal.aborted) throw error;
    }
    const exitCode = cancellation.exitCode();
    if (exitCode !== undefined) return exitCode;
    lists.push(list);
  }
  const clusters = lists.map(({ config: { name }, results }) => {
    return { cluster: name, findings: results };
  });
  const text = output === 'json' ? formatJson({ clusters }, 2) : lists.map(drawReport).join('\n');
  await writeOut(`${text}\n`);
  const findings = lists.flatMap(({ results }) => results);
  return findings.some(({ verdict }) => verdict === 'failed') ? EXIT.failed : EXIT.ok;
}

async function checkCluster(list: Checklist, maxSeries: number, context: CommandContext) {
  const { config, recorder, results } = list;
  await using clients = await openClients(config, context, recorder);
  if (clients.cluster !== undefined && (await checkUrls(list, context))) {
    const { api } = clients.cluster;
    const known = await checkNodes(list, api);
    if (known !== undefined) {
      const sample = await checkRanges(list, api, known.ids[0]);
      await checkSessions(list, api, known.connections);
      await checkUsers(list, api);
      await checkTables(list, api);
      await checkOthers(list, api);
      if (sample !== undefined && config.collectors['ranges']?.enabled === true) {
        results.push(estimateScan(config, known, sample));
      }
      if (known.ids.length > 0) results.push(estimateSeries(config, known, maxSeries));
    }
  }
  if (clients.cloud !== undefined && config.cloud_api !== undefined) {
    const isReachable = await checkConnectivity(list, config.cloud_api.url, GET_ASSISTANT);
    if (isReachable) await checkCloud(list, clients.cloud.api);
  }
}

/** Each URL alone, since the clients would silently fail over to the next; true when one works. */
async function checkUrls(list: Checklist, context: CommandContext): Promise<boolean> {
  const { cluster_api } = list.config;
  if (cluster_api === undefined) return false;
  let isReachable = false;
  for (const url of cluster_api.urls) {
    const urls = { ...cluster_api, urls: [url] };
    const alone = { ...list.config, cluster_api: urls, cloud_api: undefined };
    const isConnected = await checkConnectivity(list, url, nodes);
    if (isConnected && (await checkHealth(list, alone, context))) isReachable = true;
  }
  return isReachable;
}

/** GET /health/, which needs no login: whether the API answers, under the right scheme. */
async function checkHealth(list: Checklist, config: ClusterConfig, context: CommandContext) {
  const recorder = new RequestRecorder();
  await using clients = await openClients(config, context, recorder);
  const work = async () => {
    await clients.cluster?.http.send({
      endpoint: 'other',
      method: 'GET',
      path: '/health/',
      stats: list.stats,
      onChunk: () => undefined,
      onEnd: () => undefined,
    });
    return recorder.describeLast('other');
  };
  const target = new URL(config.cluster_api?.urls[0] ?? '').origin;
  return await list.run('GET /health/', nodes, work, { target });
}

function drawReport({ config, results }: Checklist): string {
  const width = Math.max(0, ...results.map(({ check }) => check.length));
  const lines = [paint('bold', `Cluster ${config.name}`)];
  for (const [target, ofTarget] of Map.groupBy(results, (result) => result.target)) {
    lines.push(`  ${target}`);
    for (const { check, verdict, detail, advice } of ofTarget) {
      const [mark, style] = MARKS[verdict];
      lines.push(`    ${paint(style, mark)} ${check.padEnd(width)}  ${formatLine(detail)}`);
      if (advice !== undefined) lines.push(`      ${paint('bold', '→')} ${formatLine(advice)}`);
    }
  }
  const count = (wanted: string): number =>
    results.filter(({ verdict }) => verdict === wanted).length;
  const summary = `${count('ok')} ok, ${count('warning')} warnings, ${count('failed')} failed`;
  return [...lines, '', summary].join('\n');
}
