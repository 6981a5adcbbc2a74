import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { PROCESS_TIMEOUT_MS, run, type Running, start, startProgram } from '../run.ts';

const READY = 'Press Ctrl-C to stop both.';

/** The URL behind a title of what was printed. */
function urlOf(out: string, title: string): string {
  const url = new RegExp(`^ *${title} +(\\S+)`, 'm').exec(out)?.[1];
  if (url === undefined) throw new Error(`no ${title} in ${out}`);
  return url;
}

async function isAnswering(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).status > 0;
  } catch {
    return false;
  }
}

/** Ends it and returns what it printed; both servers must be gone. */
async function end(running: Running, signal: 'SIGINT' | 'SIGTERM'): Promise<string> {
  running.child.kill(signal);
  const { code, out } = await running.ended;
  expect(code).toBe(0);
  expect(await isAnswering(urlOf(out, 'Metrics'))).toBe(false);
  expect(await isAnswering(urlOf(out, 'Cluster API'))).toBe(false);
  return out;
}

describe('the demo', { timeout: PROCESS_TIMEOUT_MS }, () => {
  test('prints where everything is, and moves to free ports when another one runs', async () => {
    await using first = start(['demo']);
    await first.until(READY);
    await using second = start(['demo', '--scenario', 'calm']);
    await second.until(READY);
    second.child.kill('SIGTERM');
    const { code, out } = await second.ended;
    expect(code).toBe(0);
    for (const title of ['Exporter', 'Metrics', 'Cluster API', 'Cloud API']) {
      expect(urlOf(out, title)).toMatch(/^http:\/\/127\.0\.0\.1:\d+/);
    }
    first.child.kill('SIGINT');
    const other = await first.ended;
    expect(other.code).toBe(0);
    for (const title of ['Metrics', 'Cluster API', 'Cloud API']) {
      expect(urlOf(other.out, title)).not.toBe(urlOf(out, title));
    }
  });

  test('takes addresses, and prints what happens when', async () => {
    const addresses = ['--web.listen-address=[::1]:0', '--listen=:0', '--cloud-listen=:0'];
    await using running = start(['demo', ...addresses]);
    await running.until(READY);
    const out = await end(running, 'SIGTERM');
    expect(urlOf(out, 'Exporter')).toMatch(/^http:\/\/\[::1\]:\d+\/$/);
    expect(out).toMatch(/^ {2}in 50 s +node 9 dies$/m);
  });

  test.each([
    ['the launcher', [process.execPath, 'bin/crdb-exporter.cjs', 'demo'], 'SIGTERM'],
    ['npm start', ['npm', 'start'], 'SIGINT'],
    ['npm start', ['npm', 'start'], 'SIGTERM'],
  ] as const)('started by %s %j ends cleanly on %s', async (_name, [command, ...args], signal) => {
    await using running = startProgram(command, args);
    await running.until(READY);
    expect(await end(running, signal)).toContain(READY);
  });
});

describe('the simulator', { timeout: PROCESS_TIMEOUT_MS }, () => {
  test('runs with the given size, addresses and scenario', async () => {
    const size = '--nodes 4 --ranges 25 --sessions 3 --seed 7';
    const kind = '--insecure --scenario calm --dialect documented';
    const places = '--listen 127.0.0.1:0 --cloud-listen [::1]:0 --control-listen 127.0.0.1:0';
    await using running = start(`simulate ${size} ${kind} ${places}`.split(' '));
    await running.until('Cloud token');
    const { out } = running.seen();
    const truth: unknown = await (await fetch(`${urlOf(out, 'Control')}/truth`)).json();
    expect(truth).toMatchObject({ ranges: { distinct: 25 }, sessions: { open: 3 } });
    const nodes = await fetch(`${urlOf(out, 'Cluster API')}/api/v2/nodes/`);
    expect(await nodes.json()).toMatchObject({ nodes: [{}, {}, {}, {}] });
    expect(urlOf(out, 'Cloud API')).toMatch(/^http:\/\/\[::1\]:\d+$/);
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 0 });
  });

  test('has several URLs and a CA of its own, and prints the flags to monitor it', async () => {
    const size = '--nodes 4 --ranges 25 --sessions 3 --scenario calm';
    const places = '--listen 127.0.0.1:0 --cloud-listen 127.0.0.1:0';
    await using running = start(`simulate ${size} --gateways 3 --tls ${places}`.split(' '));
    await running.until('To monitor it:');
    await running.until('--cluster.ca-file');
    const { out } = running.seen();
    const caFile = /^CA +(\S+)/m.exec(out)?.[1] ?? '';
    expect(existsSync(caFile)).toBe(true);
    const [, password = '', flags = ''] =
      /^CRDB_EXPORTER_CLUSTER_PASSWORD=(\S+) \/\S+\/bin\/crdb-exporter\.cjs (.*)$/m.exec(out) ?? [];
    expect(flags.match(/--cluster\.url=https:\/\/127\.0\.0\.1:\d+/g)).toHaveLength(3);
    await using nodes = start(['nodes', '--output=json', ...flags.split(' ')], {
      CRDB_EXPORTER_CLUSTER_PASSWORD: password,
    });
    const { code, out: listed } = await nodes.ended;
    expect([code, JSON.parse(listed)]).toMatchObject([0, { nodes: [{}, {}, {}, {}] }]);
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 0 });
    expect(existsSync(caFile)).toBe(false);
  });

  test('refuses TLS for a cluster without login', async () => {
    const { code, err } = await run(['simulate', '--tls', '--insecure']);
    expect([code, err]).toEqual([2, expect.stringContaining("'--tls' cannot be used with")]);
  });
});
