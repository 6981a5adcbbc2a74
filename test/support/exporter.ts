import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLog } from '../../src/base/log.ts';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import type { CollectorConfig } from '../../src/config/collector-schema.ts';
import type { Config } from '../../src/config/keys-and-flags.ts';
import { loadConfig } from '../../src/config/load.ts';
import { Exporter } from '../../src/exporter/exporter.ts';
import { createStatus } from '../../src/status/status-routes.ts';
import { type ParsedSample, parseExposition } from '../metrics/parse-exposition.ts';
import { PLAIN_FORM } from '../status/command-form.ts';
import { attempts } from './attempts.ts';

type Labels = Readonly<Record<string, string>>;

/** The exporter under test, run in this process and asked through its socket. */
export interface TestExporter extends AsyncDisposable {
  readonly url: string;
  readonly app: Exporter;
  /** Everything logged so far, debug included. */
  log(): string;
  /** GET, by default of /metrics. */
  get(
    target?: string,
    headers?: Labels,
  ): Promise<{ status: number; text: string; headers: Headers }>;
  scrape(query?: string): Promise<Scrape>;
  /** Scrapes until `isThere` holds. A test ends by its own time limit before that of this wait, which frees what it has started. */
  until(isThere: (scrape: Scrape) => boolean): Promise<Scrape>;
  stop(): Promise<void>;
}

export interface Scrape {
  readonly samples: readonly ParsedSample[];
  /** All samples of a family (by sample name) whose labels include these. */
  all(name: string, labels?: Labels): readonly ParsedSample[];
  /** The value of the one sample with these labels; undefined when there is none. Throws on several. */
  value(name: string, labels?: Labels): number | undefined;
}

export interface TestExporterOptions {
  /** The configuration file's text; `web` and `log` are set by the harness. */
  readonly yaml: string;
  /**
   * In place of every collector's interval; may be below the second that the loader asks for. It does not shorten
   * max_age: on a busy machine, polls are late by more than an interval of milliseconds.
   */
  readonly intervalSeconds?: number;
  /** Last changes to what was loaded. */
  readonly adapt?: (config: Config) => Config;
  readonly app?: Partial<Parameters<typeof Exporter.start>[0]>;
}

const BUILD = { version: '0.0.0', revision: 'test', nodeVersion: 'v24.0.0', platform: 'linux/x64' };
const PAUSES = { firstMs: 20, longestMs: 300 };
const MAX_WAIT_MS = 300_000;
const MAX_AGE_SECONDS = 600;

export async function startTestExporter(options: TestExporterOptions): Promise<TestExporter> {
  const config = await readConfig(options);
  const lines: string[] = [];
  const log = createLog({
    level: 'debug',
    format: 'logfmt',
    destination: { write: (line: string) => lines.push(line) },
  });
  const app = await Exporter.start({
    config,
    collectors: COLLECTORS,
    build: BUILD,
    log,
    random: () => 0,
    companion: (daemon) => createStatus(daemon, log, PLAIN_FORM),
    ...options.app,
  });
  const [url = ''] = app.addresses;

  async function get(target = '/metrics', headers: Labels = {}) {
    // Nothing is compressed unless the test asks for it.
    const response = await fetch(url + target, {
      headers: { 'accept-encoding': 'identity', ...headers },
    });
    return { status: response.status, text: await response.text(), headers: response.headers };
  }

  async function scrape(query = ''): Promise<Scrape> {
    return readScrape((await get(`/metrics${query}`)).text);
  }

  return {
    url,
    app,
    log: () => lines.join(''),
    get,
    scrape,
    async until(isThere) {
      for await (const _ of attempts(MAX_WAIT_MS, PAUSES)) {
        const { text } = await get();
        if (isThere(glanceAt(text))) return readScrape(text);
      }
      throw new Error(`no scrape within ${MAX_WAIT_MS / 1000} s: ${isThere.toString()}`);
    },
    stop: () => app.stop(),
    [Symbol.asyncDispose]: () => app.stop(),
  };
}

/** Samples of one exposition, to be asked by name and labels. */
export function readScrape(text: string): Scrape {
  const samples = parseExposition(text);
  const byName = Map.groupBy(samples, ({ name }) => name);
  return scrapeOf(
    () => samples,
    (name) => byName.get(name) ?? [],
  );
}

/** The same, of which only what is asked for is parsed: a poll asks for a few of hundreds of samples. */
function glanceAt(text: string): Scrape {
  const lines = Map.groupBy(text.split('\n'), (line) => /^[^ {]*/.exec(line)?.[0]);
  return scrapeOf(
    () => parseExposition(text),
    (name) => parseExposition((lines.get(name) ?? []).map((line) => `${line}\n`).join('')),
  );
}

function scrapeOf(
  readAll: () => readonly ParsedSample[],
  read: (name: string) => readonly ParsedSample[],
): Scrape {
  const all = (name: string, labels: Labels = {}): readonly ParsedSample[] => {
    const wanted = Object.entries(labels);
    return read(name).filter((sample) =>
      wanted.every(([label, value]) => sample.labels[label] === value),
    );
  };
  return {
    get samples() {
      return readAll();
    },
    all,
    value(name, labels) {
      const found = all(name, labels);
      if (found.length > 1) throw new Error(`${name} ${JSON.stringify(labels)} is not one sample`);
      return found[0]?.value;
    },
  };
}

async function readConfig({ yaml, intervalSeconds, adapt }: TestExporterOptions): Promise<Config> {
  const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-'));
  try {
    const file = path.join(folder, 'exporter.yml');
    await writeFile(file, `web: { listen_address: ["127.0.0.1:0"] }\n${yaml}`);
    const { config } = await loadConfig({
      flags: { 'config.file': file },
      env: {},
      collectors: COLLECTORS,
    });
    const timed = intervalSeconds === undefined ? config : withInterval(config, intervalSeconds);
    return adapt === undefined ? timed : adapt(timed);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function withInterval(config: Config, intervalSeconds: number): Config {
  return withCollectors(config, (collector) => ({
    ...collector,
    interval: intervalSeconds,
    max_age: collector.max_age ?? MAX_AGE_SECONDS,
    max_duty: 1,
  }));
}

/** The configuration with every collector changed, of the named cluster alone where there is a name. */
export function withCollectors(
  config: Config,
  change: (collector: CollectorConfig) => CollectorConfig,
  clusterName?: string,
): Config {
  return {
    ...config,
    clusters: config.clusters.map((cluster) => {
      if (clusterName !== undefined && cluster.name !== clusterName) return cluster;
      const collectors = Object.entries(cluster.collectors);
      return {
        ...cluster,
        collectors: Object.fromEntries(collectors.map(([name, each]) => [name, change(each)])),
      };
    }),
  };
}

/** The YAML of one cluster that a simulator serves, with a login. */
export function clusterYaml(
  simulator: {
    readonly clusterUrls: readonly string[];
    readonly username: string;
    readonly password: string;
  },
  { name = 'sim', more = '' } = {},
): string {
  return `  - name: ${name}
    cluster_api: { urls: [${simulator.clusterUrls.map((url) => JSON.stringify(url)).join(', ')}], username: ${simulator.username}, password: ${simulator.password} ${more} }
`;
}
