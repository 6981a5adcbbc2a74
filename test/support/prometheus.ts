import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { attempts } from './attempts.ts';
import { freePort } from './http-server.ts';

/** One series of an instant query. */
interface QueriedSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A real Prometheus on a loopback port, with a storage of its own. */
export interface Prometheus extends AsyncDisposable {
  readonly url: string;
  query(expression: string): Promise<readonly QueriedSeries[]>;
  /** Asks its HTTP API; resolves to `data` of the answer. */
  api<T>(path: string): Promise<T>;
  /** Lets it read its configuration and rules again. */
  reload(): void;
  /** Ends it, and starts it again on its storage. */
  restart(): Promise<void>;
}

interface VectorElement {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [timestamp: number, value: string];
}

const PAUSES = { firstMs: 50, longestMs: 500 };

/** Starts the `prometheus` of the PATH with this configuration; the test needs `hasProgram('prometheus')`. */
export async function startPrometheus(
  config: string,
  flags: readonly string[] = [],
): Promise<Prometheus> {
  const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-prometheus-'));
  await writeFile(path.join(folder, 'prometheus.yml'), config);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let server = await launch();

  async function launch() {
    const child = spawn(
      'prometheus',
      [
        `--config.file=${path.join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${path.join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        ...flags,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    const ended = once(child, 'exit');
    while (!(await answers(`${url}/-/ready`))) {
      if (child.exitCode !== null) throw new Error(`prometheus ended:\n${said}`);
      await sleep(PAUSES.firstMs);
    }
    return { child, ended };
  }

  async function stop(): Promise<void> {
    server.child.kill('SIGTERM');
    await server.ended;
  }

  async function api<T>(target: string): Promise<T> {
    const response = await fetch(url + target);
    const answer: { status: string; data: T; error?: string } = JSON.parse(await response.text());
    if (answer.status !== 'success') throw new Error(`prometheus: ${answer.error}`);
    return answer.data;
  }

  return {
    url,
    api,
    async query(expression) {
      const target = `/api/v1/query?query=${encodeURIComponent(expression)}`;
      const { result } = await api<{ readonly result: readonly VectorElement[] }>(target);
      return result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
    },
    reload() {
      server.child.kill('SIGHUP');
    },
    async restart() {
      await stop();
      server = await launch();
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** Longer than a test may take, so that its time limit is what fails: what it has started ends then, too. */
const WAIT_SECONDS = 300;

/** Repeats `attempt` until it gives something, for this time at most. */
export async function eventually<T>(
  attempt: () => Promise<T | undefined>,
  limitSeconds = WAIT_SECONDS,
): Promise<T> {
  for await (const _ of attempts(1000 * limitSeconds, PAUSES)) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new Error(`not within ${limitSeconds} s: ${attempt.toString()}`);
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}
