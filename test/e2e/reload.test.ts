import { describe, expect, test } from 'vitest';
import type { Status } from '../../src/status/findings/status.ts';
import { logIn } from '../simulator/client.ts';
import { onlyCollectors } from '../support/collectors.ts';
import { clusterYaml } from '../support/exporter.ts';
import { simulate, watch } from './reload-support.ts';

const LAST_RELOAD = 'crdb_exporter_config_last_reload_success_timestamp_seconds';

describe('a reload', () => {
  test('forgets the history of a removed cluster and keeps that of the others', async () => {
    await using first = await simulate();
    await using second = await simulate();
    // With several collectors the state, and so its age, changes with their first polls.
    const only = onlyCollectors({ nodes: {} });
    const stays = `${only}clusters:\n${clusterYaml(first, { name: 'stays' })}`;
    const both = `${stays}${clusterYaml(second, { name: 'goes' })}`;
    await using running = await watch(both);
    const { exporter } = running;
    // What has not been recorded began just now.
    const sinceOf = async (name: string): Promise<string> => {
      for (;;) {
        const status: Status = JSON.parse((await exporter.get('/api/status')).text);
        const cluster = status.clusters.find((one) => one.name === name);
        const hasPolled = cluster?.collectors.every(({ state }) => state !== 'waiting') ?? false;
        if (cluster !== undefined && hasPolled && cluster.since !== status.at) {
          return cluster.since;
        }
      }
    };
    const before = { stays: await sinceOf('stays'), goes: await sinceOf('goes') };
    expect((await running.reload(stays)).status).toBe(200);
    expect((await running.reload(both)).status).toBe(200);
    expect(await sinceOf('goes')).not.toBe(before.goes);
    expect(await sinceOf('stays')).toBe(before.stays);
  });

  test('keeps an unchanged cluster with its data and session, and adds a new one', async () => {
    await using first = await simulate();
    await using second = await simulate();
    const firstYaml = clusterYaml(first, { name: 'first' });
    await using running = await watch(`clusters:\n${firstYaml}`);
    const { exporter } = running;
    const before = await exporter.until((scrape) => scrape.all('crdb_nodes').length > 0);
    const answer = await running.reload(
      `clusters:\n${firstYaml}${clusterYaml(second, { name: 'second' })}`,
    );
    expect(answer).toEqual({ status: 200, text: 'configuration reloaded\n' });
    const after = await exporter.until(
      (scrape) => scrape.all('crdb_nodes', { crdb_cluster: 'second' }).length > 0,
    );
    expect(after.all('crdb_nodes', { crdb_cluster: 'first' })).toEqual(before.all('crdb_nodes'));
    expect(first.requests.count('login')).toBe(1);
    expect(first.requests.count('logout')).toBe(0);
    expect(after.value('crdb_exporter_config_last_reload_successful')).toBe(1);
  });

  test('drops every series of a removed cluster immediately and logs its session out', async () => {
    await using first = await simulate();
    await using second = await simulate();
    const secondYaml = clusterYaml(second, { name: 'second' });
    await using running = await watch(
      `clusters:\n${clusterYaml(first, { name: 'first' })}${secondYaml}`,
    );
    const { exporter } = running;
    await exporter.until(
      (scrape) =>
        scrape.all('crdb_nodes', { crdb_cluster: 'first' }).length > 0 &&
        scrape.all('crdb_nodes', { crdb_cluster: 'second' }).length > 0,
    );
    await running.reload(`clusters:\n${secondYaml}`);
    const after = await exporter.scrape();
    const ofFirst = after.samples.filter(({ labels }) => labels['crdb_cluster'] === 'first');
    expect(ofFirst).toEqual([]);
    expect(after.all('crdb_nodes', { crdb_cluster: 'second' }).length).toBeGreaterThan(0);
    await expect.poll(() => first.requests.count('logout')).toBe(1);
  });

  test('exports the old data of a changed cluster until its first new poll', async () => {
    await using simulator = await simulate();
    await using running = await watch(`clusters:\n${clusterYaml(simulator)}`);
    await running.exporter.until((scrape) => scrape.all('crdb_nodes').length > 0);
    const changed = clusterYaml(simulator, { more: ', timeout: 20s' });
    expect(await running.reload(`clusters:\n${changed}`)).toMatchObject({ status: 200 });
    const after = await running.exporter.scrape();
    expect(after.all('crdb_nodes').length).toBeGreaterThan(0);
    expect(after.value('crdb_up')).toBe(1);
  });

  test('takes over a password or token that the file has changed', async () => {
    await using simulator = await simulate();
    const { username, password, clusterUrl } = simulator;
    const yaml = (login: string): string =>
      `clusters:\n  - name: c\n    cluster_api: { urls: ["${clusterUrl}"], ${login} }\n`;
    const user = `username: ${username}, password`;
    await using running = await watch(yaml('token: wrong'));
    const upAfter = async (login: string, up: number): Promise<void> => {
      await running.reload(yaml(login));
      await running.exporter.until((scrape) => scrape.value('crdb_up') === up);
    };
    await upAfter(`token: "${await logIn(simulator)}"`, 1);
    await upAfter(`${user}: wrong`, 0);
    await upAfter(`${user}: "${password}"`, 1);
    expect(simulator.requests.count('login')).toBe(3);
  });

  test('that changes the interval of a cluster forgets nothing', async () => {
    await using simulator = await simulate();
    const [range] = simulator.truth().ranges.hot;
    simulator.world.setProblem(range?.rangeId ?? 0, 'circuit_breaker_error', true);
    const yaml = `clusters:\n${clusterYaml(simulator)}`;
    await using running = await watch(`collectors: { ranges: { max_duty: 1 } }\n${yaml}`);
    const { exporter } = running;
    const firstSeen = 'crdb_problem_range_first_seen_timestamp_seconds';
    const before = await exporter.until((scrape) => scrape.all(firstSeen).length > 0);
    const everything = 'nodes: { interval: 31s }, ranges: { interval: 61s, max_duty: 1 }';
    await running.reload(`collectors: { ${everything} }\n${yaml}`);
    const after = await exporter.scrape();
    expect(after.value('crdb_up')).toBe(1);
    expect(after.all('crdb_nodes')).toEqual(before.all('crdb_nodes'));
    const ranges = { collector: 'ranges' };
    // The first poll after the reload may have finished.
    const polls = before.value('crdb_exporter_polls_total', ranges) ?? 0;
    const later = await exporter.until(
      (scrape) => (scrape.value('crdb_exporter_polls_total', ranges) ?? 0) > polls,
    );
    expect(later.all(firstSeen)).toEqual(before.all(firstSeen));
  });

  test('that gives a name to another cluster exports nothing of the old one', async () => {
    await using first = await simulate();
    await using second = await simulate();
    second.fault({ kind: 'hang' });
    await using running = await watch(`clusters:\n${clusterYaml(first)}`);
    const { exporter } = running;
    await exporter.until((scrape) => scrape.all('crdb_nodes').length > 0);
    await running.reload(`clusters:\n${clusterYaml(second)}`);
    const after = await exporter.scrape();
    expect(after.all('crdb_nodes')).toEqual([]);
    expect(after.all('crdb_up')).toEqual([]);
  });

  test('that names another virtual cluster exports nothing of the one before', async () => {
    await using simulator = await simulate();
    await using running = await watch(`clusters:\n${clusterYaml(simulator)}`);
    const { exporter } = running;
    await exporter.until((scrape) => scrape.all('crdb_nodes').length > 0);
    simulator.fault({ kind: 'hang' });
    const other = clusterYaml(simulator, { more: ', virtual_cluster: tenant-2' });
    expect(await running.reload(`clusters:\n${other}`)).toMatchObject({ status: 200 });
    const after = await exporter.scrape();
    expect([after.all('crdb_nodes'), after.all('crdb_up')]).toEqual([[], []]);
  });

  test('that names another cluster of the Cloud API exports nothing of the old one', async () => {
    await using simulator = await simulate();
    const { cloudUrl, cloudToken } = simulator;
    const yaml = (id: string): string =>
      `clusters:\n  - name: c\n    cloud_api: { url: "${cloudUrl}", cluster_id: ${id}, token: "${cloudToken}" }\n`;
    await using running = await watch(yaml(simulator.cloudClusterId));
    await running.exporter.until((scrape) => scrape.value('crdb_up') === 1);
    simulator.fault({ endpoint: 'assistant', kind: 'hang' });
    await running.reload(yaml('other'));
    expect((await running.exporter.scrape()).all('crdb_up')).toEqual([]);
  });

  test('of an invalid file keeps the running configuration and reports the error everywhere', async () => {
    await using simulator = await simulate();
    await using running = await watch(`clusters:\n${clusterYaml(simulator)}`);
    const { exporter } = running;
    const before = await exporter.until((scrape) => scrape.all('crdb_nodes').length > 0);
    const lastReload = before.value(LAST_RELOAD) ?? NaN;
    const answer = await running.reload('clusters: []\nnonsense: 1\n');
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('exporter.yml:2:1: nonsense: unknown key');
    const after = await exporter.scrape();
    expect(after.value('crdb_exporter_config_last_reload_successful')).toBe(0);
    expect(after.value(LAST_RELOAD)).toBe(lastReload);
    expect(after.all('crdb_nodes').length).toBeGreaterThan(0);
    expect(exporter.log()).toMatch(/level=error .*nonsense/);
    await running.reload(`clusters:\n${clusterYaml(simulator)}`);
    const mended = await exporter.scrape();
    expect(mended.value('crdb_exporter_config_last_reload_successful')).toBe(1);
    expect(mended.value(LAST_RELOAD)).toBeGreaterThan(lastReload);
  });
});

describe('a reload with an invalid web config file', () => {
  const RELOAD_SUCCESSFUL = 'crdb_exporter_config_last_reload_successful';

  test.each([
    ['has errors', 'rate_limits: {}\n', 'web.yml:1:1: rate_limits: unknown key'],
    ['is cut off', 'basic_auth_users:\n', 'basic_auth_users: lists no users'],
  ])('applies the configuration although the file %s', async (_what, broken, problem) => {
    await using first = await simulate();
    await using second = await simulate();
    await using running = await watch(`clusters:\n${clusterYaml(first)}`);
    const { exporter } = running;
    await running.writeWebConfig(broken);
    const both = `clusters:\n${clusterYaml(first)}${clusterYaml(second, { name: 'second' })}`;
    const answer = await running.reload(both);
    expect(answer).toMatchObject({ status: 400, text: expect.stringContaining(problem) });
    expect(answer.text).not.toContain('configuration not reloaded');
    const after = await exporter.until(
      (scrape) => scrape.value('crdb_up', { crdb_cluster: 'second' }) === 1,
    );
    expect(after.value(RELOAD_SUCCESSFUL)).toBe(0);
  });
});
