import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { optionsOfImage } from '../../../bench/image-options.ts';
import { startSimulator } from '../../../simulator/index.ts';
import { PROCESS_TIMEOUT_MS, startProgram } from '../../cli/run.ts';
import { addressOf } from '../../e2e/process-support.ts';
import { PROGRAM } from '../../support/program.ts';
import { measureSlowness } from '../../support/slowness.ts';
import { sendFuzz } from './fuzz.ts';

/** `FUZZ_REQUESTS=100000 npx vitest run --project together test/exporter/server/fuzz.test.ts` sends that many and prints figures. */
const COUNT = Number(process.env['FUZZ_REQUESTS'] ?? 4_000);
const SEED = Number(process.env['FUZZ_SEED'] ?? 1);
/** Answering each request of a burst at once, the exporter took 500 MiB more. */
const MAX_GROWTH_MIB = 150;
/** After this long the shipped liveness probe takes the process for dead. */
const LIVENESS_MS = 5_000;
const timeout = PROCESS_TIMEOUT_MS + COUNT * 20;

/** The most memory that the process has had. */
function peakMib(pid: number | undefined): number {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return 0;
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(file, 'utf8'))?.[1]) / 1024;
}

test(
  'odd, broken, pipelined and unread requests neither crash nor block nor fill the exporter',
  { timeout },
  async () => {
    await using simulator = await startSimulator({ nodes: 9, ranges: 300, metricKeys: 'useful' });
    const args = [
      PROGRAM,
      '--web.listen-address=127.0.0.1:0',
      `--cluster.url=${simulator.clusterUrl}`,
    ];
    const login = [`--cluster.username=${simulator.username}`, '--web.enable-lifecycle'];
    await using running = startProgram(process.execPath, [...optionsOfImage(), ...args, ...login], {
      CRDB_EXPORTER_CLUSTER_PASSWORD: simulator.password,
    });
    const url = await addressOf(running);
    const beforeMib = peakMib(running.child.pid);
    const delays: number[] = [];
    const over = new AbortController();
    const watching = (async () => {
      while (!over.signal.aborted) {
        const begun = performance.now();
        const { ok } = await fetch(`${url}/-/healthy`, { headers: { connection: 'close' } });
        expect(ok).toBe(true);
        delays.push(performance.now() - begun);
        await sleep(20);
      }
    })();
    const sent = await sendFuzz(url, COUNT, SEED);
    over.abort();
    await watching;
    const [slowest, memory] = [Math.max(...delays), peakMib(running.child.pid)];
    if (COUNT > 4_000) {
      console.log(
        `${sent} requests: slowest /-/healthy ${slowest.toFixed()} ms, ${memory.toFixed()} MiB`,
      );
    }
    expect(running.child.exitCode).toBeNull();
    expect(running.seen().out + running.seen().err).not.toMatch(/internal error|Error/);
    expect(slowest).toBeLessThan(LIVENESS_MS * measureSlowness());
    expect(memory - beforeMib).toBeLessThan(MAX_GROWTH_MIB);
  },
);
