import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Simulator } from '../../simulator/index.ts';
import type { LoadedConfig } from '../../src/config/load.ts';
import { PROCESS_TIMEOUT_MS, startProgram } from '../cli/run.ts';
import { makeFolder } from '../config/folder.ts';
import { loadText } from '../config/loading.ts';
import { onlyCollectors } from '../support/collectors.ts';
import { clusterYaml, startTestExporter } from '../support/exporter.ts';
import { addressOf, MAIN, preload } from './process-support.ts';
import { simulate } from './reload-support.ts';

const ONLY_NODES = onlyCollectors({ nodes: {} });

/** An exporter of the first simulator, whose reload finds the second one, too, as soon as the test lets it. */
async function watchBoth(first: Simulator, second: Simulator) {
  const yaml = `${ONLY_NODES}clusters:\n${clusterYaml(first, { name: 'first' })}`;
  const loaded = Promise.withResolvers<LoadedConfig>();
  const begun = Promise.withResolvers<void>();
  const exporter = await startTestExporter({
    yaml,
    adapt: (config) => ({ ...config, web: { ...config.web, enable_lifecycle: true } }),
    app: {
      load() {
        begun.resolve();
        return loaded.promise;
      },
    },
  });
  const both = await loadText(`${yaml}${clusterYaml(second, { name: 'second' })}`);
  return { exporter, begun: begun.promise, finishLoading: () => loaded.resolve(both) };
}

describe('a stop during a reload', () => {
  test.each(['before', 'after'])(
    'starts nothing when the file is read %s the stop',
    async (moment) => {
      await using first = await simulate();
      await using second = await simulate();
      const { exporter, finishLoading } = await watchBoth(first, second);
      await exporter.until((scrape) => scrape.value('crdb_up') === 1);
      if (moment === 'before') finishLoading();
      const reloaded = exporter.app.reload();
      const queued = exporter.app.reload();
      const stopped = exporter.stop();
      finishLoading();
      const refused = {
        isStopping: true,
        error: 'the exporter is stopping: nothing was reloaded',
      };
      expect(await Promise.all([reloaded, queued, exporter.app.reload()])).toEqual([
        refused,
        refused,
        refused,
      ]);
      await stopped;
      expect(exporter.log()).not.toContain('not reloaded');
      expect(second.requests.entries).toEqual([]);
      expect(first.requests.count('logout')).toBe(first.requests.count('login'));
    },
  );

  test('is answered with 503', async () => {
    await using first = await simulate();
    await using second = await simulate();
    const { exporter, begun, finishLoading } = await watchBoth(first, second);
    const answer = fetch(`${exporter.url}/-/reload`, { method: 'POST' });
    await begun;
    const stopped = exporter.stop();
    finishLoading();
    const { status } = await answer;
    expect(status).toBe(503);
    await stopped;
  });

  test('two reloads at once are done one after the other', async () => {
    await using first = await simulate();
    await using second = await simulate();
    const { exporter, finishLoading } = await watchBoth(first, second);
    const reloads = [exporter.app.reload(), exporter.app.reload()];
    finishLoading();
    const errors = (await Promise.all(reloads)).map(({ error }) => error);
    expect(errors).toEqual([undefined, undefined]);
    await exporter.until((scrape) => scrape.value('crdb_up', { crdb_cluster: 'second' }) === 1);
    await exporter.stop();
    expect(second.requests.count('login')).toBe(1);
    expect(second.requests.count('logout')).toBe(1);
  });
});

/** Starts the process with a file, and program text that runs before it. */
async function startWith(simulator: Simulator, before = '') {
  const yaml = (more: string): string =>
    `${ONLY_NODES}clusters:\n${clusterYaml(simulator, { more })}`;
  const folder = await makeFolder({ 'exporter.yml': yaml('') });
  const file = path.join(folder, 'exporter.yml');
  const args = [MAIN, `--config.file=${file}`, '--web.listen-address=127.0.0.1:0'];
  const running = startProgram(process.execPath, [...preload(before), ...args]);
  return { running, change: () => writeFile(file, yaml(', compression: true')) };
}

describe('the process', { timeout: PROCESS_TIMEOUT_MS }, () => {
  test('ends with 0 when SIGTERM follows SIGHUP, and logs out every session', async () => {
    await using simulator = await simulate();
    const { running, change } = await startWith(simulator);
    await using _running = running;
    await addressOf(running);
    await running.until('collector succeeded');
    await change();
    running.child.kill('SIGHUP');
    running.child.kill('SIGTERM');
    running.child.kill('SIGHUP');
    const { code } = await running.ended;
    expect([code, running.child.signalCode]).toEqual([0, null]);
    expect(simulator.requests.count('logout')).toBe(simulator.requests.count('login'));
  });

  test('survives a SIGHUP while it starts, which is a reload after the start', async () => {
    await using simulator = await simulate();
    const hangUp = `process.on('newListener', (name) => {
      if (name === 'SIGHUP') setImmediate(() => process.kill(process.pid, 'SIGHUP'));
    });`;
    const { running } = await startWith(simulator, hangUp);
    await using _running = running;
    await running.until('configuration reloaded');
    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
  });
});
