import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { good, refusing } from '../support/http-server.ts';
import { configFlag, PROCESS_TIMEOUT_MS, runHere, start, writeTemporary } from './run.ts';

const PAGE = readFileSync(path.join(import.meta.dirname, '../../docs/commands.md'), 'utf8');

let simulator: Simulator;
let files: Readonly<Record<string, string>>;

beforeAll(async () => {
  simulator = await startSimulator({ nodes: 5, ranges: 20, sessions: 8, metricKeys: 'useful' });
  const { url } = await good();
  const cloud_api = { url, cluster_id: '35c4abb2-bb66-46d7-afed-25ebef5ed2aa', token: 't' };
  const other = { name: 'other', cluster_api: { urls: [url] }, cloud_api };
  files = {
    GOOD: await configFlag(simulator),
    DOWN: `--cluster.url=${await refusing()}`,
    OTHER: `--config.file=${await writeTemporary('other.yml', JSON.stringify({ clusters: [other] }))}`,
  };
});

afterAll(() => simulator.close());

/** GOOD, DOWN and OTHER: a configuration, a cluster that does not answer, servers of something else. */
const CASES: readonly (readonly [code: number, command: string])[] = [
  [0, '--help'],
  [0, 'check GOOD'],
  [0, 'nodes GOOD'],
  // Node 5 is dead.
  [0, 'ranges GOOD'],
  [0, 'sessions GOOD'],
  [0, 'probe GOOD'],
  [0, 'reference crdb_nodes'],
  [0, 'completion bash'],
  [1, 'diagnose DOWN'],
  [1, 'nodes DOWN'],
  [1, 'ranges 99 GOOD'],
  [1, 'ranges 5 GOOD'],
  [1, 'table movr nowhere GOOD'],
  [1, 'table movr rides OTHER'],
  [1, 'cloud assistant get OTHER'],
  [1, 'cloud rename-database nowhere rides --yes GOOD'],
  [2, 'serve --web.systemd-socket DOWN'],
  [2, 'nodes --wide --output json GOOD'],
  [2, 'reference crdb_nonsense'],
];

describe('the exit code is', () => {
  test.each(CASES)('%i of `%s`', async (expected, command) => {
    const words = command.split(' ').filter((word) => word !== '');
    const { code, err } = await runHere(words.map((word) => files[word] ?? word));
    expect({ code, err: code === expected ? '' : err }).toEqual({ code: expected, err: '' });
  });

  test('1 of a probe without a login, whose cause is said once', async () => {
    const clusterApi = 'username: exporter, password: not-it';
    const { code, err } = await runHere(['probe', await configFlag(simulator, { clusterApi })]);
    expect(code).toBe(1);
    expect(err).toMatch(
      /^crdb-exporter: the collectors nodes, [^\n]* failed: login at [^\n]*\ncrdb-exporter: `crdb-exporter diagnose [^\n]*\n$/,
    );
  });

  test('0 with a warning for a list that lacks a node', async () => {
    const fault = simulator.fault({
      kind: 'cut',
      bytes: 100,
      endpoint: 'node_ranges',
      node: 2,
    });
    const { code, err } = await runHere(['ranges', files['GOOD'] ?? '']);
    fault.remove();
    expect(code).toBe(0);
    expect(err).toMatch(/^crdb-exporter: the ranges of node 2 are missing or incomplete: /m);
    // Scheme and port are right: a server has answered there.
    expect(err).toContain('the server closed the connection: check that the node is up,');
  });

  test.each([
    ['SIGINT', 130, 'users', 'users'],
    ['SIGTERM', 143, 'ranges', 'node_ranges'],
  ] as const)(
    'that of %s when it cancels a command, which explains nothing: %i',
    { timeout: PROCESS_TIMEOUT_MS },
    async (signal, expected, command, endpoint) => {
      const fault = simulator.fault({ kind: 'hang', endpoint });
      const before = simulator.requests.count(endpoint);
      await using running = start([...command.split(' '), files['GOOD'] ?? '']);
      while (simulator.requests.count(endpoint) === before)
        await new Promise((resolve) => setTimeout(resolve, 20));
      running.child.kill(signal);
      const { code, err } = await running.ended;
      fault.remove();
      expect([code, err]).toEqual([expected, '']);
    },
  );

  test('listed in docs/commands.md, all of them', () => {
    const listed = Array.from(PAGE.matchAll(/^\| (\d+) \|/gm), ([, code]) => Number(code));
    expect(listed).toEqual([...new Set(CASES.map(([code]) => code)), 130, 143]);
  });
});
