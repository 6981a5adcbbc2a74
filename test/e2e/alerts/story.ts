import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Config } from '../../../src/config/schema.ts';
import { startSimulator, type Simulator } from '../../../src/simulator/index.ts';
import { clusterYaml, startTestExporter, withCollectors } from '../../support/exporter.ts';
import { eventually, type Prometheus, startPrometheus } from '../../support/prometheus.ts';
import { type Notice, startAlertmanager, startReceiver } from './alertmanager.ts';
import { scaledAlertmanager, scaledRules } from './scaling.ts';

/** Rules and the simulated worlds run so many times faster than they would. */
const FACTOR = 60;
/** Real seconds that the five minutes of the story take; the worlds stand still before and afterwards. */
const STORY_SECONDS = 90;
const CYCLE_SECONDS = 300;
/** After the story, for what is left to be resolved. */
const PATIENCE_SECONDS = 25;
const POLL_SECONDS = 1;
/** Older data than this is no matter of polls, scrapes and evaluations. */
const STANDSTILL_SECONDS = 5;
/** A machine that is busy for a moment must not make data disappear. */
const MAX_AGE_SECONDS = 10;
/** All sessions of the calm world are idle: a transaction would be as old as the fast clock makes it while the machine pauses. */
const QUIET_SEED = 9;
const QUIET_SESSIONS = 4;

export interface Told extends AsyncDisposable {
  readonly prometheus: Prometheus;
  readonly notices: readonly Notice[];
  /** Unix seconds. */
  readonly startedAt: number;
}

/** A clock that waits, then runs fast through one story, then stands still. */
class StoryClock {
  readonly #wallMs = Date.now();
  #startedMs = Number.POSITIVE_INFINITY;

  start(): void {
    this.#startedMs = Date.now();
  }

  now(): number {
    const passedMs = Math.max(0, Date.now() - this.#startedMs);
    return this.#wallMs + Math.min(passedMs, STORY_SECONDS * 1000 - 1) * FACTOR;
  }

  secondsAfterEnd(): number {
    return (Date.now() - this.#startedMs) / 1000 - STORY_SECONDS;
  }
}

/**
 * An incident and a calm cluster in one exporter, watched by Prometheus and Alertmanager until all is over. Told once
 * more when the machine stood still for so long that Prometheus could not see what happened: that is another story.
 */
export async function tellStory(): Promise<Told> {
  const told = await tellOnce();
  const missed = await told.prometheus.query(
    `min_over_time(up[10m]) == 0 or max_over_time(crdb_cluster_collector_shard:data_age_seconds:min[10m]) > ${STANDSTILL_SECONDS}`,
  );
  if (missed.length === 0) return told;
  await told[Symbol.asyncDispose]();
  return tellOnce();
}

async function tellOnce(): Promise<Told> {
  const resources = new AsyncDisposableStack();
  try {
    const clock = new StoryClock();
    const receiver = resources.use(await startReceiver());
    const alertmanager = resources.use(
      await startAlertmanager(scaledAlertmanager(FACTOR, receiver.url)),
    );
    const incident = resources.use(await simulate('incident', clock));
    const calm = resources.use(await simulate('calm', clock));
    const yaml = exporterConfig(incident, calm);
    const exporter = resources.use(
      await startTestExporter({ yaml, intervalSeconds: POLL_SECONDS, adapt: keepData }),
    );
    await exporter.until((scrape) => scrape.all('crdb_ranges').length === 2);
    const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-story-'));
    resources.defer(() => rm(folder, { recursive: true }));
    const rules = path.join(folder, 'rules.yml');
    await writeFile(rules, 'groups: []');
    const prometheus = resources.use(
      await startPrometheus(prometheusConfig(rules, alertmanager.host, exporter.url)),
    );
    await loadRules(prometheus, rules);
    const startedAt = Date.now() / 1000;
    clock.start();
    await untilOver({
      prometheus,
      alertmanager: alertmanager.host,
      notices: receiver.notices,
      clock,
    });
    return {
      prometheus,
      notices: receiver.notices,
      startedAt,
      [Symbol.asyncDispose]: () => resources.disposeAsync(),
    };
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
}

/** Not before there is data: Prometheus takes some seconds to its first scrape, which rules take for minutes. */
async function loadRules(prometheus: Prometheus, file: string): Promise<void> {
  await eventually(async () => (await prometheus.query('crdb_up'))[0]);
  await writeFile(file, scaledRules(FACTOR));
  prometheus.reload();
  await eventually(async () => (await prometheus.query('crdb_cluster_reason:crdb_health:code'))[0]);
}

function keepData(config: Config): Config {
  return withCollectors(config, (collector) => ({ ...collector, max_age: MAX_AGE_SECONDS }));
}

function simulate(scenario: 'incident' | 'calm', clock: StoryClock): Promise<Simulator> {
  return startSimulator({
    scenario,
    seed: QUIET_SEED,
    nodes: 5,
    ranges: 100,
    sessions: QUIET_SESSIONS,
    metricKeys: 'useful',
    now: () => clock.now(),
    timeScale: CYCLE_SECONDS / STORY_SECONDS / FACTOR,
  });
}

function exporterConfig(incident: Simulator, calm: Simulator): string {
  const cloud = `    cloud_api: { url: "${incident.cloudUrl}", cluster_id: ${incident.cloudClusterId}, token: ${incident.cloudToken} }\n`;
  return `
collectors:
  users: { enabled: true }
  tables: { tables: [movr.public.rides, movr.public.users, movr.public.vehicles] }
clusters:
${clusterYaml(incident, { name: 'incident' })}${cloud}${clusterYaml(calm, { name: 'calm' })}`;
}

/** The exporter is scraped twice, as the two of an HA pair would be: nothing may count double. */
function prometheusConfig(rules: string, alertmanager: string, exporter: string): string {
  const { port } = new URL(exporter);
  return `
global: { scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 500ms }
rule_files: ["${rules}"]
alerting: { alertmanagers: [{ static_configs: [{ targets: ["${alertmanager}"] }] }] }
scrape_configs:
  - job_name: crdb-exporter
    static_configs: [{ targets: ["127.0.0.1:${port}", "localhost:${port}"] }]
`;
}

interface Watched {
  readonly prometheus: Prometheus;
  readonly alertmanager: string;
  readonly notices: readonly Notice[];
  readonly clock: StoryClock;
}

/** Until the story has been told and nothing is open any more, or too long after its end. */
async function untilOver({ prometheus, alertmanager, notices, clock }: Watched): Promise<void> {
  await eventually(async () => {
    const late = clock.secondsAfterEnd();
    if (late < 0) return undefined;
    if (late > PATIENCE_SECONDS) return true;
    const firing = await prometheus.query('ALERTS{alertstate="firing"}');
    const known: readonly unknown[] = JSON.parse(
      await (await fetch(`http://${alertmanager}/api/v2/alerts`)).text(),
    );
    const isOver = firing.length + known.length + openPages(notices).length === 0;
    return isOver ? true : undefined;
  });
}

/** What the pager must take for firing still. */
export function openPages(notices: readonly Notice[]): readonly string[] {
  const pages = notices.filter(({ receiver }) => receiver === 'page');
  const last = new Map(pages.map(({ labels, status }) => [JSON.stringify(labels), status]));
  return [...last].filter(([, status]) => status === 'firing').map(([labels]) => labels);
}
