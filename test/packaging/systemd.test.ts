import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../../src/simulator/index.ts';
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
async function serve(node: string, { sockets = 0, watchdogMs = 0 }): Promise<Served> {
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

function testNotifications(node: string): void {
  test('the exporter notifies that it is ready when it serves scrapes, and that it stops', async () => {
    const { running } = await serve(node, {});
    const [, address = ''] = await running.said(/notified\tREADY=1\tSTATUS=listening on (\S+)/);
    expect((await fetch(`${address}/-/healthy`)).status).toBe(200);
    expect(await running.stop()).toBe(0);
    await running.said(/notified\tSTOPPING=1/);
  });

  test('the exporter notifies the watchdog more than once per period', async () => {
    const { running } = await serve(node, { watchdogMs: 900 });
    await running.said(/(?:notified\tWATCHDOG=1\n[^]*){3}/);
    expect(await running.stop()).toBe(0);
  });

  test('passed sockets replace the configured addresses', async () => {
    const { running, folder } = await serve(node, { sockets: 2 });
    await running.said(/notified\tREADY=1/);
    const [, first, second] = await running.said(/socket (\d+)\nsocket (\d+)/);
    for (const port of [first, second]) {
      expect((await fetch(`http://127.0.0.1:${port}/-/healthy`)).status).toBe(200);
    }
    const status = await askUnix(path.join(folder, 'web.sock'), '/-/healthy');
    expect(status).toBe(200);
    const [, addresses] = await running.said(/STATUS=listening on (.*)/);
    expect(addresses?.split(', ').slice(0, 2)).toEqual([
      `http://127.0.0.1:${first}`,
      `http://127.0.0.1:${second}`,
    ]);
    expect(await running.stop()).toBe(0);
  });
}

const HAS_NEEDED = ['systemd-notify', 'python3'].every(hasProgram);
const OLD_NODE = findOldNode();

describe.skipIf(!HAS_NEEDED)('under systemd (needs systemd-notify and python3)', () => {
  testNotifications(process.execPath);
});

describe.skipIf(!HAS_NEEDED || OLD_NODE === undefined)(
  'under systemd with a Node that is too old (needs one below 24 on PATH, systemd-notify and python3)',
  () => {
    testNotifications(OLD_NODE ?? '');
  },
);

async function askUnix(socketPath: string, target: string): Promise<number | undefined> {
  const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
    http.get({ socketPath, path: target }, resolve).on('error', reject);
  });
  await text(answer);
  return answer.statusCode;
}
