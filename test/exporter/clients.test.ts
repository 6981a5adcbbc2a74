import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { Secret } from '../../src/config/files.ts';
import { createClients } from '../../src/exporter/clients.ts';
import { ExporterMetrics } from '../../src/metrics/exporter-metrics.ts';
import { makeFolder } from '../config/folder.ts';
import { loadText } from '../config/loading.ts';
import { createAuthority } from '../support/certificates.ts';

const BUILD = { version: '0.0.0', revision: 'test', nodeVersion: 'v24.0.0', platform: 'linux/x64' };

test('when the second client cannot be created, the first no longer follows its files', async () => {
  const [authority, renewed] = await Promise.all([createAuthority('a'), createAuthority('b')]);
  const folder = await makeFolder({ 'ca.crt': authority.cert });
  const file = path.join(folder, 'ca.crt');
  const { config } = await loadText(`clusters:
  - name: a
    cluster_api: { urls: ["http://127.0.0.1:9"], tls: { ca_file: ${file} } }
    cloud_api: { cluster_id: c, token: t }
`);
  const [cluster] = config.clusters;
  if (cluster === undefined) throw new Error('no cluster');
  const lines: string[] = [];
  const create = (https: Secret | undefined) =>
    createClients({
      config: { ...cluster, proxy: { https, noProxy: '' } },
      metrics: new ExporterMetrics(BUILD).cluster('a'),
      build: BUILD,
      clock: { runningMs: () => 0, wallMs: () => 0 },
      random: () => 0,
      logoutFailed: () => undefined,
      follow: {
        everyMs: 5,
        log: createLog({
          level: 'info',
          format: 'logfmt',
          destination: { write: (line: string) => lines.push(line) },
        }),
      },
    });
  await expect(create(new Secret('http://user:%@proxy'))).rejects.toThrow('URI malformed');
  // The clients of a second call see the change, those of the first do not.
  await using clients = await create(undefined);
  await writeFile(file, renewed.cert);
  await expect.poll(() => lines.length).toBeGreaterThan(0);
  await sleep(50);
  expect(lines).toHaveLength(1);
  expect(clients.cluster?.tls.current().ca).toContain(renewed.cert.trim());
});
