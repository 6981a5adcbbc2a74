import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A cluster without TLS and login on this host, of the program `cockroach`. */
export interface OwnCluster extends AsyncDisposable {
  readonly urls: readonly string[];
  /** Ends a node as a crash does, and waits until the others notice. */
  stop(node: number): Promise<void>;
  start(node: number): Promise<void>;
  /** Starts a fourth node. */
  add(): Promise<void>;
  /** Moves all replicas away from a node, and stops it. */
  decommission(node: number): Promise<void>;
}

const SQL_PORT = 26_357;
const HTTP_PORT = 18_080;
const NODES = 3;
/** server.time_until_store_dead is longer: a node that stopped is unavailable, not dead. */
const NOTICE_MS = 20_000;
const READY_ATTEMPTS = 120;

export async function startCockroach(): Promise<OwnCluster> {
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-cockroach-'));
  const processes = new Map<number, ChildProcess>();
  const join = Array.from({ length: NODES }, (_, index) => addressOf(index + 1)).join(',');

  function start(node: number): void {
    const args = ['start', '--insecure', `--store=${path.join(folder, `node${node}`)}`];
    const addresses = [
      `--listen-addr=${addressOf(node)}`,
      `--http-addr=127.0.0.1:${HTTP_PORT + node}`,
      `--join=${join}`,
    ];
    processes.set(node, spawn('cockroach', [...args, ...addresses], { stdio: 'ignore' }));
  }

  async function end(node: number, signal: NodeJS.Signals): Promise<void> {
    const child = processes.get(node);
    if (child === undefined || child.exitCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }

  async function endAll(): Promise<void> {
    for (const node of processes.keys()) await end(node, 'SIGKILL');
    rmSync(folder, { recursive: true });
  }

  try {
    for (let node = 1; node <= NODES; node += 1) start(node);
    for (let attempt = 0; attempt < READY_ATTEMPTS; attempt += 1) {
      if (run('init', `--host=${addressOf(1)}`)) break;
      await sleep(1000);
    }
    await isReady(1);
    // The nodes write their records every 10 s.
    await sleep(NOTICE_MS);
  } catch (error) {
    await endAll();
    throw error;
  }
  return {
    urls: Array.from({ length: NODES }, (_, index) => `http://127.0.0.1:${HTTP_PORT + index + 1}`),
    async stop(node) {
      await end(node, 'SIGKILL');
      await sleep(NOTICE_MS);
    },
    async start(node) {
      start(node);
      await isReady(node);
      await sleep(NOTICE_MS);
    },
    async add() {
      start(NODES + 1);
      await isReady(NODES + 1);
    },
    async decommission(node) {
      run('node', 'decommission', String(node), `--host=${addressOf(1)}`);
      await end(node, 'SIGTERM');
      await sleep(NOTICE_MS);
    },
    [Symbol.asyncDispose]: endAll,
  };
}

function addressOf(node: number): string {
  return `127.0.0.1:${SQL_PORT + node}`;
}

function run(...args: readonly string[]): boolean {
  return spawnSync('cockroach', [...args, '--insecure'], { stdio: 'ignore' }).status === 0;
}

/** Waits until a node accepts statements. */
async function isReady(node: number): Promise<void> {
  for (let attempt = 0; attempt < READY_ATTEMPTS; attempt += 1) {
    const url = `http://127.0.0.1:${HTTP_PORT + node}/health?ready=1`;
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return;
    await sleep(1000);
  }
  throw new Error(`node ${node} does not start`);
}
