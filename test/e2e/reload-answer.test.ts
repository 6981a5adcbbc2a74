import { expect, test } from 'vitest';
import type { Status } from '../../src/status/findings/status.ts';
import { clusterYaml, type TestExporter } from '../support/exporter.ts';
import { simulate, watch } from './reload-support.ts';

/** What the status says about reloads, as level and text. */
async function reloadFindings(exporter: TestExporter): Promise<readonly string[]> {
  const status: Status = JSON.parse((await exporter.get('/api/status')).text);
  const findings = status.clusters.flatMap((cluster) => cluster.findings);
  return findings
    .filter(({ text }) => text.includes('not reloaded'))
    .map(({ level, text }) => `${level}: ${text}`);
}

test('a reload applies the level of the log, logs warnings and names settings that stay', async () => {
  await using simulator = await simulate();
  const cluster = `clusters:\n${clusterYaml(simulator)}`;
  await using running = await watch(cluster);
  const { exporter } = running;
  const unverified = clusterYaml(simulator, { more: ', tls: { insecure_skip_verify: true }' });
  const web = 'web: { telemetry_path: /m, max_requests: 7 }\nlog: { format: json }';
  const changed = await running.reload(`${web}\nclusters:\n${unverified}`);
  const note =
    'settings take effect at the next start: web.telemetry_path, web.max_requests, log.format';
  expect(changed).toEqual({ status: 200, text: `configuration reloaded; ${note}\n` });
  expect(exporter.log()).toContain(note);
  expect(exporter.log()).toContain('node certificates are not verified');
  expect((await exporter.get('/config')).text).not.toMatch(/telemetry_path: \/m\n|format: json/);
  const silent = await running.reload(`log: { level: error }\n${cluster}`);
  expect(silent).toEqual({ status: 200, text: 'configuration reloaded\n' });
  expect(exporter.log().match(/configuration reloaded/g)).toHaveLength(1);
});

test('a failed reload is a finding until one succeeds', async () => {
  await using simulator = await simulate();
  const cluster = `clusters:\n${clusterYaml(simulator)}`;
  await using running = await watch(cluster);
  const { exporter } = running;
  expect(await reloadFindings(exporter)).toEqual([]);
  const { headers } = await exporter.get('/api/status');
  await running.reload(`clusterz: []\nnonsense: 1\n${cluster}`);
  expect(await reloadFindings(exporter)).toEqual([
    expect.stringMatching(
      /^warning: Configuration not reloaded, keeping the previous one: \S+:1:1: clusterz: unknown key .* \(and 1 more\)\.$/,
    ),
  ]);
  expect((await exporter.get('/')).text).toContain('Configuration not reloaded');
  // A page that asks whether anything has changed is told so.
  expect((await exporter.get('/api/status')).headers.get('etag')).not.toBe(headers.get('etag'));
  await running.writeWebConfig('rate_limits: {}\n');
  await running.reload(cluster);
  expect(await reloadFindings(exporter)).toEqual([
    expect.stringMatching(/^warning: Web config file not reloaded.* rate_limits: unknown key/),
  ]);
  await running.writeWebConfig('');
  await running.reload(cluster);
  expect(await reloadFindings(exporter)).toEqual([]);
});

test('a reload applies limits to findings at once, without a new poll', async () => {
  await using simulator = await simulate();
  const cluster = `clusters:\n${clusterYaml(simulator)}`;
  await using running = await watch(cluster);
  const { exporter } = running;
  const read = async () => {
    const { text, headers } = await exporter.get('/api/status');
    const status: Status = JSON.parse(text);
    const findings = status.clusters.flatMap((one) => one.findings);
    return {
      etag: headers.get('etag'),
      full: findings.flatMap(({ key, alert }) => (key === 'full stores' ? [alert] : [])),
      polls: status.clusters.flatMap(({ collectors }) =>
        collectors.map(({ lastSuccessAt }) => lastSuccessAt),
      ),
    };
  };
  await expect.poll(async () => (await read()).polls.includes(undefined)).toBe(false);
  const before = await read();
  expect(before.full).toEqual([]);
  await running.reload(`thresholds: { disk: 0.999 }\n${cluster}`);
  const after = await read();
  expect(after.full).toEqual(['CrdbStoreDiskLow']);
  expect(after.etag).not.toBe(before.etag);
  await running.reload(`thresholds: { disk: 5 }\n${cluster}`);
  expect((await read()).full).toEqual(['CrdbStoreDiskLow']);
  await running.reload(cluster);
  expect((await read()).full).toEqual([]);
});
