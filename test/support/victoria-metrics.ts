import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from './http-server.ts';
import { eventually } from './prometheus.ts';

/** The folder with the programs of Prometheus and VictoriaMetrics that `.ci/newest-prometheus` has unpacked. */
export const NEWEST = process.env['NEWEST_PROMETHEUS'];

/** A real VictoriaMetrics on a loopback port, with a storage of its own, that finds a sample as soon as it has it. */
export interface VictoriaMetrics extends AsyncDisposable {
  readonly url: string;
  /** Stores lines of an exposition with timestamps in milliseconds. */
  import(lines: readonly string[]): Promise<void>;
}

export async function startVictoriaMetrics(): Promise<VictoriaMetrics> {
  const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-victoria-metrics-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = start('victoria-metrics', [
    `-storageDataPath=${folder}`,
    `-httpListenAddr=127.0.0.1:${port}`,
    '-search.latencyOffset=0s',
  ]);
  await eventually(async () => ((await isReady(url)) ? true : undefined));
  return {
    url,
    async import(lines) {
      const body = lines.join('\n');
      const answer = await fetch(`${url}/api/v1/import/prometheus`, { method: 'POST', body });
      if (answer.status !== 204) throw new Error(`victoria-metrics: ${await answer.text()}`);
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

/** A vmalert that evaluates the rules of a file on what a VictoriaMetrics has, and stores the results there. */
export async function startVmalert(
  url: string,
  file: string,
  flags: readonly string[],
): Promise<AsyncDisposable> {
  return start('vmalert', [
    `-rule=${file}`,
    `-datasource.url=${url}`,
    `-remoteWrite.url=${url}`,
    `-remoteRead.url=${url}`,
    `-httpListenAddr=127.0.0.1:${await freePort()}`,
    '-notifier.blackhole',
    ...flags,
  ]);
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health`)).ok;
  } catch {
    return false;
  }
}

function start(program: string, flags: readonly string[]): AsyncDisposable {
  const child: ChildProcess = spawn(`${NEWEST}/${program}`, flags, { stdio: 'ignore' });
  const ended = once(child, 'exit');
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
