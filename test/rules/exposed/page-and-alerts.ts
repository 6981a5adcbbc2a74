import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Simulator, startSimulator } from '../../../simulator/index.ts';
import {
  formatCount,
  formatDuration,
  formatNumber,
  formatPercent,
} from '../../../src/base/format.ts';
import { SEVERITIES, type Severity } from '../../../src/base/vocabulary.ts';
import type { ClusterStatus, Finding, Status } from '../../../src/status/findings/status.ts';
import type { ParsedSample } from '../../metrics/parse-exposition.ts';
import { everyCollector } from '../../support/collectors.ts';
import { startTestExporter, type TestExporter, withCollectors } from '../../support/exporter.ts';
import { measureSlowness } from '../../support/slowness.ts';
import { readPairs } from '../cases.ts';
import { needsHistory } from '../history.ts';
import { run } from '../promtool.ts';
import { readRules, type Rule } from '../rule-set.ts';
import { SICK_CLUSTERS, type SickCluster } from './sick-clusters.ts';

/** Alerts that another one inhibits: the page has one finding for both. */
const INHIBITED: Readonly<Record<string, readonly string[]>> = {
  CrdbMultipleNodesDown: ['CrdbNodeDead', 'CrdbNodeUnavailable'],
  CrdbRangesUnavailable: ['CrdbRangesWithoutLease', 'CrdbRangeProblemPersistent'],
  CrdbClusterApiDown: ['CrdbDataStale', 'CrdbRangeScanIncomplete'],
};
/** Findings that do not give the value of their alert: it is always 1, or the limit says more. */
const WITHOUT_VALUE: readonly string[] = [
  'CrdbAccessRejected',
  'CrdbClusterApiDown',
  'CrdbDataStale',
  'CrdbExporterLimitHit',
  'CrdbIdleTransactions',
  'CrdbLicenseMissing',
  'CrdbMigrationAssistantFailing',
  'CrdbMultipleNodesDown',
  'CrdbNodeDead',
  'CrdbNodeRecordStale',
  'CrdbNodeStuckLeaving',
  'CrdbNodeUnavailable',
  'CrdbPartitionSuspected',
  'CrdbPurgatory',
  'CrdbQuorumAtRisk',
  'CrdbSessionsHidden',
  'CrdbTransactionTooOld',
];

/** Alerts without a history that the page of a cluster does not show, and why. */
export const NOT_ON_THE_PAGE: Readonly<Record<string, string>> = {
  CrdbWatchdog: 'it says that Prometheus and Alertmanager work',
  CrdbExporterDown: 'an exporter that is down has no page',
  CrdbExportersDisagree: 'it compares exporters',
  CrdbClusterNameShared: 'it counts exporters',
  CrdbShardsMissing: 'it counts exporters',
};

/** An alert whose condition holds in Prometheus. */
interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly value: number;
}

function nameOf({ labels }: Alert): string {
  return labels['alertname'] ?? '';
}

const RULES: readonly Rule[] = readRules().flatMap(({ rules }) => rules);
/** Alerts of which every rule needs a history. */
const NEED_HISTORY = new Set(
  Array.from(
    Map.groupBy(RULES, ({ alert = '' }) => alert),
    ([alert, rules]) => (rules.every(({ expr }) => needsHistory(expr)) ? alert : ''),
  ),
);

/** What Prometheus and the exporter say at one time. */
export interface Views {
  readonly alerts: readonly Alert[];
  readonly status: Status;
  /** The status pages by cluster. */
  readonly pages: ReadonlyMap<string, string>;
}

/** The worst severity of the rules whose conditions hold. */
function severityOf(alerts: readonly Alert[]): Severity | undefined {
  return SEVERITIES.find((one) => alerts.some(({ labels }) => labels['severity'] === one));
}

/** The worst severity that the page shows. */
function shownSeverity(findings: readonly Finding[]): Severity | undefined {
  return SEVERITIES.find((one) => findings.some(({ level }) => level === one));
}

/** Labels whose values the text of a finding contains. */
const NAMED = ['store_id', 'application', 'user', 'collector', 'certificate', 'job_type'];

function contains(text: string, word: string): boolean {
  const escaped = word.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(String.raw`(?<![\w.])${escaped}(?!\w)`).test(text);
}

/** What the findings of an alert do not say of it. */
function omissions(alerts: readonly Alert[], findings: readonly Finding[]): readonly string[] {
  const text = findings.map((finding) => `${finding.text} ${finding.key}`).join(' ');
  const labelled = alerts.flatMap(({ labels }) =>
    NAMED.flatMap((label) => {
      const value = labels[label];
      return value === undefined || contains(text, value) ? [] : [`${label} ${value}`];
    }),
  );
  const valuesOf = (label: string) => new Set(alerts.flatMap(({ labels }) => labels[label] ?? []));
  const nodes = valuesOf('node_id');
  const named = new Set(findings.flatMap(({ nodeIds = [] }) => nodeIds.map(String)));
  const areOthers = nodes.size > 0 && nodes.symmetricDifference(named).size > 0;
  const others = areOthers ? [`nodes ${[...nodes].join()}, not ${[...named].join()}`] : [];
  const values = alerts.map(({ value }) => Math.abs(value));
  const isValueShown = values.some((value) =>
    [formatCount, formatDuration, formatNumber, formatPercent].some((format) =>
      contains(text, format(value)),
    ),
  );
  const needsValue =
    alerts.every((alert) => !WITHOUT_VALUE.includes(nameOf(alert))) && !/expired/.test(text);
  const missing = needsValue && !isValueShown ? [`value ${values.join()}`] : [];
  return [...labelled, ...others, ...missing];
}

/** Where page and Prometheus disagree on a cluster. */
export function disagreements(sick: SickCluster, views: Views): readonly string[] {
  const { name, alerts: expected } = sick;
  // On a slow machine polls every few seconds are late.
  const ignored = new Set([
    ...Object.keys(NOT_ON_THE_PAGE),
    ...(isBusy(sick) ? ['CrdbDataStale'] : []),
  ]);
  // The alert on the clock of the exporter has no cluster; one cluster shows it.
  const own = views.alerts.filter(({ labels }) => (labels['crdb_cluster'] ?? 'past') === name);
  const told = Map.groupBy(
    own.filter((alert) => !ignored.has(nameOf(alert))),
    nameOf,
  );
  const { findings } = clusterOf(name, views);
  const shown = Map.groupBy(
    findings.filter(({ alert }) => alert !== undefined),
    ({ alert }) => String(alert),
  );
  const inhibited = [...shown.keys()].flatMap((alert) => INHIBITED[alert] ?? []);
  const absent = expected.filter((one) => {
    const [alert = '', severity] = one.split(' ');
    return (told.get(alert) ?? []).every(({ labels }) => labels['severity'] !== severity);
  });
  const names = new Set([...told.keys(), ...shown.keys()]);
  const different = [...names].flatMap((alert) => {
    const [alerts = [], ofPage = []] = [told.get(alert), shown.get(alert)];
    if (ofPage.length === 0 && inhibited.includes(alert)) return [];
    // At one time the conditions of those that need a history do not hold yet, or have no finding.
    if (NEED_HISTORY.has(alert) && !expected.some((one) => one.startsWith(`${alert} `))) return [];
    const [severity, page] = [severityOf(alerts), shownSeverity(ofPage)];
    if (severity === undefined || page === undefined)
      return [`${alert}: ${severity ?? 'no alert'}, ${page ?? 'no finding'}`];
    return [
      ...(severity === page ? [] : [`${alert}: ${severity}, on the page ${page}`]),
      ...omissions(alerts, ofPage).map((omission) => `${alert}: without ${omission}`),
    ];
  });
  return [...absent.map((alert) => `no alert ${alert}`), ...different];
}

export function clusterOf(name: string, { status }: Pick<Views, 'status'>): ClusterStatus {
  const found = status.clusters.find((cluster) => cluster.name === name);
  if (found === undefined) throw new Error(`no cluster ${name}`);
  return found;
}

/** Clusters that are polled again and again; one poll is enough for the others. */
function isBusy({ later, name }: SickCluster): boolean {
  return later !== undefined || name === 'hidden';
}

/** On a machine that does other work a poll takes longer, too. */
const BUSY_SECONDS = Math.ceil(4 * measureSlowness());
const CALM_SECONDS = 600;

function configure(simulators: ReadonlyMap<SickCluster, Simulator>): string {
  const clusters = Array.from(simulators, ([{ name, collectors = {} }, simulator]) => {
    const { clusterUrls: urls, username, password } = simulator;
    const { cloudUrl: url, cloudClusterId: cluster_id, cloudToken: token } = simulator;
    const cloud_api = { url, cluster_id, token };
    return { name, cluster_api: { urls, username, password }, cloud_api, collectors };
  });
  return `${everyCollector({})}clusters: ${JSON.stringify(clusters)}\n`;
}

async function startSick({ change, options }: SickCluster): Promise<Simulator> {
  const simulator = await startSimulator({
    scenario: 'calm',
    nodes: 4,
    ranges: 60,
    sessions: 12,
    storesPerNode: 1,
    metricKeys: 'useful',
    quirks: { systemRangesLost: 'works', cloudRateLimit: false },
    ...options,
  });
  change?.(simulator.world, simulator);
  return simulator;
}

/** What an exporter shows and exposes of some clusters. */
interface Shown extends Omit<Views, 'alerts'> {
  readonly series: readonly Series[];
}

/** A series at the time 0 of promtool, which is that of the status. */
interface Series {
  readonly series: string;
  readonly values: string;
}

/** Small enough that an exporter serves them quickly on a slow machine. */
const BATCH = 5;

/** Serves all clusters, looks as soon as the page shows each alert that must hold, and evaluates the rules on what was exposed. */
export async function watchSickClusters(): Promise<Views> {
  const [busy, calm] = [SICK_CLUSTERS.filter(isBusy), SICK_CLUSTERS.filter((one) => !isBusy(one))];
  const ordered = [...busy, ...calm];
  const batches = Array.from({ length: Math.ceil(ordered.length / BATCH) }, (_, at) =>
    ordered.slice(at * BATCH, (at + 1) * BATCH),
  );
  const shown: Shown[] = [];
  for (const [at, batch] of batches.entries()) shown.push(await watch(batch, `exporter-${at}`));
  const [first] = shown;
  if (first === undefined) throw new Error('no cluster');
  return {
    status: { ...first.status, clusters: shown.flatMap(({ status }) => status.clusters) },
    pages: new Map(shown.flatMap(({ pages }) => [...pages])),
    alerts: await evaluate(shown.map(({ series }) => series)),
  };
}

async function watch(clusters: readonly SickCluster[], instance: string): Promise<Shown> {
  await using stack = new AsyncDisposableStack();
  const simulators = new Map<SickCluster, Simulator>();
  for (const cluster of clusters) simulators.set(cluster, stack.use(await startSick(cluster)));
  const exporter = stack.use(
    await startTestExporter({
      yaml: configure(simulators),
      intervalSeconds: CALM_SECONDS,
      adapt: (config) =>
        clusters
          .filter(isBusy)
          .reduce(
            (changed, { name }) =>
              withCollectors(changed, (one) => ({ ...one, interval: BUSY_SECONDS }), name),
            config,
          ),
    }),
  );
  await waitUntil(exporter, ({ collectors }) => collectors.waiting === 0);
  for (const [{ later }, simulator] of simulators) later?.(simulator.world, simulator);
  await waitUntil(exporter, (status) =>
    clusters.every(({ name, alerts }) => {
      const { findings } = clusterOf(name, { status });
      const isShown = (alert: string) => findings.some((one) => alert.startsWith(`${one.alert} `));
      return alerts.every(isShown);
    }),
  );
  let shown: Shown | undefined;
  // What a poll changes between two reads they show differently.
  await waitUntil(exporter, async (status) => {
    const { samples } = await exporter.scrape();
    const pages = new Map<string, string>();
    for (const { name } of clusters)
      pages.set(name, (await exporter.get(`/?cluster=${name}`, { accept: 'text/html' })).text);
    shown = { status, pages, series: describeSeries(samples, instance, Date.parse(status.at)) };
    return pollsOf(status) === pollsOf(await readStatus(exporter));
  });
  if (shown === undefined) throw new Error('nothing was read');
  return shown;
}

async function readStatus(exporter: TestExporter): Promise<Status> {
  return JSON.parse((await exporter.get('/api/status')).text);
}

/** The last polls of all collectors. */
function pollsOf({ clusters }: Status): string {
  return JSON.stringify(
    clusters.map(({ collectors }) =>
      collectors.map(({ state, lastSuccessAt, nextPollAt }) => [state, lastSuccessAt, nextPollAt]),
    ),
  );
}

const PAUSE_MS = 1_000;
/** A machine that does other work needs many times as long as an idle one. */
const PATIENCE_MS = 120_000;

/** Waits until it is so, for PATIENCE_MS at most. */
async function waitUntil(
  exporter: TestExporter,
  isReady: (status: Status) => boolean | Promise<boolean>,
): Promise<void> {
  const latestMs = performance.now() + PATIENCE_MS;
  while (performance.now() < latestMs) {
    if (await isReady(await readStatus(exporter))) return;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** The rules without waiting, so that all alerts whose condition holds fire, with their values. */
const GROUPS = readRules().map(({ name, rules }) => ({
  name,
  rules: rules.map(({ for: _wait, keep_firing_for: _keep, annotations, ...rule }) => ({
    ...rule,
    ...(annotations && { annotations: { ...annotations, value: '{{ $value }}' } }),
  })),
}));
const READ = JSON.stringify(GROUPS);

function describeSeries(
  samples: readonly ParsedSample[],
  instance: string,
  nowMs: number,
): readonly Series[] {
  const target = { job: 'crdb-exporter', instance };
  const read = samples.filter(({ name }) => READ.includes(name));
  const exposed = read.map(({ name, labels, value }) => {
    const shown = name.endsWith('_timestamp_seconds') ? value - nowMs / 1000 : value;
    return { series: writeSeries(name, { ...labels, ...target }), values: String(shown) };
  });
  return [{ series: writeSeries('up', target), values: '1' }, ...exposed];
}

/** The alerts whose conditions hold for the series of each exporter. */
async function evaluate(exposed: readonly (readonly Series[])[]): Promise<readonly Alert[]> {
  const names = new Set(RULES.flatMap(({ alert }) => alert ?? []));
  // One case for all would take twice as long: promtool 3.5 and older joins the series of a case one by one into one text.
  const tests = exposed.map((input_series) => ({
    interval: '1m',
    input_series,
    // Nothing is expected: promtool prints what it got.
    alert_rule_test: Array.from(names, (alertname) => ({ alertname, eval_time: '0m' })),
  }));
  const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-page-'));
  try {
    await writeFile(path.join(folder, 'rules.yml'), JSON.stringify({ groups: GROUPS }));
    const group_eval_order = GROUPS.map(({ name }) => name);
    const file = path.join(folder, 'tests.yml');
    const written = { rule_files: ['rules.yml'], evaluation_interval: '1m', group_eval_order };
    await writeFile(file, JSON.stringify({ ...written, tests }));
    const { text } = await run('promtool', ['test', 'rules', file]);
    return readAlerts(text);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function writeSeries(name: string, labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(text)}`);
  return `${name}{${pairs.join(',')}}`;
}

/** The alerts that promtool prints: `Labels:{alertname="…"}` and `Annotations:{summary="…"}`. */
function readAlerts(printed: string): readonly Alert[] {
  const found = printed.matchAll(/Labels:(\{.*\})\n\s*Annotations:(\{.*\})/g);
  return Array.from(found, ([, labels = '', texts = '']) => {
    const { value = '', ...annotations } = readPairs(texts);
    return { labels: readPairs(labels), annotations, value: Number(value) };
  });
}
