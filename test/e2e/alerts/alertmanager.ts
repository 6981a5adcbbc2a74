import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../../support/http-server.ts';
import { eventually } from '../../support/prometheus.ts';

/** One alert of a notification by Alertmanager. */
export interface AlertNotification {
  /** When it came, in milliseconds since the epoch. */
  readonly atMs: number;
  /** Last part of the receiver's path: page, team or notes. */
  readonly receiver: string;
  readonly status: 'firing' | 'resolved';
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** In order of arrival, including repeated ones. */
  readonly notifications: readonly AlertNotification[];
}

/** A webhook that records its notifications. */
export async function startReceiver(): Promise<Receiver> {
  const notifications: AlertNotification[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const message: { readonly alerts: readonly Omit<AlertNotification, 'receiver' | 'atMs'>[] } =
        JSON.parse(Buffer.concat(chunks).toString());
      const receiver = path.basename(request.url ?? '');
      const atMs = Date.now();
      notifications.push(...message.alerts.map((alert) => ({ ...alert, receiver, atMs })));
      response.end();
    });
  });
  const port = await freePort();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${port}`,
    notifications,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Starts the `prometheus-alertmanager` of the PATH with this configuration. */
export async function startAlertmanager(
  config: string,
): Promise<AsyncDisposable & { readonly host: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-alertmanager-'));
  await writeFile(path.join(folder, 'alertmanager.yml'), config);
  const host = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    'prometheus-alertmanager',
    [
      `--config.file=${path.join(folder, 'alertmanager.yml')}`,
      `--storage.path=${path.join(folder, 'data')}`,
      `--web.listen-address=${host}`,
      '--cluster.listen-address=',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const ended = once(child, 'exit');
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`prometheus-alertmanager ended:\n${said}`);
    return isReady(`http://${host}/-/ready`);
  });
  return {
    host,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

async function isReady(url: string): Promise<true | undefined> {
  try {
    return (await fetch(url)).ok || undefined;
  } catch {
    return undefined;
  }
}
