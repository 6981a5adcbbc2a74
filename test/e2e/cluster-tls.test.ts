import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import { formatIssues } from '../../src/config/issues.ts';
import { loadConfig } from '../../src/config/load.ts';
import { makeFolder } from '../config/folder.ts';
import { type Authority, createAuthority } from '../support/certificates.ts';
import { onlyCollectors } from '../support/collectors.ts';
import { clusterYaml, startTestExporter } from '../support/exporter.ts';

const ONLY_NODES = onlyCollectors({ nodes: {} });

const RELOAD_SUCCESSFUL = 'crdb_exporter_config_last_reload_successful';

async function simulateTls(authority: Authority) {
  const tls = await authority.issue({ name: 'node', sans: ['ip:127.0.0.1'] });
  return startSimulator({ tls, nodes: 3, ranges: 10, sessions: 3, metricKeys: 'useful' });
}

/** Replaces a file atomically. */
async function replace(file: string, content: string): Promise<void> {
  await writeFile(`${file}.new`, content, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

describe('the CA and the client certificate of a cluster', () => {
  test('are reloaded when they change; invalid ones change nothing', async () => {
    const [old, next] = await Promise.all([createAuthority('old'), createAuthority('next')]);
    const client = await old.issue({ name: 'exporter', usage: 'client', days: 1 });
    const renewed = await old.issue({ name: 'exporter', usage: 'client', days: 30 });
    const folder = await makeFolder({
      'ca.crt': old.cert,
      'client.crt': client.cert,
      'client.key': client.key,
    });
    const file = (name: string): string => path.join(folder, name);
    await using simulator = await simulateTls(next);
    const tls = `, tls: { ca_file: ${file('ca.crt')}, cert_file: ${file('client.crt')}, key_file: ${file('client.key')} }`;
    await using exporter = await startTestExporter({
      yaml: `${ONLY_NODES}clusters:\n${clusterYaml(simulator, { more: tls })}`,
      intervalSeconds: 0.1,
      app: { fileCheckMs: 20 },
    });
    const up = { api: 'cluster' };
    await exporter.until((scrape) => scrape.value('crdb_up', up) === 0);
    expect(exporter.log()).toContain('reason=tls');

    await replace(file('ca.crt'), 'nonsense');
    const logged = async (text: string): Promise<void> => {
      await exporter.until(() => exporter.log().includes(text));
    };
    await logged('holds no certificate in PEM form');
    expect((await exporter.scrape()).value(RELOAD_SUCCESSFUL)).toBe(0);
    await replace(file('ca.crt'), next.cert + old.cert);
    const fixed = await exporter.until((scrape) => scrape.value('crdb_up', up) === 1);
    expect(fixed.value(RELOAD_SUCCESSFUL)).toBe(1);

    const daysLeft = async (isRenewed: (days: number) => boolean): Promise<void> => {
      await exporter.until((scrape) => {
        const name = 'crdb_exporter_certificate_expiry_timestamp_seconds';
        const value = scrape.value(name, { use: 'client', crdb_cluster: 'sim' }) ?? 0;
        return isRenewed((value - Date.now() / 1000) / 86_400);
      });
    };
    await daysLeft((days) => days > 0.9 && days < 1.1);
    await replace(file('client.crt'), renewed.cert);
    await logged('does not belong to the certificate');
    await replace(file('client.key'), renewed.key);
    await daysLeft((days) => days > 29 && days < 31);
    const after = await exporter.scrape();
    await exporter.until(
      (scrape) =>
        (scrape.value('crdb_exporter_polls_total', { collector: 'nodes' }) ?? 0) >
        (after.value('crdb_exporter_polls_total', { collector: 'nodes' }) ?? 0) + 1,
    );
    expect((await exporter.scrape()).value('crdb_up', up)).toBe(1);
  });
});

describe('insecure_skip_verify', () => {
  test('works, is logged as a warning at each start and exported as a metric', async () => {
    await using simulator = await simulateTls(await createAuthority());
    const more = ', tls: { insecure_skip_verify: true }';
    const yaml = `${ONLY_NODES}clusters:\n${clusterYaml(simulator, { more })}`;
    await using exporter = await startTestExporter({ yaml });
    const scrape = await exporter.until((seen) => seen.value('crdb_up') === 1);
    expect(scrape.value('crdb_exporter_tls_verification_disabled')).toBe(1);

    const file = path.join(await makeFolder({ 'exporter.yml': yaml }), 'exporter.yml');
    const { warnings } = await loadConfig({
      flags: { 'config.file': file },
      env: {},
      collectors: COLLECTORS,
    });
    expect(formatIssues(warnings)).toMatch(
      /tls\.insecure_skip_verify.*certificates are not verified.* the password: set ca_file instead/,
    );
  });
});
