import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ASSISTANT_PASSWORD, SQL_MARKER, startSimulator } from '../../simulator/index.ts';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import { everyCollector } from '../support/collectors.ts';
import { startTestExporter } from '../support/exporter.ts';
import { expectGolden } from '../support/golden.ts';
import { hasProgram } from '../support/programs.ts';

const GOLDEN = path.join(import.meta.dirname, '..', 'golden', 'metrics.txt');
const NOW_MS = Date.parse('2026-03-01T12:00:00Z');

/** What an exporter of one seeded cluster serves at one moment. */
async function expose(requestPath = '/metrics'): Promise<string> {
  await using simulator = await startSimulator({
    seed: 7,
    nodes: 5,
    ranges: 60,
    sessions: 40,
    metricKeys: 'useful',
    frozen: true,
    now: () => NOW_MS,
  });
  await using exporter = await startTestExporter({
    yaml: `${everyCollector({ tables: { tables: ['movr.public.rides', 'movr.public.users'] } })}clusters:
  - name: golden
    console_url: https://crdb.example.com:8080/
    cluster_api: { urls: ["${simulator.clusterUrl}"], username: ${simulator.username}, password: ${simulator.password} }
    cloud_api: { url: "${simulator.cloudUrl}", cluster_id: ${simulator.cloudClusterId}, token: ${simulator.cloudToken} }
`,
    app: {
      clock: {
        wallMs: () => NOW_MS,
        monotonicMs: () => 0,
        runningMs: () => performance.now(),
      },
    },
  });
  await exporter.until(
    (scrape) =>
      scrape.all('crdb_exporter_collector_success').length === COLLECTORS.length &&
      scrape.all('crdb_exporter_collector_success').every(({ value }) => value === 1),
  );
  return (await exporter.get(requestPath)).text;
}

const OF_THE_PROCESS = /^(?:# (?:HELP|TYPE) )?(?:process_|nodejs_)/;
/** Values that depend on the run, not on the cluster. */
const OF_THE_RUN =
  /^crdb_exporter_(?:collector_duration|http_request_duration_seconds_(?:sum|bucket))/;

/** A series of the exporter about a collector or endpoint other than nodes, which has the same series. */
function isOfAnother(line: string): boolean {
  const of = /^crdb_exporter_[^{]+\{.*?(?:collector|endpoint)="(\w+)"/.exec(line)?.[1];
  return of !== undefined && of !== 'nodes';
}

function mask(exposition: string): string {
  const kept = exposition
    .split('\n')
    .filter((line) => !OF_THE_PROCESS.test(line) && !isOfAnother(line));
  const lines = kept.map((line) => {
    const valueAt = line.lastIndexOf(' ');
    const masked = OF_THE_RUN.test(line) ? `${line.slice(0, valueAt)} <of the run>` : line;
    return masked.replace(/127\.0\.0\.1:\d+/, '127.0.0.1:<port>');
  });
  return lines.join('\n');
}

describe('the exposition of a seeded cluster', () => {
  test('matches the golden file', async () => {
    await expectGolden(mask(await expose()), 'test/golden/metrics.txt');
  });

  test.each([
    ['status', '/api/status'],
    ['targets', '/sd/nodes'],
  ])('has the %s of the golden file', async (file, requestPath) => {
    const status: unknown = JSON.parse(await expose(requestPath));
    const text = `${JSON.stringify(status, undefined, 2)}\n`
      .replaceAll(/("(?:durationSeconds|nextPollAt|perMinute)": )[^,\n]+/g, '$1"<of the run>"')
      .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>');
    await expectGolden(text, `test/golden/${file}.json`);
  });

  test.skipIf(!hasProgram('promtool'))('passes promtool', async () => {
    const lint = spawnSync('promtool', ['check', 'metrics'], { input: await expose() });
    expect(lint.stderr.toString() + lint.stdout.toString()).toBe('');
    expect(lint.status).toBe(0);
  });

  test('the golden file contains no secret, SQL text, key or client address', async () => {
    const golden = await readFile(GOLDEN, 'utf8');
    const secrets = [SQL_MARKER, ASSISTANT_PASSWORD, 'exporter-demo', 'simulated-cloud-token'];
    expect(secrets.filter((secret) => golden.includes(secret))).toEqual([]);
    expect(golden).not.toMatch(/\/Table\//);
  });
});
