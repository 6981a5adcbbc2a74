import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { TLSSocket } from 'node:tls';
import { type Command, Option } from 'commander';
import { completeLinks, type FindingSettings, type Thresholds } from '#alerts';
import { formatJson, formatLine } from '#base';
import {
  API_PATH,
  type ClusterApi,
  ClusterIdentity,
  findServerFault,
  type HttpClient,
  nodeIdentity,
  PAGE_LIMIT,
} from '#cockroach';
import { cloud, nodes } from '#collectors';
import { type ClusterConfig, isLoopback } from '#config';
import type { Infer } from '#json';
import { renewalLimits, runbookUrl } from '#status';
import { chooseCluster, openClients } from '../cluster-target.ts';
import { addExamples, type CommandContext, EXIT, usageError } from '../command.ts';
import { Checklist, type CheckResult, ok, type Verdict } from '../diagnose-checklist.ts';
import { checkClusterApi, HEALTH } from '../diagnose-cluster-api.ts';
import { note, writeOut } from '../output/standard-output.ts';
import { paint, type Style } from '../output/table.ts';
import { runCancellable } from '../process/signals.ts';
import { ReportRecorder } from '../report/write-report.ts';
import { addClusterOptions, type ClusterFlags, loadCommandConfig } from '../schema-flags.ts';

const MARKS: Readonly<Record<Verdict['verdict'], readonly [mark: string, style: Style]>> = {
  ok: ['✓', 'green'],
  warning: ['!', 'yellow'],
  failed: ['✗', 'red'],
  skipped: ['-', 'dim'],
};

/** Where undici publishes each connection that it opens. */
const CONNECTED = 'undici:client:connected';
const DAY_MS = 86_400_000;

/** The names of checks are aligned up to this width. */
const NAME_WIDTH = 28;

/** `diagnose`: every step from the configuration to the metrics, and how to fix those that fail. */
export function define(command: Command, context: CommandContext): void {
  command.addOption(
    new Option('-o, --output <format>', 'Checklist for people, or JSON for programs.')
      .choices(['table', 'json'])
      .default('table'),
  );
  command.option('--scan', 'Read the ranges of all nodes, not only of the smallest one.');
  command.option(
    '--report <file>',
    'Also write what a maintainer needs to know of this server: JSON that is safe to publish.',
  );
  addClusterOptions(command);
  addExamples(
    command,
    'diagnose --config.file=exporter.yml',
    'diagnose --config.file=exporter.yml --cluster prod --scan',
    'diagnose --config.file=exporter.yml --output json',
    'diagnose --config.file=exporter.yml --cluster prod --report report.json',
  );
  command.action(async ({ cluster, verbose, ...flags }: Flags) => {
    const config = await loadCommandConfig(command, context);
    const options = { ...flags, thresholds: config.thresholds };
    const isReport = options.report !== undefined;
    const isOne = cluster !== undefined || isReport;
    const clusters = isOne ? [chooseCluster(config, cluster)] : config.clusters;
    const exitCode = await runCancellable(async (signal) => {
      const lists = clusters.map(
        (each) => new Checklist(isReport ? withoutEncoding(each) : each, signal, verbose),
      );
      for (const list of lists) await checkAndReport(list, context, options);
      return report(lists, options.output, completeLinks(config));
    });
    context.setExitCode(exitCode);
  });
}

interface Options {
  readonly output: string;
  readonly scan?: true;
  readonly report?: string;
  readonly thresholds: Thresholds;
}

type Flags = ClusterFlags & Omit<Options, 'thresholds'>;

/** The configuration for a report: compressed bodies and messages could not be looked at. */
function withoutEncoding({ cluster_api, ...config }: ClusterConfig): ClusterConfig {
  if (cluster_api === undefined) {
    throw usageError(`the cluster ${config.name} has no cluster_api: --report is about that`);
  }
  return { ...config, cluster_api: { ...cluster_api, compression: false, protobuf: false } };
}

/** Checks a cluster, and writes a report of its responses where one is wanted. */
async function checkAndReport(
  list: Checklist,
  context: CommandContext,
  options: Options,
): Promise<void> {
  const { report: file, scan } = options;
  if (file === undefined) return checkCluster(list, context, options);
  using recorder = new ReportRecorder(list.config.cluster_api?.urls ?? []);
  await checkCluster(list, context, options, recorder);
  await recorder.write(file, context.build.version, scan);
  note(`wrote the report ${file}: read it before you publish it`);
}

async function checkCluster(
  list: Checklist,
  context: CommandContext,
  options: Options,
  reportRecorder?: ReportRecorder,
): Promise<void> {
  const { config, recorder } = list;
  const { cluster_api, cloud_api } = config;
  let first: ClusterIdentity | undefined;
  let isReachable = false;
  for (const url of cluster_api?.urls ?? []) {
    // Each URL alone: with several, the clients would silently fail over to the next.
    const alone = { ...config, cluster_api: cluster_api && { ...cluster_api, urls: [url] } };
    await using clients = await openClients({ ...alone, cloud_api: undefined }, context, recorder);
    if (!clients.cluster || !(await checkUrl(list, url, clients.cluster.http, options.thresholds)))
      continue;
    isReachable = true;
    if (cluster_api?.urls.length === 1) continue;
    const identity = await checkIdentity(list, url, clients.cluster.api, first);
    first ??= identity;
  }
  await using clients = await openClients(config, context, recorder);
  if (clients.cluster !== undefined && isReachable) {
    await checkClusterApi(list, clients.cluster, options);
    await reportRecorder?.askMore(clients.cluster.api, list.signal);
  }
  if (clients.cloud === undefined || cloud_api === undefined) return;
  noteProxy(list, cloud_api.url);
  await list.poll(cloud, clients.cloud.api, ({ assistant }) =>
    ok(assistant === undefined ? 'there is none' : `${assistant.status}, ${assistant.health}`),
  );
}

/**
 * Checks whether a URL leads to the same cluster as the first one: ranges are read from all of them in turn. Returns the
 * identity of its cluster; undefined when it does not list the nodes.
 */
async function checkIdentity(
  list: Checklist,
  url: string,
  api: ClusterApi,
  first: ClusterIdentity | undefined,
): Promise<ClusterIdentity | undefined> {
  const identity = new ClusterIdentity();
  const { reason } = await list.run('same cluster', siteOf(url), nodes, async (stats) => {
    const onNode = (node: Infer<typeof nodeIdentity>): void => identity.add(node);
    await api.nodes(stats, { limit: PAGE_LIMIT, shape: nodeIdentity, onNode });
    if (first === undefined || !identity.isOtherThan(first)) return ok('');
    const detail = 'its nodes are those of another cluster than at the first URL';
    const advice = 'configure it as a cluster of its own: figures of both would be mixed';
    return { verdict: 'failed', detail, advice };
  });
  return reason === undefined ? identity : undefined;
}

/** `https://proxy/a` of `https://proxy/a/api/v2`: several URLs may have one host. */
function siteOf(url: string): string {
  return url.replace(API_PATH, '');
}

/** Whether the API answers at a URL without a login, under the right scheme, and what certificate it shows. */
async function checkUrl(
  list: Checklist,
  url: string,
  http: HttpClient,
  thresholds: Thresholds,
): Promise<boolean> {
  const site = siteOf(url);
  noteProxy(list, url);
  const isUnverified = list.config.cluster_api?.tls.insecure_skip_verify ?? false;
  let certificate: Verdict | undefined;
  const onConnected = (message: unknown): void => {
    if (typeof message !== 'object' || message === null || !('socket' in message)) return;
    const { socket } = message;
    if (socket instanceof TLSSocket)
      certificate = judgeCertificate(socket, isUnverified, thresholds);
  };
  subscribe(CONNECTED, onConnected);
  const { reason } = await list.run('GET /health/', site, nodes, async (stats) => {
    await http.send({ ...HEALTH, method: 'GET', stats });
    return ok('');
  });
  unsubscribe(CONNECTED, onConnected);
  if (certificate !== undefined) list.add('TLS', certificate, site);
  return reason === undefined;
}

/** Says that a proxy is between, which may be what fails. */
function noteProxy(list: Checklist, url: string): void {
  const { proxy } = list.config;
  const { protocol } = new URL(url);
  const isHttps = protocol === 'https:';
  if ((isHttps ? proxy.https : proxy.http) === undefined || isLoopback(url)) return;
  const variables = isHttps ? 'https_proxy or all_proxy' : 'http_proxy or all_proxy';
  const detail = `requests go through the proxy of ${variables}, unless no_proxy names the host`;
  list.add('proxy', { verdict: 'skipped', detail }, siteOf(url));
}

function judgeCertificate(
  socket: TLSSocket,
  isUnverified: boolean,
  thresholds: Thresholds,
): Verdict {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return { verdict: 'warning', detail: 'no certificate' };
  const { validFromDate, validToDate, subjectAltName } = certificate;
  const leftMs = validToDate.getTime() - Date.now();
  const names = subjectAltName?.replaceAll(/DNS:|IP Address:/g, '') ?? 'no names';
  const days = Math.floor(leftMs / DAY_MS);
  const detail = `${socket.getProtocol()}, certificate for ${names}, ${days} days left`;
  if (isUnverified) {
    const fault = findServerFault(certificate);
    const first = fault === undefined ? '' : `${fault}; then `;
    const advice = `${first}set tls.ca_file and remove tls.insecure_skip_verify`;
    return { verdict: 'warning', detail: `${detail}, not verified`, advice };
  }
  const life = (validToDate.getTime() - validFromDate.getTime()) / 1000;
  if (leftMs / 1000 >= renewalLimits('node', life, thresholds).warning) return ok(detail);
  const advice =
    'what renews the certificate has not (cert-manager, the self-signer of the chart): see why, or renew it with `cockroach cert create-node`';
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
  const lines = [paint('bold', `Cluster ${cluster}`)];
  for (const [target, results] of Map.groupBy(findings, (result) => result.target)) {
    lines.push(`  ${target}`);
    for (const { check, verdict, detail, advice, alert, runbook } of results) {
      const [mark, style] = MARKS[verdict];
      lines.push(
        `    ${paint(style, mark)} ${formatLine(`${check.padEnd(NAME_WIDTH)}  ${detail}`)}`,
      );
      if (advice !== undefined) lines.push(`      ${paint('bold', '→')} ${formatLine(advice)}`);
      if (alert !== undefined) lines.push(`        see ${runbook ?? alert}`);
    }
  }
  const count = (wanted: string): number =>
    findings.filter(({ verdict }) => verdict === wanted).length;
  const summary = `${count('ok')} ok, ${count('warning')} warnings, ${count('failed')} failed`;
  return [...lines, '', summary].join('\n');
}
