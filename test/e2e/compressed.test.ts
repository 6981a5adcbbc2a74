import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSimulator } from '../../src/simulator/index.ts';
import { clusterYaml, readScrape, type Scrape, startTestExporter } from '../support/exporter.ts';
import { hasProgram } from '../support/programs.ts';
import { eventually, freePort } from '../support/prometheus.ts';

const run = promisify(execFile);
const LARGE_OUTPUT = { maxBuffer: 2 ** 26 };

/** Requests a compressed response, checks the encoding, and prints the decompressed body. */
const PYTHON = `
import gzip, sys, urllib.request
request = urllib.request.Request(sys.argv[1], headers={'Accept-Encoding': 'gzip'})
with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
    assert answer.headers['Content-Encoding'] == 'gzip'
    sys.stdout.buffer.write(gzip.decompress(answer.read()))
`;

const READERS = [
  {
    program: 'curl',
    read: (url: string) =>
      run(
        'curl',
        ['--silent', '--show-error', '--noproxy', '*', '--compressed', url],
        LARGE_OUTPUT,
      ),
  },
  { program: 'python3', read: (url: string) => run('python3', ['-c', PYTHON, url], LARGE_OUTPUT) },
];

async function startPolledExporter() {
  const simulator = await startSimulator({ nodes: 5, ranges: 200, frozen: true });
  const exporter = await startTestExporter({
    yaml: `collectors: { nodes: { metrics: ["sys.*", "sql.*"] } }\nclusters:\n${clusterYaml(simulator)}`,
  });
  const whole = await exporter.until((scrape) => {
    const success = scrape.all('crdb_exporter_collector_success');
    return success.length > 0 && success.every(({ value }) => value === 1);
  });
  return {
    url: exporter.url,
    whole,
    async [Symbol.asyncDispose]() {
      await exporter.stop();
      await simulator[Symbol.asyncDispose]();
    },
  };
}

/** Series that do not change between two scrapes. */
function dataOf({ samples }: Scrape): readonly string[] {
  return samples
    .filter(({ name }) => name.startsWith('crdb_') && !name.startsWith('crdb_exporter_'))
    .map(({ name, labels, value }) => `${name}${JSON.stringify(labels)} ${value}`);
}

describe('a compressed response is read completely', () => {
  let exporter: Awaited<ReturnType<typeof startPolledExporter>>;
  beforeAll(async () => {
    exporter = await startPolledExporter();
  });
  afterAll(() => exporter[Symbol.asyncDispose]());

  test('by Node', async () => {
    const answer = await fetch(`${exporter.url}/metrics`);
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    expect(dataOf(readScrape(await answer.text()))).toEqual(dataOf(exporter.whole));
  });

  for (const { program, read } of READERS) {
    test.skipIf(!hasProgram(program))(`by ${program}`, async () => {
      const { stdout } = await read(`${exporter.url}/metrics`);
      expect(dataOf(readScrape(stdout))).toEqual(dataOf(exporter.whole));
    });
  }

  test.skipIf(!hasProgram('victoria-metrics'))('by VictoriaMetrics', async () => {
    await using database = await startVictoriaMetrics(new URL(exporter.url).host);
    const name = '{__name__=~"crdb_.*",__name__!~"crdb_exporter_.*"}';
    const query = encodeURIComponent(`count(${name})`);
    const count = await eventually(async () => {
      const answer = await fetch(`${database.url}/api/v1/query?query=${query}`);
      const { data }: { data: { result: readonly { readonly value: readonly unknown[] }[] } } =
        JSON.parse(await answer.text());
      return data.result[0]?.value[1];
    });
    expect(Number(count)).toBe(dataOf(exporter.whole).length);
  });
});

/** Scrapes the one target each second, into a folder that is removed at the end. */
async function startVictoriaMetrics(target: string) {
  const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-victoria-'));
  const config = path.join(folder, 'scrape.yml');
  await writeFile(
    config,
    `scrape_configs: [{ job_name: exporter, scrape_interval: 1s, static_configs: [{ targets: ["${target}"] }] }]\n`,
  );
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    'victoria-metrics',
    [
      `-httpListenAddr=${address}`,
      `-promscrape.config=${config}`,
      `-storageDataPath=${path.join(folder, 'data')}`,
      '-search.latencyOffset=0s',
    ],
    { stdio: 'ignore' },
  );
  const ended = once(child, 'exit');
  const url = `http://${address}`;
  await eventually(async () => {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    return answer?.ok === true ? true : undefined;
  });
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}
