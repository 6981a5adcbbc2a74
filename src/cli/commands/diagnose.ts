import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { type Command, Option } from 'commander';
import { cloud } from '../../collectors/cloud.ts';
import { nodes } from '../../collectors/nodes/collector.ts';
import type { FindingSettings } from '../../config/alert-settings.ts';
import type { ClusterConfig } from '../../config/keys-and-flags.ts';
import { readClientTls } from '../../config/tls-files.ts';
import { isLoopback } from '../../config/values.ts';
import type { Operation } from '../../diagnosis/failure.ts';
import { runbookUrl } from '../../findings/problem.ts';
import { formatJson, formatLine } from '../../format.ts';
import { toRequestError } from '../../http/errors.ts';
import { openClients } from '../clients.ts';
import { chooseCluster } from '../cluster-target.ts';
import { addExamples, type CommandContext, EXIT } from '../command.ts';
import { writeOut } from '../output/standard-output.ts';
import { paint, type Style } from '../output/table.ts';
import { runCancellable } from '../process/signals.ts';
import { addClusterOptions, loadCommandConfig } from '../schema-flags.ts';
import { Checklist, type CheckResult, type Verdict } from './diagnose/checklist.ts';
import { checkClusterApi, HEALTH } from './diagnose/cluster-api.ts';

const MARKS: Readonly<Record<Verdict['verdict'], readonly [mark: string, style: Style]>> = {
  ok: ['✓', 'green'],
  warning: ['!', 'yellow'],
  failed: ['✗', 'red'],
  skipped: ['-', 'dim'],
};

const TLS_TIMEOUT_MS = 5_000;
/** Time to renew a certificate without haste. */
const EXPIRES_SOON_DAYS = 30;
const DAY_MS = 86_400_000;

/** The names of checks are aligned up to this width. */
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
      const lists = clusters.map((each) => new Checklist(each, signal, verbose));
      for (const list of lists) await checkCluster(list, context, options, config.thresholds);
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

async function checkCluster(
  list: Checklist,
  context: CommandContext,
  options: Options,
  thresholds: FindingSettings['thresholds'],
): Promise<void> {
  const { config, recorder } = list;
  await using clients = await openClients(config, context, recorder);
  if (clients.cluster !== undefined && (await checkUrls(list, context))) {
    await checkClusterApi(list, clients.cluster, { ...options, thresholds });
  }
  if (clients.cloud === undefined || config.cloud_api === undefined) return;
  if (!(await checkCertificate(list, config.cloud_api.url, cloud))) return;
  await list.poll(cloud, clients.cloud.api, ({ assistant }) =>
    assistant === undefined ? 'there is none' : `${assistant.status}, ${assistant.health}`,
  );
}

/** Checks each URL alone, since the clients would silently fail over to the next; true when one works. */
async function checkUrls(list: Checklist, context: CommandContext): Promise<boolean> {
  const { cluster_api } = list.config;
  let isReachable = false;
  for (const url of cluster_api?.urls ?? []) {
    if (!(await checkCertificate(list, url, nodes))) continue;
    const alone: ClusterConfig = {
      ...list.config,
      cluster_api: cluster_api && { ...cluster_api, urls: [url] },
      cloud_api: undefined,
    };
    await using clients = await openClients(alone, context, list.recorder);
    // It needs no login: whether the API answers, under the right scheme.
    const isGood = await list.run('GET /health/', new URL(url).origin, nodes, async () => {
      await clients.cluster?.http.send({ ...HEALTH, method: 'GET', stats: list.stats });
      return list.describeLast(HEALTH.endpoint);
    });
    isReachable ||= isGood;
  }
  return isReachable;
}

/** Checks the certificate behind an https URL, or says that a proxy is between; false when it fails. */
async function checkCertificate(list: Checklist, text: string, operation: Operation) {
  const url = new URL(text);
  const { proxy } = list.config;
  const isHttps = url.protocol === 'https:';
  if ((isHttps ? proxy.https : proxy.http) !== undefined && !isLoopback(text)) {
    const variables = isHttps ? 'https_proxy or all_proxy' : 'http_proxy or all_proxy';
    const detail = `requests go through the proxy of ${variables}, unless no_proxy names the host`;
    list.add('proxy', { verdict: 'skipped', detail }, url.origin);
    return true;
  }
  if (!isHttps) return true;
  const tls = operation.api === 'cluster' ? list.config.cluster_api?.tls : undefined;
  const isUnverified = tls?.insecure_skip_verify ?? false;
  const files = tls === undefined ? {} : await readClientTls(tls);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const servername = tls?.server_name ?? (isIP(host) === 0 ? host : undefined);
  return await list.run('TLS', url.origin, operation, async () => {
    const socket = connect({
      ...files,
      host,
      port: Number(url.port) || 443,
      rejectUnauthorized: !isUnverified,
      minVersion: 'TLSv1.2',
      ...(servername !== undefined && { servername }),
    });
    const limit = AbortSignal.timeout(TLS_TIMEOUT_MS);
    try {
      await once(socket, 'secureConnect', { signal: AbortSignal.any([limit, list.stats.signal]) });
      return judgeCertificate(socket, isUnverified);
    } catch (error) {
      throw toRequestError(error, `TLS of ${url.host}`, { url: url.href });
    } finally {
      socket.destroy();
    }
  });
}

function judgeCertificate(socket: TLSSocket, isUnverified: boolean): Verdict {
  const certificate = socket.getPeerX509Certificate();
  const days = Math.floor(((certificate?.validToDate.getTime() ?? 0) - Date.now()) / DAY_MS);
  const names = certificate?.subjectAltName?.replaceAll(/DNS:|IP Address:/g, '') ?? 'no names';
  const detail = `${socket.getProtocol()}, certificate for ${names}, ${days} days left`;
  if (isUnverified) {
    const advice = 'set tls.ca_file and remove tls.insecure_skip_verify';
    return { verdict: 'warning', detail: `${detail}, not verified`, advice };
  }
  if (days >= EXPIRES_SOON_DAYS) return { verdict: 'ok', detail };
  const advice = 'renew the certificate of the node with `cockroach cert create-node`';
  return { verdict: 'warning', detail, advice };
}

/** Prints all results; resolves to the exit code. */
async function report(
  lists: readonly Checklist[],
  output: string,
  links: FindingSettings['links'],
): Promise<number> {
  const clusters = lists.map(({ config, results }) => ({
    cluster: config.name,
    findings: results.map((result) => {
      return { ...result, runbook: result.alert && runbookUrl(result.alert, links) };
    }),
  }));
  const text =
    output === 'json' ? formatJson({ clusters }, 2) : clusters.map(drawReport).join('\n');
  await writeOut(`${text}\n`);
  const isFailed = lists.some(({ results }) => results.some(({ verdict }) => verdict === 'failed'));
  return isFailed ? EXIT.failed : EXIT.ok;
}

interface ClusterReport {
  readonly cluster: string;
  readonly findings: readonly (CheckResult & { readonly runbook: string | undefined })[];
}

function drawReport({ cluster, findings }: ClusterReport): string {
  const longest = Math.max(0, ...findings.map(({ check }) => check.length));
  const width = Math.min(MAX_NAME_WIDTH, longest);
  const lines = [paint('bold', `Cluster ${cluster}`)];
  for (const [target, results] of Map.groupBy(findings, (result) => result.target)) {
    lines.push(`  ${target}`);
    for (const { check, verdict, detail, advice, alert, runbook } of results) {
      const [mark, style] = MARKS[verdict];
      lines.push(`    ${paint(style, mark)} ${formatLine(`${check.padEnd(width)}  ${detail}`)}`);
      if (advice !== undefined) lines.push(`      ${paint('bold', '→')} ${formatLine(advice)}`);
      if (alert !== undefined) lines.push(`        see ${runbook ?? alert}`);
    }
  }
  const count = (wanted: string): number =>
    findings.filter(({ verdict }) => verdict === wanted).length;
  const summary = `${count('ok')} ok, ${count('warning')} warnings, ${count('failed')} failed`;
  return [...lines, '', summary].join('\n');
}
