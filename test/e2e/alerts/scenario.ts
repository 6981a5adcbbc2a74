import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startSimulator, type Simulator } from '../../../simulator/index.ts';
import type { Config } from '../../../src/config/keys-and-flags.ts';
import { everyCollector } from '../../support/collectors.ts';
import { clusterYaml, startTestExporter } from '../../support/exporter.ts';
import { eventually, type Prometheus, startPrometheus } from '../../support/prometheus.ts';
import { measureLastingSlowness } from '../../support/slowness.ts';
import { type AlertNotification, startAlertmanager, startReceiver } from './alertmanager.ts';
import { scaledAlertmanager, scaledRules } from './scaling.ts';

/** How many times faster than normal rules and simulated clusters run, on a machine that does nothing else. */
const FACTOR = 60;
/** Real duration of the five minutes of the scenario there; before and afterwards the clusters' time passes at normal speed. */
const SCENARIO_SECONDS = 90;
/** The programs need a quarter of a processor at most: a machine that is four times slower than an idle one runs them at full pace. */
const SLOWNESS_AT_FULL_PACE = 4;
/** With more the scenario would take too long. */
const MAX_PACE = 8;
const CYCLE_SECONDS = 300;
/** After the scenario, for alerts to be resolved. */
const RESOLVE_SECONDS = 25;
/** Minutes of the scenario: those of the incident that change within it, and all others. */
const POLL_SECONDS = { quick: 1, others: 3, calm: 2 };
const QUICK = ['nodes', 'ranges', 'sessions', 'network'];
/** Data can only be older than this when the machine stalled. */
const STALL_SECONDS = 5;
/** Data must not disappear on a machine that is briefly busy. */
const MAX_AGE_SECONDS = 10;
const SIZES = { incident: { nodes: 5, ranges: 100 }, calm: { nodes: 3, ranges: 40 } };
/** All sessions of the calm cluster are idle: the fast clock would age a transaction while the machine stalls. */
const QUIET_SEED = 9;
const QUIET_SESSIONS = 4;

export interface ScenarioRun extends AsyncDisposable {
  readonly prometheus: Prometheus;
  readonly notifications: readonly AlertNotification[];
  /** Unix seconds. */
  readonly startedAt: number;
  /** How many times longer than on an idle machine everything took: 1, 2 …; an hour of the scenario is a minute then, or two … */
  readonly pace: number;
}

/** A clock that runs fast through one scenario; before and afterwards at normal speed, as a server's never stands still. */
class ScenarioClock {
  readonly #pace: number;
  #startedMs = Number.POSITIVE_INFINITY;

  constructor(pace: number) {
    this.#pace = pace;
  }

  start(): void {
    this.#startedMs = Date.now();
  }

  now(): number {
    const nowMs = Date.now();
    const fastMs = Math.min(Math.max(0, nowMs - this.#startedMs), this.#lastsMs());
    return nowMs + fastMs * (FACTOR / this.#pace - 1);
  }

  secondsAfterEnd(): number {
    return (Date.now() - this.#startedMs - this.#lastsMs()) / 1000;
  }

  #lastsMs(): number {
    return SCENARIO_SECONDS * this.#pace * 1000;
  }
}

/**
 * Runs an incident and a calm cluster in one exporter, monitored by Prometheus and Alertmanager, until all alerts are
 * resolved: the slower the machine, the slower the scenario. Runs again, at half the speed, when the machine stalled for this long
 * that Prometheus missed data.
 */
export async function runScenario(): Promise<ScenarioRun> {
  const pace = Math.min(
    MAX_PACE,
    Math.ceil((await measureLastingSlowness()) / SLOWNESS_AT_FULL_PACE),
  );
  const run = await runOnce(pace);
  const missed = await run.prometheus.query(
    `min_over_time(up[1h]) == 0 or max_over_time(crdb_cluster_collector_shard:data_age_seconds:min[1h]) > ${STALL_SECONDS * pace}`,
  );
  if (missed.length === 0) return run;
  await run[Symbol.asyncDispose]();
  return runOnce(2 * pace);
}

async function runOnce(pace: number): Promise<ScenarioRun> {
  const factor = FACTOR / pace;
  const resources = new AsyncDisposableStack();
  try {
    const clock = new ScenarioClock(pace);
    const receiver = resources.use(await startReceiver());
    const alertmanager = resources.use(
      await startAlertmanager(scaledAlertmanager(factor, receiver.url)),
    );
    const incident = resources.use(await simulate('incident', clock));
    const calm = resources.use(await simulate('calm', clock));
    const yaml = exporterConfig(incident, calm);
    const exporter = resources.use(
      await startTestExporter({
        yaml,
        intervalSeconds: pace,
        adapt: (config) => keepData(config, pace),
      }),
    );
    await exporter.until((scrape) => scrape.all('crdb_ranges').length === 2);
    const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-scenario-'));
    resources.defer(() => rm(folder, { recursive: true }));
    const rules = path.join(folder, 'rules.yml');
    await writeFile(rules, 'groups: []');
    const prometheus = resources.use(
      await startPrometheus(
        prometheusConfig({ rules, alertmanager: alertmanager.host, exporter: exporter.url, pace }),
      ),
    );
    await loadRules(prometheus, rules, scaledRules(factor));
    const startedAt = Date.now() / 1000;
    clock.start();
    await untilResolved({
      prometheus,
      alertmanager: alertmanager.host,
      notifications: receiver.notifications,
      clock,
      resolveSeconds: RESOLVE_SECONDS * pace,
    });
    return {
      prometheus,
      notifications: receiver.notifications,
      startedAt,
      pace,
      [Symbol.asyncDispose]: () => resources.disposeAsync(),
    };
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
}

/** Loads the rules once there is data: the seconds until the first scrape are minutes to the scaled rules. */
async function loadRules(prometheus: Prometheus, file: string, text: string): Promise<void> {
  await eventually(async () => (await prometheus.query('crdb_up'))[0]);
  await writeFile(file, text);
  prometheus.reload();
  await eventually(async () => (await prometheus.query('crdb_cluster_reason:crdb_health:code'))[0]);
}

function keepData(config: Config, pace: number): Config {
  const max_age = MAX_AGE_SECONDS * pace;
  const { quick, others, calm } = POLL_SECONDS;
  return {
    ...config,
    clusters: config.clusters.map((cluster) => {
      const intervalOf = (name: string): number =>
        cluster.name === 'calm' ? calm : QUICK.includes(name) ? quick : others;
      const collectors = Object.entries(cluster.collectors).map(([name, collector]) => [
        name,
        { ...collector, max_age, interval: intervalOf(name) * pace },
      ]);
      return { ...cluster, collectors: Object.fromEntries(collectors) };
    }),
  };
}

function simulate(scenario: 'incident' | 'calm', clock: ScenarioClock): Promise<Simulator> {
  return startSimulator({
    scenario,
    seed: QUIET_SEED,
    ...SIZES[scenario],
    sessions: QUIET_SESSIONS,
    metricKeys: 'useful',
    now: () => clock.now(),
    timeScale: CYCLE_SECONDS / SCENARIO_SECONDS / FACTOR,
  });
}

function exporterConfig(incident: Simulator, calm: Simulator): string {
  const cloud = `    cloud_api: { url: "${incident.cloudUrl}", cluster_id: ${incident.cloudClusterId}, token: ${incident.cloudToken} }\n`;
  const collectors = everyCollector({
    nodes: { metrics: ['sys.uptime', 'capacity'] },
    tables: { tables: ['movr.public.rides', 'movr.public.users', 'movr.public.vehicles'] },
  });
  return `${collectors}clusters:
${clusterYaml(incident, { name: 'incident' })}${cloud}${clusterYaml(calm, { name: 'calm' })}`;
}

/** The exporter is scraped twice, like an HA pair: no value may count twice. */
function prometheusConfig({
  rules,
  alertmanager,
  exporter,
  pace,
}: Readonly<Record<'rules' | 'alertmanager' | 'exporter', string>> & {
  readonly pace: number;
}): string {
  const { port } = new URL(exporter);
  return `
global: { scrape_interval: ${2 * pace}s, scrape_timeout: ${2 * pace}s, evaluation_interval: ${pace}s }
rule_files: ["${rules}"]
alerting: { alertmanagers: [{ static_configs: [{ targets: ["${alertmanager}"] }] }] }
scrape_configs:
  - job_name: crdb-exporter
    static_configs: [{ targets: ["127.0.0.1:${port}", "localhost:${port}"] }]
`;
}

interface Monitoring {
  readonly prometheus: Prometheus;
  readonly alertmanager: string;
  readonly notifications: readonly AlertNotification[];
  readonly clock: ScenarioClock;
  readonly resolveSeconds: number;
}

/** Waits for the end of the scenario and until all alerts are resolved, for a limited time. */
async function untilResolved({
  prometheus,
  alertmanager,
  notifications,
  clock,
  resolveSeconds,
}: Monitoring): Promise<void> {
  await eventually(async () => {
    const late = clock.secondsAfterEnd();
    if (late < 0) return undefined;
    if (late > resolveSeconds) return true;
    const firing = await prometheus.query('ALERTS{alertstate="firing",alertname!="CrdbWatchdog"}');
    const others = encodeURIComponent('alertname!="CrdbWatchdog"');
    const response = await fetch(`http://${alertmanager}/api/v2/alerts?filter=${others}`);
    const known: readonly unknown[] = JSON.parse(await response.text());
    const isResolved = firing.length + known.length + openPages(notifications).length === 0;
    return isResolved ? true : undefined;
  }, Infinity);
}

/** Pages whose last notification is firing. */
export function openPages(notifications: readonly AlertNotification[]): readonly string[] {
  const pages = notifications.filter(({ receiver }) => receiver === 'page');
  const last = new Map(pages.map(({ labels, status }) => [JSON.stringify(labels), status]));
  return [...last].filter(([, status]) => status === 'firing').map(([labels]) => labels);
}
