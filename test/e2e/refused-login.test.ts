import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Simulator } from '../../simulator/index.ts';
import type { Finding, Status } from '../../src/status/findings/status.ts';
import { runHere } from '../cli/run.ts';
import { makeFolder } from '../config/folder.ts';
import { logIn } from '../simulator/client.ts';
import { onlyCollectors } from '../support/collectors.ts';
import { clusterYaml, startTestExporter, type TestExporter } from '../support/exporter.ts';
import { simulate, watch } from './reload-support.ts';

const COLLECTORS = onlyCollectors({
  nodes: { interval: '10m' },
  sessions: { interval: '10m' },
  ranges: { interval: '10m' },
});

function succeeded(exporter: TestExporter) {
  return exporter.until((scrape) => {
    const all = scrape.all(`crdb_exporter_collector_success`);
    return all.length === 3 && all.every(({ value }) => value === 1);
  });
}

async function failedAll(exporter: TestExporter): Promise<void> {
  await exporter.until(
    (scrape) =>
      scrape.all('crdb_exporter_collector_last_attempt_timestamp_seconds').length === 3 &&
      scrape.value('crdb_up') === 0,
  );
}

async function findRefusal(exporter: TestExporter): Promise<Finding | undefined> {
  const status: Status = JSON.parse((await exporter.get('/api/status')).text);
  return status.clusters
    .flatMap(({ findings }) => findings)
    .find(({ next }) => next.includes('The next login is at'));
}

describe('a refused login', () => {
  test('is tried at once when the file of the password changes, and all polls follow', async () => {
    await using simulator = await simulate();
    const folder = await makeFolder({ password: 'wrong' });
    const file = path.join(folder, 'password');
    const { clusterUrl, username } = simulator;
    await using exporter = await startTestExporter({
      yaml: `${COLLECTORS}clusters:
  - name: sim
    cluster_api: { urls: ["${clusterUrl}"], username: ${username}, password_file: ${file} }`,
      app: { fileCheckMs: 20 },
    });
    await failedAll(exporter);
    expect(simulator.requests.count('login')).toBe(1);
    await writeFile(file, simulator.password);
    await succeeded(exporter);
    expect(simulator.requests.count('login')).toBe(2);
    expect(exporter.log()).toContain('recovered after');
  });

  test('that is accepted after its pause is followed by every poll that waited for it', async () => {
    await using simulator = await simulate();
    const fault = simulator.fault({ endpoint: 'login', kind: 'status', status: 401 });
    let now = 0;
    const clock = { wallMs: () => Date.now(), monotonicMs: () => now, runningMs: () => now };
    const rare = { sessions: { interval: '10m' }, ranges: { interval: '10m' } };
    await using exporter = await startTestExporter({
      yaml: `${onlyCollectors({ nodes: { interval: '1s' }, ...rare })}clusters:\n${clusterYaml(simulator)}`,
      app: { clock },
    });
    await failedAll(exporter);
    fault.remove();
    now = 60_000;
    const scrape = await succeeded(exporter);
    expect(scrape.value('crdb_up')).toBe(1);
    expect(simulator.requests.count('login')).toBe(2);
  });

  test('is not needed with a token: polls that were refused run at once when its file changes', async () => {
    await using simulator = await simulate();
    const folder = await makeFolder({ token: 'YmFk' });
    const file = path.join(folder, 'token');
    await using exporter = await startTestExporter({
      yaml: `${COLLECTORS}clusters:
  - { name: sim, cluster_api: { urls: ["${simulator.clusterUrl}"], token_file: ${file} } }`,
      app: { fileCheckMs: 20 },
    });
    await failedAll(exporter);
    await writeFile(file, await logIn(simulator));
    const scrape = await succeeded(exporter);
    expect(scrape.value('crdb_up')).toBe(1);
  });

  test('is tried at once after a reload, of the same configuration, too', async () => {
    await using simulator = await simulate();
    const fault = simulator.fault({ endpoint: 'login', kind: 'status', status: 401 });
    const yaml = `${COLLECTORS}clusters:\n${clusterYaml(simulator)}`;
    await using running = await watch(yaml);
    await failedAll(running.exporter);
    fault.remove();
    await running.reload(yaml);
    await succeeded(running.exporter);
    expect(simulator.requests.count('login')).toBe(2);
  });

  test('says when the next attempt is, in one problem for all attempts', async () => {
    await using simulator = await simulate();
    const fault = simulator.fault({ endpoint: 'login', kind: 'status', status: 401 });
    const start = Date.parse('2026-11-28T12:00:00Z');
    let minutes = 0;
    const clock = {
      wallMs: () => start + minutes * 60_000,
      monotonicMs: () => minutes * 60_000,
      runningMs: () => minutes * 60_000,
    };
    await using exporter = await startTestExporter({
      yaml: `${onlyCollectors({ nodes: {} })}clusters:\n${clusterYaml(simulator)}`,
      intervalSeconds: 0.05,
      app: { clock },
    });
    const nextLogin = async (time: string) => {
      await expect.poll(async () => (await findRefusal(exporter))?.next).toContain(time);
      return findRefusal(exporter);
    };
    const first = await nextLogin(
      'The next login is at 2026-11-28 12:01:00 UTC, later ones after up to 30 minutes; at once when the password file changes or after a reload (SIGHUP, POST /-/reload).',
    );
    minutes = 1;
    const second = await nextLogin('2026-11-28 12:03:00 UTC');
    minutes = 3;
    await nextLogin('2026-11-28 12:07:00 UTC');
    expect(second).toMatchObject({ key: first?.key, since: first?.since });
    expect(exporter.log().match(/level=warn/g)).toHaveLength(1);
    expect(exporter.log()).toContain('The next login is at 2026-11-28 12:01:00 UTC');
    // The end of the pause is enough: nobody has changed anything here.
    fault.remove();
    minutes = 7;
    await exporter.until((scrape) => scrape.value('crdb_up') === 1);
    expect(simulator.requests.count('login')).toBe(4);
  });
});

test.each(['nodes', 'sessions', 'ranges', 'diagnose', 'probe'])(
  'the command %s logs in once with a password that is refused',
  async (command) => {
    await using simulator = await simulate();
    const refused: Pick<Simulator, 'clusterUrls' | 'username' | 'password'> = {
      clusterUrls: simulator.clusterUrls,
      username: simulator.username,
      password: 'wrong',
    };
    const folder = await makeFolder({ 'exporter.yml': `clusters:\n${clusterYaml(refused)}` });
    const { code } = await runHere([command, `--config.file=${path.join(folder, 'exporter.yml')}`]);
    expect(code).toBe(1);
    expect(simulator.requests.count('login')).toBe(1);
  },
);
