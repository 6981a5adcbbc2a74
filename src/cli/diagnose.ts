import { type Command, Option } from 'commander';
import type { ClusterConfig, Config } from '../config/schema.ts';
import { startReading } from '../http/reading.ts';
import { createSelf } from '../metrics/self.ts';
import { addExamples, type Invocation } from './command.ts';
import { checkCloud } from './diagnose/cloud.ts';
import type { Asked } from './diagnose/asked.ts';
import { type Finding, findingOf } from './diagnose/finding.ts';
import { checkRanges, checkSessions, checkTables, checkUsers } from './diagnose/listings.ts';
import { estimateScan, estimateSeries } from './diagnose/load.ts';
import { checkNodes } from './diagnose/nodes.ts';
import { printReport, type Report } from './diagnose/print.ts';
import { checkWay } from './diagnose/reach.ts';
import { createRecorder } from './diagnose/recorder.ts';
import { type Ending, watchForEnding } from './ending.ts';
import { EXIT } from './exit.ts';
import { addTargetOptions, chooseCluster, loadFor, logOut, openApis } from './target.ts';

interface Options {
  readonly cluster?: string;
  readonly output: 'table' | 'json';
}

/** `diagnose`: every step on the way to good metrics, and how to mend those that fail. */
export function define(command: Command, invocation: Invocation): void {
  command.addOption(
    new Option('--output <format>', 'A checklist, or the same for programs.')
      .choices(['table', 'json'])
      .default('table'),
  );
  addTargetOptions(command);
  addExamples(
    command,
    'diagnose --config.file=exporter.yml',
    'diagnose --config.file=exporter.yml --cluster prod --output json',
  );
  command.action(async (options: Options) => {
    const config = await loadFor(command, invocation);
    const { cluster } = options;
    const clusters = cluster === undefined ? config.clusters : [chooseCluster(config, cluster)];
    invocation.done(await diagnose({ ...config, clusters }, options, invocation));
  });
}

async function diagnose(config: Config, options: Options, invocation: Invocation): Promise<number> {
  using ending = watchForEnding();
  const reports: Report[] = [];
  for (const cluster of config.clusters) {
    const findings: Finding[] = [];
    try {
      await examine(cluster, { config, invocation, ending, findings });
    } catch (error) {
      if (!ending.signal.aborted) throw error;
    }
    const exitCode = ending.exitCode();
    if (exitCode !== undefined) return exitCode;
    reports.push({ cluster: cluster.name, findings });
  }
  await printReport(reports, options.output);
  const isBad = reports.some(({ findings }) =>
    findings.some(({ verdict }) => verdict === 'failed'),
  );
  return isBad ? EXIT.failed : EXIT.good;
}

interface Examination {
  readonly config: Config;
  readonly invocation: Invocation;
  readonly ending: Ending;
  readonly findings: Finding[];
}

async function examine(config: ClusterConfig, examination: Examination): Promise<void> {
  const { invocation, ending, findings } = examination;
  const recorder = createRecorder(createSelf(invocation.build).cluster(config.name));
  const reading = startReading(ending.signal);
  await using apis = await openApis(config, invocation, recorder.self);
  try {
    if (apis.cluster !== undefined) {
      const isReached = await checkUrls(config, examination);
      const { api } = apis.cluster;
      if (isReached)
        await examineCluster({ api, config, reading, recorder, findings }, examination);
    }
    if (apis.cloud !== undefined && config.cloud_api !== undefined) {
      const way = await checkWay(config.cloud_api.url, { ...config, cluster_api: undefined });
      findings.push(...way);
      if (way.some(({ verdict }) => verdict === 'failed')) return;
      findings.push(await checkCloud(apis.cloud.api, { config, reading, recorder }));
    }
  } finally {
    await logOut(apis);
  }
}

/** Each URL by itself, since the clients would silently go on with the next one; true when one is good. */
async function checkUrls(config: ClusterConfig, examination: Examination): Promise<boolean> {
  const { cluster_api } = config;
  let isReached = false;
  for (const url of cluster_api?.urls ?? []) {
    const way = [...(await checkWay(url, config))];
    if (way.every(({ verdict }) => verdict !== 'failed') && cluster_api !== undefined) {
      const alone = {
        ...config,
        cluster_api: { ...cluster_api, urls: [url] },
        cloud_api: undefined,
      };
      way.push(await checkAnswer(alone, url, examination));
    }
    examination.findings.push(...way);
    isReached ||= way.every(({ verdict }) => verdict !== 'failed');
  }
  return isReached;
}

/** GET /health/, which needs no login: whether it is the API that answers, under the right scheme. */
async function checkAnswer(
  config: ClusterConfig,
  url: string,
  { invocation, ending }: Examination,
): Promise<Finding> {
  const recorder = createRecorder(createSelf(invocation.build).cluster(config.name));
  await using apis = await openApis(config, invocation, recorder.self);
  const about = { check: 'GET /health/', target: new URL(url).origin };
  try {
    await apis.cluster?.http.send({
      endpoint: 'other',
      method: 'GET',
      path: '/health/',
      signal: ending.signal,
      onChunk: () => undefined,
    });
    return { ...about, verdict: 'ok', detail: recorder.describeLast('other') };
  } catch (error) {
    return findingOf(error, { ...about, operation: 'nodes', config });
  }
}

async function examineCluster(asked: Asked, { config }: Examination): Promise<void> {
  const known = await checkNodes(asked);
  if (known === undefined) return;
  const sample = await checkRanges(asked, known);
  await checkSessions(asked, known);
  await checkUsers(asked);
  await checkTables(asked);
  if (sample !== undefined && asked.config.collectors['ranges']?.enabled === true) {
    asked.findings.push(estimateScan(asked.config, known, sample));
  }
  if (known.nodes.length === 0) return;
  asked.findings.push(estimateSeries(asked.config, known, config.max_series));
}
