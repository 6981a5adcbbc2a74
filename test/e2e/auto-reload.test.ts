import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { PROCESS_TIMEOUT_MS, startProgram } from '../cli/run.ts';
import { MAIN } from './process-support.ts';

test(
  'a changed configuration is loaded once the secret file is there that it names',
  { timeout: PROCESS_TIMEOUT_MS },
  async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-'));
    const file = path.join(folder, 'exporter.yml');
    const cluster =
      'clusters: [{ name: a, poll: false, cluster_api: { urls: ["http://127.0.0.1:1"]';
    await writeFile(file, `${cluster} } }]\n`);
    await using running = startProgram(process.execPath, [
      MAIN,
      `--config.file=${file}`,
      '--config.auto-reload',
      '--web.listen-address=127.0.0.1:0',
    ]);
    await running.until('msg=listening');
    await writeFile(file, `${cluster}, username: x, password_file: secret } }]\n`);
    await running.until('configuration not reloaded');
    // Only once: what is not there is no new error each second.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(running.seen().out.match(/configuration not reloaded/g)).toHaveLength(1);
    await writeFile(path.join(folder, 'secret'), 'hunter-two', { mode: 0o600 });
    await running.until('configuration reloaded');
    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
    await rm(folder, { recursive: true });
  },
);
