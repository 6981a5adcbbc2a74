import { expect, test } from 'vitest';
import { PROCESS_TIMEOUT_MS, startProgram, writeTemporary } from '../cli/run.ts';
import { onlyCollectors } from '../support/collectors.ts';
import { type HostileServer, startHostileServer } from './hostile-answers.ts';
import { addressOf, MAIN, preload } from './process-support.ts';

/** Answers to logins and to the Cloud API, at least; `HOSTILE_ANSWERS=1000` sends more. */
const ANSWERS = Number(process.env['HOSTILE_ANSWERS'] ?? 300);
/** Of each API. */
const MIN_ANSWERS = ANSWERS / 10;
const SEED = Number(process.env['HOSTILE_SEED'] ?? 1);
const CLUSTERS = 12;
const MAX_MEMORY_KIB = 230 * 1024;
/** Of one health check: a second on an otherwise idle machine, as for the long run. */
const MAX_CHECK_MS = ANSWERS < 1_000 ? 5_000 : 1_000;
/** As the launcher and the image start the exporter. */
const NODE_FLAG = '--max-semi-space-size=1';
/** The peak since the process began; that of resourceUsage() begins with the one that started it. */
const REPORT = `
  import { readFileSync } from 'node:fs';
  process.on('exit', () => {
    const [, peak] = /VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'));
    process.stderr.write('peak=' + peak + '\\n');
  });`;

function configure({ url }: HostileServer): string {
  const clusters = Array.from({ length: CLUSTERS }, (_, index) =>
    [
      `  - name: hostile-${index}`,
      `    cluster_api: { urls: ["${url}"], username: u, password: p, timeout: 1s }`,
      `    cloud_api: { url: "${url}", cluster_id: c${index}, token: t }`,
    ].join('\n'),
  );
  const often = { interval: '1s', timeout: '1s' };
  return `${onlyCollectors({ nodes: often, cloud: often, tables: {} })}clusters:
${clusters.join('\n')}
`;
}

function isAnswered({ counts: { login, cloud } }: HostileServer): boolean {
  return login + cloud >= ANSWERS && login >= MIN_ANSWERS && cloud >= MIN_ANSWERS;
}

test(
  `${ANSWERS} hostile responses neither stop nor block the exporter nor exhaust its memory`,
  { timeout: PROCESS_TIMEOUT_MS + ANSWERS * 200 },
  async () => {
    await using server = await startHostileServer(SEED);
    const file = await writeTemporary('exporter.yml', configure(server));
    const args = [MAIN, `--config.file=${file}`, '--web.listen-address=127.0.0.1:0'];
    await using running = startProgram(process.execPath, [NODE_FLAG, ...preload(REPORT), ...args]);
    const address = await addressOf(running);
    const checks: number[] = [];
    while (!isAnswered(server)) {
      const startedAt = performance.now();
      const health = await fetch(`${address}/-/healthy`);
      checks.push(performance.now() - startedAt);
      expect(health.status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const metrics = await (await fetch(`${address}/metrics`)).text();
    expect(metrics).not.toMatch(/poll_failures_total\{[^}]*reason="other"[^}]*\} [1-9]/);
    running.child.kill('SIGTERM');
    const { code, out, err } = await running.ended;
    expect({ code, fatal: /level=fatal.*/.exec(out + err)?.[0] }).toEqual({ code: 0 });
    const [, memory] = /peak=(\d+)/.exec(err) ?? [];
    expect(Number(memory)).toBeLessThan(MAX_MEMORY_KIB);
    expect(Math.max(...checks)).toBeLessThan(MAX_CHECK_MS);
  },
);
