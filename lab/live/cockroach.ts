import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A cluster without TLS and login on this host, of the program `cockroach`. */
export interface OwnCluster extends AsyncDisposable {
  readonly urls: readonly string[];
  /** Ends a node as a crash does, and waits until the others notice. */
  stop(node: number): Promise<void>;
  start(node: number): Promise<void>;
  /** Starts a fourth node, and waits until it has replicas. */
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
/** A node that is asked to end may drain for a while. */
const DRAIN_MS = 120_000;
/** Replicas move to a new node a few at a time. */
const REPLICAS_ATTEMPTS = 300;

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
    const errors = openSync(errorsOf(node), 'a');
    const child = spawn('cockroach', [...args, ...addresses], {
      stdio: ['ignore', 'ignore', errors],
      // A cluster for a test reports to nobody.
      env: { ...process.env, COCKROACH_SKIP_ENABLING_DIAGNOSTIC_REPORTING: 'true' },
    });
    processes.set(node, child);
  }

  /** The file with what a node has written to standard error. */
  function errorsOf(node: number): string {
    return path.join(folder, `node${node}.txt`);
  }

  async function end(node: number, signal: NodeJS.Signals): Promise<void> {
    const child = processes.get(node);
    if (child === undefined || hasEnded(child)) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    const kill = setTimeout(() => child.kill('SIGKILL'), DRAIN_MS);
    await exit;
    clearTimeout(kill);
  }

  async function endAll(): Promise<void> {
    for (const node of processes.keys()) await end(node, 'SIGKILL');
    rmSync(folder, { recursive: true });
  }

  /** Waits until a node accepts statements. */
  async function isReady(node: number): Promise<void> {
    for (let attempt = 0; attempt < READY_ATTEMPTS; attempt += 1) {
      const child = processes.get(node);
      // Its port may be in use.
      if (child === undefined || hasEnded(child)) break;
      if ((await get(node, '/health?ready=1')) !== undefined) return;
      await sleep(1000);
    }
    throw new Error(`node ${node} does not start: ${readFileSync(errorsOf(node), 'utf8')}`);
  }

  try {
    for (let node = 1; node <= NODES; node += 1) start(node);
    for (let attempt = 0; attempt < READY_ATTEMPTS; attempt += 1) {
      // It fails until the node listens.
      if (run('init', `--host=${addressOf(1)}`) === '') break;
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
      for (let attempt = 0; attempt < REPLICAS_ATTEMPTS; attempt += 1) {
        const vars = await get(NODES + 1, '/_status/vars');
        if (/^replicas\{[^}]*\} [1-9]/m.test(vars ?? '')) break;
        await sleep(1000);
      }
    },
    async decommission(node) {
      const failure = run('node', 'decommission', await idOf(node), `--host=${addressOf(1)}`);
      if (failure !== '') throw new Error(`node ${node} is not decommissioned: ${failure}`);
      await end(node, 'SIGTERM');
      await sleep(NOTICE_MS);
    },
    [Symbol.asyncDispose]: endAll,
  };
}

function addressOf(node: number): string {
  return `127.0.0.1:${SQL_PORT + node}`;
}

/** Runs a command of `cockroach`; returns why it failed, empty where it succeeded. */
function run(...args: readonly string[]): string {
  const { status, stderr } = spawnSync('cockroach', [...args, '--insecure'], { encoding: 'utf8' });
  return status === 0 ? '' : `${args[0]}: exit code ${status}: ${stderr}`;
}

/** `exitCode` stays null after a signal. */
function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** The id that the cluster gave the node: nodes join in any order. */
async function idOf(node: number): Promise<string> {
  const text = await get(node, '/_status/nodes/local');
  return String(JSON.parse(text ?? '{}').desc?.nodeId);
}

/** The body of a good response of a node. */
async function get(node: number, target: string): Promise<string | undefined> {
  const url = `http://127.0.0.1:${HTTP_PORT + node}${target}`;
  const response = await fetch(url).catch(() => undefined);
  const text = await response?.text().catch(() => undefined);
  return response?.ok === true ? text : undefined;
}
