import { type Command, Option } from 'commander';
import { nodes } from '../../collectors/nodes/collector.ts';
import type { ClusterConfig } from '../../config/schema.ts';
import { formatDuration } from '../../config/values.ts';
import { formatBytes, formatCount, formatJson, formatLine, formatMs } from '../../format.ts';
import { chooseCluster, openClients } from '../cluster-target.ts';
import { addExamples, type CommandContext, EXIT } from '../command.ts';
import { addClusterOptions, loadCommandConfig } from '../flags.ts';
import { writeOut } from '../output/standard-output.ts';
import { paint, type Style } from '../output/table.ts';
import { runCancellable } from '../process/signals.ts';
import { GET_ASSISTANT } from './cloud/assistant.ts';
import {
  checkCloud,
  checkNodes,
  checkOthers,
  checkRanges,
  checkSessions,
  checkTables,
  checkUsers,
  type KnownNodes,
} from './diagnose/api-checks.ts';
import { Checklist, type CheckResult } from './diagnose/checklist.ts';
import { checkConnectivity } from './diagnose/connectivity.ts';
import { checkScan } from './diagnose/scan-check.ts';

const MARKS: Readonly<Record<CheckResult['verdict'], readonly [mark: string, style: Style]>> = {
  ok: ['✓', 'green'],
  warning: ['!', 'yellow'],
  failed: ['✗', 'red'],
  skipped: ['-', 'dim'],
};

/** Intervals that people configure, seconds. */
const ROUND_INTERVALS = [30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400];

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
    const exitCode = await runCancellable(async (signal) => {
      const lists = clusters.map((one) => new Checklist(one, signal));
      for (const list of lists) {
        await checkCluster(list, context);
        signal.throwIfAborted();
      }
      return report(lists, output);
    });
    context.setExitCode(exitCode);
  });
}

/** Prints all results; resolves to the exit code. */
async function report(lists: readonly Checklist[], output: string): Promise<number> {
  const clusters = lists.map(({ config: { name }, results }) => {
    return { cluster: name, findings: results };
  });
  const text = output === 'json' ? formatJson({ clusters }, 2) : lists.map(drawReport).join('\n');
  await writeOut(`${text}\n`);
  const findings = lists.flatMap(({ results }) => results);
  return findings.some(({ verdict }) => verdict === 'failed') ? EXIT.failed : EXIT.ok;
}

async function checkCluster(list: Checklist, context: CommandContext) {
  const { config, recorder, results } = list;
  await using clients = await openClients(config, context, recorder);
  if (clients.cluster !== undefined && (await checkUrls(list, context))) {
    const { api } = clients.cluster;
    const known = await checkNodes(list, api);
    if (known !== undefined) {
      const sample = await checkRanges(list, api, known.ids[0]);
      if (sample !== undefined) await checkScan(list, api);
      await checkSessions(list, api, known.connections);
      await checkUsers(list, api);
      await checkTables(list, api);
      await checkOthers(list, api);
      if (sample !== undefined && config.collectors['ranges']?.enabled === true) {
        results.push(estimateScan(config, known, sample));
      }
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
  await using clients = await openClients(config, context, list.recorder);
  const work = async () => {
    await clients.cluster?.http.send({
      endpoint: 'other',
      method: 'GET',
      path: '/health/',
      stats: list.stats,
      onChunk: () => undefined,
      onEnd: () => undefined,
    });
    return list.recorder.describeLast('other');
  };
  const target = new URL(config.cluster_api?.urls[0] ?? '').origin;
  return await list.run('GET /health/', nodes, work, { target });
}

/** The cost of a scan of all ranges, estimated from one node, and whether the interval fits. */
function estimateScan(
  config: ClusterConfig,
  { ids, replicas: reported }: KnownNodes,
  sample: { readonly replicas: number; readonly bytes: number; readonly seconds: number },
): CheckResult {
  const { ranges } = config.collectors;
  const { interval = 60, max_duty = 1, timeout = Infinity } = ranges ?? {};
  // Releases before 23.2 do not report replicas: assume that all nodes are like this one.
  const replicas = reported > 0 ? reported : sample.replicas * ids.length;
  const factor = sample.replicas === 0 ? ids.length : replicas / sample.replicas;
  const concurrency = Math.min(Number(ranges?.['concurrency'] ?? 1), ids.length);
  const seconds = (sample.seconds * factor) / Math.max(1, concurrency);
  const check = { check: 'range scan', target: 'load' };
  const detail = `about ${formatCount(replicas)} replicas, ${formatBytes(sample.bytes * factor)} in ${formatMs(seconds * 1000)}, every ${formatDuration(interval)}`;
  const fitting = formatDuration(
    ROUND_INTERVALS.find((each) => each * max_duty >= seconds) ?? 86_400,
  );
  if (seconds > timeout) {
    const advice = `set collectors.ranges.timeout to ${formatDuration(Math.ceil(seconds * 2))} and interval to ${fitting}, or divide the work with --shard.count`;
    return { ...check, verdict: 'failed', detail: `${detail}: longer than its timeout`, advice };
  }
  if (seconds <= interval * max_duty) return { ...check, verdict: 'ok', detail };
  const excess = `more than ${Math.round(max_duty * 100)} % of the time`;
  const advice = `set collectors.ranges.interval to ${fitting}; until then the exporter extends it automatically`;
  return { ...check, verdict: 'warning', detail: `${detail}: ${excess}`, advice };
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
