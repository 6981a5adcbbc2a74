import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { PROCESS_TIMEOUT_MS, type Running } from '../cli/run.ts';
import { readScrape, type Scrape } from '../support/exporter.ts';
import { freePort } from '../support/http-server.ts';
import { addressOf, startExporterProcess } from './process-support.ts';

const TIMEOUT = { timeout: PROCESS_TIMEOUT_MS };

function simulate(): Promise<Simulator> {
  return startSimulator({ nodes: 3, ranges: 30, metricKeys: 'useful' });
}

async function scrape(address: string): Promise<Scrape> {
  const answer = await fetch(`${address}/metrics`, { headers: { connection: 'close' } });
  expect(answer.status).toBe(200);
  return readScrape(await answer.text());
}

/** Scrapes until the nodes are exported: the output of the process cannot be waited for. */
async function untilPolled(address: string): Promise<void> {
  await expect
    .poll(async () => {
      const seen = await scrape(address).catch(() => undefined);
      return seen?.value('crdb_up', { api: 'cluster' });
    }, TIMEOUT)
    .toBe(1);
}

async function terminate({ child, ended }: Running): Promise<number | null> {
  child.kill('SIGTERM');
  return (await ended).code;
}

describe('standard output', TIMEOUT, () => {
  test('without a reader loses lines, not the process', async () => {
    await using simulator = await simulate();
    await using running = startExporterProcess({ simulator });
    const address = await addressOf(running);
    running.child.stdout.destroy();
    for (let reload = 0; reload < 5; reload += 1) running.child.kill('SIGHUP');
    await untilPolled(address);
    expect(await terminate(running)).toBe(0);
  });

  test.skipIf(!existsSync('/dev/full'))('on a full disk loses lines, not the process', async () => {
    await using simulator = await simulate();
    // The port cannot be read from the log.
    const host = `127.0.0.1:${await freePort()}`;
    await using running = startExporterProcess({
      simulator,
      listen: host,
      shell: (command) => `exec ${command} > /dev/full`,
    });
    await untilPolled(`http://${host}`);
    expect(await terminate(running)).toBe(0);
  });
});

describe('more connections than file descriptors', TIMEOUT, () => {
  test('are closed but for 12 of 64', async () => {
    await using simulator = await simulate();
    await using running = startExporterProcess({
      simulator,
      shell: (command) => `ulimit -n 64; exec ${command}`,
    });
    const address = await addressOf(running);
    const { port, hostname } = new URL(address);
    const dropped = async (): Promise<number | undefined> =>
      (await scrape(address)).value('crdb_exporter_web_connections_dropped_total', {});
    for (let scrapes = 0; scrapes < 20; scrapes += 1) expect(await dropped()).toBe(0);
    const sockets = Array.from({ length: 200 }, () => connect(Number(port), hostname).resume());
    for (const socket of sockets) socket.on('error', () => undefined);
    await expect.poll(dropped, TIMEOUT).toBeGreaterThan(200 - 12);
    for (const socket of sockets) socket.destroy();
  });
});
