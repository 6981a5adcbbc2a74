import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { findOldNode, hasProgram } from '../support/programs.ts';
import { ROOT, type Running, runProgram } from './installed.ts';

const UNITS = path.join(ROOT, 'config', 'systemd');
const SERVICE_MANAGER = path.join(import.meta.dirname, 'service_manager.py');

function makeFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-systemd-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function readUnit(name: string): string {
  return readFileSync(path.join(UNITS, name), 'utf8');
}

test('the service leaves no core dump, which would hold passwords', () => {
  expect(readUnit('crdb-exporter.service').split('\n')).toContain('LimitCORE=0');
});

describe.skipIf(!hasProgram('systemd-analyze'))('the systemd units', () => {
  test('pass systemd-analyze verify', () => {
    const folder = makeFolder();
    // systemd requires that the program exists.
    const program = path.join(folder, 'crdb-exporter');
    writeFileSync(program, '#!/bin/sh\n');
    chmodSync(program, 0o755);
    const service = readUnit('crdb-exporter.service').replace(
      'ExecStart=crdb-exporter ',
      `ExecStart=${program} `,
    );
    writeFileSync(path.join(folder, 'crdb-exporter.service'), service);
    writeFileSync(path.join(folder, 'crdb-exporter.socket'), readUnit('crdb-exporter.socket'));
    for (const unit of ['crdb-exporter.service', 'crdb-exporter.socket']) {
      const { status, stderr } = spawnSync(
        'systemd-analyze',
        ['verify', '--recursive-errors=yes', `./${unit}`],
        { cwd: folder, encoding: 'utf8' },
      );
      expect([unit, status, stderr]).toEqual([unit, 0, '']);
    }
  });

  test('have an exposure level of at most 2.0', () => {
    const { status, stdout } = spawnSync(
      'systemd-analyze',
      ['security', '--offline=yes', '--threshold=20', path.join(UNITS, 'crdb-exporter.service')],
      { encoding: 'utf8' },
    );
    expect(stdout).toMatch(/Overall exposure level for crdb-exporter\.service: [01]\.\d/);
    expect(status).toBe(0);
  });
});

interface Served {
  readonly running: Running;
  readonly folder: string;
}

/** The exporter with a small simulated cluster, started as by systemd. */
async function serve(
  node: string,
  { sockets, watchdogMs }: { readonly sockets: number; readonly watchdogMs: number },
): Promise<Served> {
  const simulator = await startSimulator({ nodes: 3, ranges: 20, frozen: true });
  onTestFinished(() => simulator.close());
  const folder = makeFolder();
  const manager = [SERVICE_MANAGER, folder, String(sockets), String(watchdogMs * 1000)];
  const exporter = [
    node,
    path.join(ROOT, 'bin', 'crdb-exporter.cjs'),
    '--web.listen-address=127.0.0.1:0',
    `--cluster.url=${simulator.clusterUrl}`,
    `--cluster.username=${simulator.username}`,
  ];
  const running = runProgram('python3', [...manager, ...exporter], {
    ...process.env,
    CRDB_EXPORTER_CLUSTER_PASSWORD: simulator.password,
  });
  onTestFinished(async () => {
    await running.stop();
  });
  return { running, folder };
}

function testService(node: string): void {
  test('the exporter serves at passed sockets, tells when it is ready, alive and stopping', async () => {
    const { running, folder } = await serve(node, { sockets: 2, watchdogMs: 900 });
    const [, addresses = ''] = await running.said(/notified\tREADY=1\tSTATUS=listening on (.*)/);
    const [, first, second] = await running.said(/socket (\d+)\nsocket (\d+)/);
    const urls = [first, second].map((port) => `http://127.0.0.1:${port}`);
    expect(addresses.split(', ').slice(0, 2)).toEqual(urls);
    for (const url of urls) expect((await fetch(`${url}/-/healthy`)).status).toBe(200);
    expect(await askUnix(path.join(folder, 'web.sock'), '/-/healthy')).toBe(200);
    await running.said(/(?:notified\tWATCHDOG=1\n[^]*){3}/);
    expect(await running.stop()).toBe(0);
    await running.said(/notified\tSTOPPING=1/);
  });
}

const HAS_NEEDED = ['systemd-notify', 'python3'].every(hasProgram);
const OLD_NODE = findOldNode();

describe.skipIf(!HAS_NEEDED)('under systemd (needs systemd-notify and python3)', () => {
  testService(process.execPath);
});

describe.skipIf(!HAS_NEEDED || OLD_NODE === undefined)(
  'under systemd with a Node that is too old (needs one below 24 on PATH, systemd-notify and python3)',
  () => {
    testService(OLD_NODE ?? '');
  },
);

async function askUnix(socketPath: string, target: string): Promise<number | undefined> {
  const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
    http.get({ socketPath, path: target }, resolve).on('error', reject);
  });
  await text(answer);
  return answer.statusCode;
}
