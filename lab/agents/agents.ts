import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const HERE = import.meta.dirname;
const EXAMPLES = path.join(HERE, '../../config/agents');
/** Programs of Debian's newest release. */
const NEWEST = process.env['NEWEST_PROMETHEUS'] ?? '/usr/bin';
const run = promisify(execFile);
const MAX_BUFFER = 2 ** 28;

/** A program that scrapes, as the example of config/agents says. */
export interface Agent {
  readonly name: string;
  readonly version: string;
  /** The names of the series that arrive behind it, once for each. */
  receive(work: Work): Promise<readonly string[]>;
}

interface Work {
  /** Of the metrics. */
  readonly url: string;
  readonly folder: string;
}

/** The example of this name for another address and an interval of seconds, in the folder. */
async function writeExample(name: string, { url, folder }: Work, more: Replacements = {}) {
  const replacements = { 'crdb-exporter:10137': new URL(url).host, '30s': '3s', ...more };
  let example = await readFile(path.join(EXAMPLES, name), 'utf8');
  for (const [from, to] of Object.entries(replacements)) example = example.replaceAll(from, to);
  const file = path.join(folder, name);
  await writeFile(file, example);
  return file;
}

type Replacements = Readonly<Record<string, string>>;

/** Lets a server listen; returns its port. */
async function listen(server: http.Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** A port that was free a moment ago. */
async function findPort(): Promise<number> {
  const server = http.createServer();
  const port = await listen(server);
  server.close();
  return port;
}

function start(program: string, args: readonly string[]): AsyncDisposable {
  const child = spawn(program, args, { stdio: 'ignore' });
  const ended = once(child, 'close');
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** What a Collector sends; only members that are read. */
interface Otlp {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly OtlpMetric[] }[];
  }[];
}

interface OtlpMetric {
  readonly name: string;
  readonly gauge?: { readonly dataPoints: readonly unknown[] };
  readonly sum?: { readonly dataPoints: readonly unknown[] };
  readonly histogram?: {
    readonly dataPoints: readonly { readonly bucketCounts: readonly unknown[] }[];
  };
}

/** A histogram arrives as one point with all its buckets. */
function namesOf({ name, gauge, sum, histogram }: OtlpMetric): readonly string[] {
  const points = [...(gauge?.dataPoints ?? []), ...(sum?.dataPoints ?? [])];
  const parts = histogram?.dataPoints.flatMap(({ bucketCounts }) => [
    ...bucketCounts.map(() => `${name}_bucket`),
    `${name}_sum`,
    `${name}_count`,
  ]);
  return [...points.map(() => name), ...(parts ?? [])];
}

const collector: Agent = {
  name: 'opentelemetry-collector',
  version: '0.165.1',
  async receive(work) {
    const program = path.join(work.folder, 'otelcol');
    // Without the service discoveries, which take an hour to compile.
    await run('go', ['build', '-tags', 'remove_all_sd', '-o', program, '.'], {
      cwd: path.join(HERE, 'otelcol'),
    });
    const received: string[] = [];
    const server = http.createServer((request, response) => {
      void text(request).then((body) => {
        const { resourceMetrics }: Otlp = JSON.parse(body);
        const metrics = resourceMetrics.flatMap(({ scopeMetrics }) =>
          scopeMetrics.flatMap((scope) => scope.metrics),
        );
        if (received.length === 0) received.push(...metrics.flatMap(namesOf));
        response.setHeader('content-type', 'application/json').end('{}');
      });
    });
    const port = await listen(server);
    const file = await writeExample('opentelemetry-collector.yml', work, {
      'https://otel.example.com': `http://127.0.0.1:${port}`,
    });
    const more = {
      exporters: { otlphttp: { encoding: 'json', compression: 'none' } },
      service: { telemetry: { metrics: { level: 'none' } } },
    };
    {
      await using _collector = start(program, [
        `--config=${file}`,
        `--config=yaml:${JSON.stringify(more)}`,
      ]);
      await waitFor(async () => received.length > 0);
    }
    server.close();
    return received;
  },
};

async function waitFor(isThere: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 120; tries += 1) {
    if (await isThere().catch(() => false)) return;
    await sleep(1000);
  }
  throw new Error('nothing arrived within two minutes');
}

/** The series that arrive in a store behind a program that writes to it. */
async function receiveInStore(
  { folder }: Work,
  startAgent: (store: string) => Promise<AsyncDisposable>,
): Promise<readonly string[]> {
  const port = await findPort();
  const store = `http://127.0.0.1:${port}`;
  await using _store = start(path.join(NEWEST, 'victoria-metrics'), [
    `-httpListenAddr=127.0.0.1:${port}`,
    `-storageDataPath=${path.join(folder, `store-${port}`)}`,
  ]);
  await using _agent = await startAgent(store);
  const query = `${store}/api/v1/series?match[]={job="crdb-exporter",__name__!~"up|scrape_.*"}`;
  let names: readonly string[] = [];
  await waitFor(async () => {
    const { data }: Series = JSON.parse(await (await fetch(query)).text());
    const before = names.length;
    names = data.map(({ __name__ }) => __name__);
    return names.length > 0 && names.length === before;
  });
  return names;
}

interface Series {
  readonly data: readonly { readonly __name__: string }[];
}

const vmagent: Agent = {
  name: 'vmagent',
  version: 'of Debian',
  receive: async (work) =>
    receiveInStore(work, async (store) => {
      const file = await writeExample('vmagent.yml', work);
      return start(path.join(NEWEST, 'vmagent'), [
        `-promscrape.config=${file}`,
        `-remoteWrite.url=${store}/api/v1/write`,
        `-remoteWrite.tmpDataPath=${path.join(work.folder, 'vmagent')}`,
        `-httpListenAddr=127.0.0.1:${await findPort()}`,
      ]);
    }),
};

const prometheus: Agent = {
  name: 'prometheus-agent',
  version: 'of Debian',
  receive: async (work) =>
    receiveInStore(work, async (store) => {
      const file = await writeExample('prometheus-agent.yml', work, {
        'https://prometheus.example.com': store,
      });
      return start(path.join(NEWEST, 'prometheus'), [
        '--agent',
        `--config.file=${file}`,
        `--storage.agent.path=${path.join(work.folder, 'prometheus')}`,
        `--web.listen-address=127.0.0.1:${await findPort()}`,
      ]);
    }),
};

const telegraf: Agent = {
  name: 'telegraf',
  version: '1.37.2',
  async receive(work) {
    // Of its hundreds of plugins one.
    const env = { ...process.env, GOBIN: work.folder };
    const source = 'github.com/influxdata/telegraf/cmd/telegraf@v1.37.2';
    await run(
      'go',
      ['install', '-tags', 'custom,inputs.prometheus,outputs.file,parsers.prometheus', source],
      { env },
    );
    const file = await writeExample('telegraf.conf', work);
    const { stdout } = await run(path.join(work.folder, 'telegraf'), ['--config', file, '--test'], {
      maxBuffer: MAX_BUFFER,
    });
    // `> prometheus,le=1,node_id=1 crdb_x_bucket=3,crdb_x_sum=1 1764381600000000000`, with spaces and commas of values escaped.
    return stdout.split('\n').flatMap((line) => {
      const [, fields = ''] = /^> prometheus,(?:\\.|[^ ])* (.*) \d+$/.exec(line) ?? [];
      return Array.from(fields.matchAll(/(?:^|,)([a-z]\w*)=/g), ([, name = '']) => name);
    });
  },
};

const datadog: Agent = {
  name: 'datadog',
  version: 'datadog-checks-base 38.7.0',
  async receive(work) {
    const python = path.join(work.folder, 'python');
    await run('python3', ['-m', 'venv', python]);
    const needs =
      'binary cachetools cryptography jellyfish lazy-loader prometheus-client==0.26.0 pydantic python-dateutil pyyaml requests requests-toolbelt requests-unixsocket2 simplejson wrapt';
    await run(path.join(python, 'bin/pip'), [
      'install',
      '--quiet',
      'datadog-checks-base==38.7.0',
      ...needs.split(' '),
    ]);
    const file = path.join(EXAMPLES, 'datadog.yml');
    const { stdout } = await run(
      path.join(python, 'bin/python'),
      [path.join(HERE, 'datadog.py'), file, work.url],
      {
        maxBuffer: MAX_BUFFER,
      },
    );
    const names: readonly string[] = JSON.parse(stdout);
    return toPrometheus(names, await (await fetch(work.url)).text());
  },
};

/** Names of Datadog as those that they come from: `exporter_polls.count` is `crdb_exporter_polls_total`. */
function toPrometheus(names: readonly string[], exposition: string): readonly string[] {
  const known = new Map(
    Array.from(exposition.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, family = '', type = '']) =>
      namesInDatadog(family.replace(/^crdb_/, ''), type).map(
        (name, index): readonly [string, string] => [
          name,
          type === 'histogram' ? `${family}${['_bucket', '_sum', '_count'][index]}` : family,
        ],
      ),
    ).flat(),
  );
  return names.flatMap((name) => known.get(name) ?? []);
}

function namesInDatadog(name: string, type: string): readonly string[] {
  if (type === 'counter') return [`${name.replace(/_total$/, '')}.count`];
  return type === 'histogram'
    ? ['bucket', 'sum', 'count'].map((part) => `${name}.${part}`)
    : [name];
}

/** Those that the registries of packages have. */
export const AGENTS: readonly Agent[] = [prometheus, vmagent, collector, telegraf, datadog];
