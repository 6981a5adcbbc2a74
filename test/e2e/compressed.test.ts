import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSimulator } from '../../src/simulator/index.ts';
import { clusterYaml, readScrape, type Scrape, startTestExporter } from '../support/exporter.ts';
import { hasProgram } from '../support/programs.ts';

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
});
