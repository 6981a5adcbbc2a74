import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { PROCESS_TIMEOUT_MS, type Running } from '../cli/run.ts';
import { addressOf, startExporterProcess } from './process-support.ts';

const TIMEOUT = { timeout: PROCESS_TIMEOUT_MS };

function simulate(): Promise<Simulator> {
  return startSimulator({ nodes: 3, ranges: 30, metricKeys: 'useful' });
}

async function stop({ child, ended }: Running): Promise<number | null> {
  child.kill('SIGTERM');
  const { code } = await ended;
  return code;
}

async function untilRequested({ requests }: Simulator, endpoint: string): Promise<void> {
  await expect.poll(() => requests.count(endpoint), TIMEOUT).toBeGreaterThan(0);
}

describe('SIGTERM', TIMEOUT, () => {
  test('during the first poll exits with 0 and logs the session out', async () => {
    await using simulator = await simulate();
    simulator.fault({ endpoint: 'node_ranges', kind: 'hang' });
    await using running = startExporterProcess({ simulator });
    await untilRequested(simulator, 'node_ranges');
    expect(await stop(running)).toBe(0);
    expect(simulator.requests.count('login')).toBe(1);
    expect(simulator.requests.count('logout')).toBe(1);
  });

  test('during a login that gets no response exits with 0', async () => {
    await using simulator = await simulate();
    simulator.fault({ kind: 'hang' });
    await using running = startExporterProcess({ simulator });
    await untilRequested(simulator, 'login');
    expect(await stop(running)).toBe(0);
  });

  test('exits with 0 when the logout gets no response, and logs that', async () => {
    await using simulator = await simulate();
    simulator.fault({ endpoint: 'logout', kind: 'hang' });
    await using running = startExporterProcess({ simulator });
    await running.until('collector succeeded');
    expect(await stop(running)).toBe(0);
    expect(running.seen().out).toContain('logout failed; the session expires on the server');
  });

  test('lets a running scrape finish', async () => {
    await using simulator = await startSimulator({ nodes: 60, ranges: 60 });
    await using running = startExporterProcess({ simulator, args: ['--no-collector.ranges'] });
    const address = new URL(await addressOf(running));
    await running.until('collector=nodes');
    const socket = connect(Number(address.port), address.hostname);
    await once(socket, 'connect');
    // More than the buffers hold: the response cannot end before it is read.
    socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await once(socket, 'readable');
    running.child.kill('SIGTERM');
    await running.until('msg=stopping');
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk);
    const answer = Buffer.concat(chunks);
    const headEnd = answer.indexOf('\r\n\r\n');
    const [, length] = /content-length: (\d+)/i.exec(answer.toString('latin1', 0, headEnd)) ?? [];
    expect(answer.length - headEnd - 4).toBe(Number(length));
    expect((await running.ended).code).toBe(0);
  });

  test('a second one exits immediately', async () => {
    await using simulator = await simulate();
    simulator.fault({ endpoint: 'logout', kind: 'hang' });
    await using running = startExporterProcess({ simulator });
    await running.until('collector succeeded');
    running.child.kill('SIGTERM');
    await running.until('msg=stopping');
    // An earlier one counts as the same signal.
    await sleep(600);
    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(143);
  });
});

describe('an unexpected error', TIMEOUT, () => {
  test.each([
    ['thrown', 'throw new Error("boom")'],
    ['rejected with something else', 'Promise.reject("boom")'],
  ])('that is %s is logged and ends with 1', async (_how, crash) => {
    await using simulator = await simulate();
    await using running = startExporterProcess({
      simulator,
      before: `process.on("SIGUSR2", () => { ${crash} })`,
    });
    await addressOf(running);
    running.child.kill('SIGUSR2');
    const { code, out } = await running.ended;
    expect(code).toBe(1);
    expect(out).toMatch(/level=fatal msg="unexpected error, exiting.*err=.*boom.* stack=/);
  });
});
